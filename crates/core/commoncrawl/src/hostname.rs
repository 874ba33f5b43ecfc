//! Validates and normalizes the index's hostnames, and computes the hash that orders them.

use std::{
    borrow::Cow,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use idna::AsciiDenyList;
use sha2::{Digest, Sha256};

/// Maximum hostname length in bytes (RFC 1035 2.3.4: 255 octets on the wire, 253 as text).
pub const MAX_HOSTNAME_BYTES: usize = 253;

/// Maximum label length in bytes (RFC 1035 2.3.4).
const MAX_LABEL_BYTES: usize = 63;

/// Why a hostname is not acceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostnameError {
    /// The hostname is empty.
    #[error("hostname is empty")]
    Empty,
    /// The hostname is longer than [`MAX_HOSTNAME_BYTES`].
    #[error("hostname is longer than {MAX_HOSTNAME_BYTES} bytes")]
    TooLong,
    /// The hostname contains an upper-case letter.
    #[error("hostname has an upper-case letter")]
    UpperCase,
    /// The hostname contains a character that a URL's host cannot contain.
    #[error("hostname has a forbidden character")]
    ForbiddenCharacter,
    /// A label is empty or longer than [`MAX_LABEL_BYTES`].
    #[error("hostname has a label that is empty or longer than {MAX_LABEL_BYTES} bytes")]
    Label,
    /// A label is the wildcard `*`.
    #[error("hostname is a wildcard")]
    Wildcard,
    /// The hostname is invalid by UTS 46, for example due to invalid punycode.
    #[error("hostname is not a valid international name")]
    International,
    /// The last label is a number, but the hostname is not a dotted IPv4 address.
    #[error("hostname ends in a number, but is not an address")]
    Address,
    /// The hostname has only one label, belongs to a private network, or is a private address.
    #[error("hostname does not belong to the public internet")]
    NotPublic,
}

impl HostnameError {
    /// All variants.
    pub const ALL: [Self; 9] = [
        Self::Empty,
        Self::TooLong,
        Self::UpperCase,
        Self::ForbiddenCharacter,
        Self::Label,
        Self::Wildcard,
        Self::International,
        Self::Address,
        Self::NotPublic,
    ];

    /// Returns a stable name for counters.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLong => "too_long",
            Self::UpperCase => "upper_case",
            Self::ForbiddenCharacter => "forbidden_character",
            Self::Label => "label",
            Self::Wildcard => "wildcard",
            Self::International => "international",
            Self::Address => "address",
            Self::NotPublic => "not_public",
        }
    }
}

/// A hostname in its canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hostname<'a> {
    /// The name in lower case and punycode, without a trailing dot. An IPv6 address is in brackets.
    pub text: Cow<'a, str>,
    /// The address if the name is one.
    pub address: Option<IpAddr>,
}

/// Suffixes without public hosts: RFC 6761, RFC 6762, ICANN's `.internal`, and RFC 8375.
const PRIVATE_SUFFIXES: [&str; 4] = [".localhost", ".local", ".internal", ".home.arpa"];

/// Returns a hostname's canonical form. This is its form in the URL Standard, but without a
/// trailing dot. The caller decides which addresses are public.
///
/// # Errors
/// Returns an error for the first rule that this hostname breaks.
pub fn canonical_hostname(hostname: &str) -> Result<Hostname<'_>, HostnameError> {
    if hostname.is_empty() {
        return Err(HostnameError::Empty);
    }
    if let Some(rest) = hostname.strip_prefix('[') {
        let address = rest.strip_suffix(']').and_then(|address| address.parse::<Ipv6Addr>().ok());
        let address = address.ok_or(HostnameError::ForbiddenCharacter)?;
        let text = Cow::Owned(format!("[{address}]"));
        return Ok(Hostname { text, address: Some(address.into()) });
    }
    if hostname.chars().any(is_forbidden) {
        return Err(HostnameError::ForbiddenCharacter);
    }
    let text = without_last_dot(ascii_form(hostname)?);
    if text.split('.').any(|label| label.is_empty() || label.len() > MAX_LABEL_BYTES) {
        return Err(HostnameError::Label);
    }
    if text.len() > MAX_HOSTNAME_BYTES {
        return Err(HostnameError::TooLong);
    }
    if text.split('.').any(|label| label == "*") {
        return Err(HostnameError::Wildcard);
    }
    if text.contains('*') {
        return Err(HostnameError::ForbiddenCharacter);
    }
    let Some((_, last)) = text.rsplit_once('.') else {
        return Err(HostnameError::NotPublic);
    };
    if PRIVATE_SUFFIXES.iter().any(|suffix| text.ends_with(suffix)) || text == "home.arpa" {
        return Err(HostnameError::NotPublic);
    }
    // A host that "ends in a number" by the URL Standard must be an IPv4 address.
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    let address = if is_number {
        Some(IpAddr::V4(text.parse::<Ipv4Addr>().map_err(|_| HostnameError::Address)?))
    } else {
        None
    };
    Ok(Hostname { text, address })
}

