//! Decides to which slot a site belongs.

use crate::canonical::hash_of;

/// Number of slots. At most this many processes can crawl.
pub const SLOTS: usize = 256;

/// Returns the first 8 bytes of the site's SHA-256 as a big-endian number.
#[must_use]
pub fn site_hash(site: &str) -> u64 {
    hash_of(site)
}

/// Returns a site's slot, which is the first byte of its hash.
#[must_use]
pub fn slot_of_site(site: &str) -> u8 {
    let [first, ..] = site_hash(site).to_be_bytes();
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_is_the_first_byte_of_sha_256() {
        // From `printf example.com | sha256sum`.
        assert_eq!(site_hash("example.com"), 0xa379_a6f6_eeaf_b9a5);
        assert_eq!(slot_of_site("example.com"), 0xa3);
        assert_eq!(usize::from(u8::MAX) + 1, SLOTS);
    }
}
