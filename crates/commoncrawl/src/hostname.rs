//! Checks the hostnames of the index, and computes the hash that orders them.
//!
//! Invariant: a hostname that passed [`check_hostname`] can be inserted between `https://` and `/`
//! without changing the meaning of the URL. Must not know: DNS, the public suffix list.

use std::net::Ipv6Addr;

use sha2::{Digest, Sha256};

/// Greatest length of a hostname in bytes (RFC 1035 2.3.4: 255 octets on the wire, 253 as text).
pub const MAX_HOSTNAME_BYTES: usize = 253;

/// The reason why a hostname is not acceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostnameError {
    /// The hostname is empty.
    #[error("hostname is empty")]
    Empty,
    /// The hostname is longer than [`MAX_HOSTNAME_BYTES`].
    #[error("hostname is longer than {MAX_HOSTNAME_BYTES} bytes")]
    TooLong,
    /// The hostname contains an upper-case letter. The index has only lower-case hostnames.
    #[error("hostname has an upper-case letter")]
    UpperCase,
    /// The hostname contains a character that ends or changes the host part of a URL.
    #[error("hostname has a character that no host may have")]
    ForbiddenCharacter,
}

/// Checks that `hostname` is in lower case, 1 to 253 bytes long, and free of the characters that
/// the URL Standard forbids in a host ("forbidden domain code point"). A bracketed IPv6 address
/// passes.
///
/// # Errors
/// The first rule that the hostname breaks.
pub fn check_hostname(hostname: &str) -> Result<(), HostnameError> {
    if hostname.is_empty() {
        return Err(HostnameError::Empty);
    }
    if hostname.len() > MAX_HOSTNAME_BYTES {
        return Err(HostnameError::TooLong);
    }
    if hostname.chars().any(char::is_uppercase) {
        return Err(HostnameError::UpperCase);
    }
    let address = hostname.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()) {
        return Ok(());
    }
    if hostname.chars().any(is_forbidden) {
        return Err(HostnameError::ForbiddenCharacter);
    }
    Ok(())
}

fn is_forbidden(character: char) -> bool {
    character.is_control() || character.is_whitespace() || r#"#%/:<>?@[\]^|"#.contains(character)
}

/// Returns the 64-bit hash of a hostname: the first 8 bytes of SHA-256(hostname), big-endian. It
/// chooses the shard of a host and orders the tabs within a shard.
pub fn hostname_hash(hostname: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(hostname.as_bytes()).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_head_of_sha_256() {
        // printf example.com | sha256sum
        assert_eq!(hostname_hash("example.com"), 0xa379_a6f6_eeaf_b9a5);
        // SHA-256 of no bytes, FIPS 180-4.
        assert_eq!(hostname_hash(""), 0xe3b0_c442_98fc_1c14);
    }

    #[test]
    fn ordinary_hostnames_pass() {
        let long = format!("{}.example", "a".repeat(MAX_HOSTNAME_BYTES - 8));
        for hostname in ["example.com", "xn--bcher-kva.example", "_dmarc.a.b", "bücher.example"] {
            assert_eq!(check_hostname(hostname), Ok(()), "{hostname}");
        }
        assert_eq!(long.len(), MAX_HOSTNAME_BYTES);
        assert_eq!(check_hostname(&long), Ok(()));
        assert_eq!(check_hostname("[2001:db8::1]"), Ok(()));
        assert_eq!(check_hostname("192.0.2.1"), Ok(()));
    }

    #[test]
    fn hostnames_that_would_change_a_url_do_not_pass() {
        assert_eq!(check_hostname(""), Err(HostnameError::Empty));
        assert_eq!(check_hostname(&"a".repeat(254)), Err(HostnameError::TooLong));
        assert_eq!(check_hostname("Example.com"), Err(HostnameError::UpperCase));
        for hostname in ["a\0b", "a b", "a/b", "a:80", "u@a", "a?b", "a#b", "[::1", "[x]", "a\nb"] {
            assert_eq!(
                check_hostname(hostname),
                Err(HostnameError::ForbiddenCharacter),
                "{hostname:?}"
            );
        }
    }
}