fn ascii_form(hostname: &str) -> Result<Cow<'_, str>, HostnameError> {
    if hostname.is_ascii() && !hostname.to_ascii_lowercase().contains("xn--") {
        let is_lower = !hostname.bytes().any(|byte| byte.is_ascii_uppercase());
        return Ok(if is_lower { hostname.into() } else { hostname.to_ascii_lowercase().into() });
    }
    idna::domain_to_ascii_cow(hostname.as_bytes(), AsciiDenyList::URL)
        .map_err(|_| HostnameError::International)
}

fn without_last_dot(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => text.strip_suffix('.').unwrap_or(text).into(),
        Cow::Owned(mut text) => {
            if text.ends_with('.') {
                text.pop();
            }
            text.into()
        }
    }
}

/// Checks that `hostname` can be inserted between `https://` and `/` without changing the URL's
/// meaning, and that it is in lower case.
///
/// # Errors
/// Returns an error for the first rule that this hostname breaks.
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

/// Returns the first 8 bytes of SHA-256(hostname) as a big-endian number. This number determines
/// the host's shard, and the order of tabs in a shard.
pub fn hostname_hash(hostname: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(hostname.as_bytes()).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_start_of_sha_256() {
        // printf example.com | sha256sum
        assert_eq!(hostname_hash("example.com"), 0xa379_a6f6_eeaf_b9a5);
        // SHA-256 of zero bytes, FIPS 180-4.
        assert_eq!(hostname_hash(""), 0xe3b0_c442_98fc_1c14);
    }

    #[test]
    fn ordinary_hostnames_are_accepted() {
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
    fn names_for_one_host_have_one_canonical_form() {
        let canonical = |name: &str| canonical_hostname(name).map(|host| host.text.into_owned());
        for (name, form) in [
            ("example.com", "example.com"),
            ("example.com.", "example.com"),
            ("Example.COM", "example.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("BÜCHER.example.", "xn--bcher-kva.example"),
            ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
            ("spaß.example", "xn--spa-7ka.example"),
            ("_dmarc.a.b", "_dmarc.a.b"),
            ("8.8.8.8", "8.8.8.8"),
            ("[2606:4700:0::1]", "[2606:4700::1]"),
        ] {
            assert_eq!(canonical(name).as_deref(), Ok(form), "{name}");
            assert_eq!(canonical(form).as_deref(), Ok(form), "{form}");
        }
        assert_eq!(canonical_hostname("8.8.8.8").unwrap().address, Some([8, 8, 8, 8].into()));
        assert_eq!(canonical_hostname("a.8.example").unwrap().address, None);
    }

    #[test]
    fn names_of_non_public_hosts_are_rejected_with_the_reason() {
        let label = |length| format!("{}.example", "a".repeat(length));
        let long = format!("{}example", "a1234567.".repeat(28));
        let cases = [
            ("", HostnameError::Empty),
            ("*.example", HostnameError::Wildcard),
            ("a.*.example", HostnameError::Wildcard),
            ("a*.example", HostnameError::ForbiddenCharacter),
            ("%C3%BC.example", HostnameError::ForbiddenCharacter),
            ("[::1", HostnameError::ForbiddenCharacter),
            ("a b.example", HostnameError::ForbiddenCharacter),
            ("a..example", HostnameError::Label),
            (".example", HostnameError::Label),
            ("a.example..", HostnameError::Label),
            (".", HostnameError::Label),
            (&label(64), HostnameError::Label),
            (&long, HostnameError::TooLong),
            ("xn--a.example", HostnameError::International),
            ("\u{ad}.example", HostnameError::Label),
            ("1.2.3", HostnameError::Address),
            ("1.2.3.4.5", HostnameError::Address),
            ("a.0x7f", HostnameError::Address),
            ("localhost", HostnameError::NotPublic),
            ("localhost.", HostnameError::NotPublic),
            ("intranet", HostnameError::NotPublic),
            ("printer.local", HostnameError::NotPublic),
            ("db.eu.internal", HostnameError::NotPublic),
            ("a.localhost", HostnameError::NotPublic),
        ];
        for (name, reason) in cases {
            assert_eq!(canonical_hostname(name).unwrap_err(), reason, "{name:?}");
        }
        assert!(canonical_hostname(&label(63)).is_ok());
    }

    #[test]
    fn every_reason_has_a_distinct_name() {
        let names: std::collections::BTreeSet<_> =
            HostnameError::ALL.iter().map(|reason| reason.as_str()).collect();
        assert_eq!(names.len(), HostnameError::ALL.len());
    }

    #[test]
    fn hostnames_that_would_change_a_url_are_rejected() {
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
