//! Icon lists, which allow us to find an icon's tabs after the scan's database has been deleted.
//!
//! For each tab with an icon, a shard's list has 16 bytes: the first 8 bytes of two SHA-256
//! digests, one for the icon as its host served it and one for the hostname. Lines are sorted.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

/// A list contains this many bytes from each SHA-256. With 30 million icons, two icons share these
/// 8 bytes in about one scan out of 40,000.
pub const PREFIX_BYTES: usize = 8;
/// Bytes per line.
const LINE_BYTES: usize = 2 * PREFIX_BYTES;

/// A SHA-256's first bytes.
pub type DigestPrefix = [u8; PREFIX_BYTES];

/// A tab's source icon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IconLine {
    /// The first bytes of the icon's SHA-256.
    pub icon: DigestPrefix,
    /// The first bytes of the hostname's SHA-256.
    pub hostname: DigestPrefix,
}

/// Returns the first bytes of a hostname's SHA-256.
#[must_use]
pub fn hostname_prefix(hostname: &str) -> DigestPrefix {
    prefix_of(&Sha256::digest(hostname.as_bytes()).into())
}

/// Returns a digest's first bytes.
#[must_use]
pub fn prefix_of(sha256: &[u8; 32]) -> DigestPrefix {
    let [a, b, c, d, e, f, g, h, ..] = *sha256;
    [a, b, c, d, e, f, g, h]
}

/// Parses a hexadecimal digest and returns its first bytes. `None` if the digest is malformed.
#[must_use]
pub fn prefix_of_hex(text: &str) -> Option<DigestPrefix> {
    let mut digest = [0; 32];
    hex::decode_to_slice(text, &mut digest).ok()?;
    Some(prefix_of(&digest))
}

/// Writes a list.
#[must_use]
pub fn write(mut lines: Vec<IconLine>) -> Vec<u8> {
    lines.sort_unstable();
    lines.iter().flat_map(|line| [line.icon, line.hostname]).flatten().collect()
}

/// Reads a list.
///
/// # Errors
/// Returns an error if the list ends within a line.
pub fn read(bytes: &[u8]) -> Result<Vec<IconLine>, String> {
    let (lines, rest) = bytes.as_chunks::<LINE_BYTES>();
    if !rest.is_empty() {
        let length = bytes.len();
        return Err(format!("{length} bytes, which is not a multiple of {LINE_BYTES}"));
    }
    let line = |&[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]: &[u8; LINE_BYTES]| IconLine {
        icon: [a, b, c, d, e, f, g, h],
        hostname: [i, j, k, l, m, n, o, p],
    };
    Ok(lines.iter().map(line).collect())
}

/// Removes these hosts' lines from a list. `None` if there are none.
///
/// # Errors
/// Returns an error if the list ends within a line.
pub fn without(bytes: &[u8], removed: &HashSet<DigestPrefix>) -> Result<Option<Vec<u8>>, String> {
    let mut lines = read(bytes)?;
    let before = lines.len();
    lines.retain(|line| !removed.contains(&line.hostname));
    Ok((lines.len() < before).then(|| write(lines)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_back_sorted_and_loses_only_the_lines_of_removed_hosts() {
        let line = |icon: u8, hostname: &str| IconLine {
            icon: [icon; PREFIX_BYTES],
            hostname: hostname_prefix(hostname),
        };
        let lines = [line(9, "a.example"), line(1, "b.example"), line(1, "c.example")];
        let bytes = write(lines.to_vec());
        let mut sorted = lines;
        sorted.sort_unstable();
        assert_eq!(bytes.len(), 48);
        assert_eq!(read(&bytes).as_deref(), Ok(&sorted[..]));
        let hosts = |names: &[&str]| names.iter().map(|name| hostname_prefix(name)).collect();
        assert_eq!(without(&bytes, &hosts(&["d.example"])), Ok(None));
        let rest = without(&bytes, &hosts(&["b.example", "a.example"])).unwrap().unwrap();
        assert_eq!(read(&rest).as_deref(), Ok(&lines[2..]));
        assert!(read(&bytes[1..]).unwrap_err().contains("47 bytes"));
    }

    #[test]
    fn the_prefix_of_hexadecimal_digits_is_that_of_the_digest() {
        let digest: [u8; 32] = Sha256::digest("a.example").into();
        let prefix = Some(hostname_prefix("a.example"));
        assert_eq!(prefix_of_hex(&hex::encode(digest)), prefix);
        assert_eq!(prefix_of_hex("00ff"), None);
        assert_eq!(prefix_of_hex(&"x".repeat(64)), None);
    }
}
