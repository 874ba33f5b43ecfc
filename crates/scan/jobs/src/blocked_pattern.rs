//! Validates and normalizes blocklist patterns, which come from command lines and from a
//! hand-edited blocklist.txt.

use std::net::IpAddr;

use everytab_bundler::takedown_list::{PatternKind, listed_patterns};
use everytab_commoncrawl::{HostnameError, canonical_hostname};

/// Maximum characters in a title pattern. A CHECK constraint of the database has the same limit.
const MAX_TITLE_CHARACTERS: usize = 300;
const NAMED_LINES: usize = 3;

/// Normalizes a pattern.
///
/// # Errors
///
/// Returns one line with the pattern and a remedy, if the pattern cannot match anything or would
/// match everything.
pub fn check(kind: PatternKind, text: &str) -> Result<String, String> {
    match kind {
        PatternKind::Title => title(text),
        PatternKind::Suffix => suffix(text),
        PatternKind::Hostname => hostname(text),
        PatternKind::Sha256 => sha256(text),
    }
}

/// Normalizes a hostname as the index does: lower case, IDNA applied, without a trailing dot.
///
/// # Errors
///
/// Returns one line with the name and a remedy.
pub fn hostname(text: &str) -> Result<String, String> {
    let text = text.trim();
    name(text, text)
}

/// Error messages quote `given`, from which the caller may have removed a prefix.
fn name(given: &str, text: &str) -> Result<String, String> {
    let refused = |reason: &str| format!("{given:?} is not a hostname: {reason}");
    if text.contains('/') {
        return Err(refused("give it without scheme and path, such as www.example.com"));
    }
    let name = canonical_hostname(text).map_err(|error| match error {
        HostnameError::Wildcard => {
            refused("name the domain without *; a suffix also matches all hostnames below it")
        }
        HostnameError::NotPublic => {
            refused("it has one label or is private; give a public one, such as www.example.com")
        }
        error => refused(&format!("{error}; give one such as www.example.com")),
    })?;
    let of_dns = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if name.address.is_none() && !name.text.bytes().all(of_dns) {
        return Err(refused(
            "names contain only letters, digits, dots, - and _; give one name at a time",
        ));
    }
    Ok(name.text.into_owned())
}

/// Parses a domain that includes all hostnames below it: `example.com`, `.example.com` or
/// `*.example.com`.
///
/// # Errors
/// Returns one line with the domain and a remedy.
pub fn suffix(text: &str) -> Result<String, String> {
    let text = text.trim();
    let domain = text.strip_prefix("*.").or_else(|| text.strip_prefix('.')).unwrap_or(text);
    if !domain.trim_end_matches('.').contains('.') {
        return Err(format!(
            "{text:?} is a whole top-level domain, with every host below it; name a domain below \
             it, such as example.com"
        ));
    }
    let domain = name(text, domain)?;
    if domain.parse::<IpAddr>().is_ok() {
        return Err(format!("{text:?} is an address, which has nothing below it; drop --suffix"));
    }
    Ok(domain)
}

fn sha256(text: &str) -> Result<String, String> {
    let text = text.trim().to_ascii_lowercase();
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(text)
    } else {
        Err(format!("{text:?} is not a SHA-256: expected 64 hexadecimal digits"))
    }
}

fn title(text: &str) -> Result<String, String> {
    let characters = text.chars().count();
    if !(1..=MAX_TITLE_CHARACTERS).contains(&characters) {
        return Err(format!("a title pattern must have 1 to {MAX_TITLE_CHARACTERS} characters"));
    }
    if text.chars().any(char::is_control) {
        return Err(format!("{text:?} contains control characters, which titles never contain"));
    }
    if text.chars().rev().take_while(|&character| character == '\\').count() % 2 == 1 {
        return Err(format!("{text:?} ends with a backslash, which quotes the character after it"));
    }
    if text.chars().all(|character| matches!(character, '%' | '_')) {
        return Err(format!(
            "{text:?} matches every title, or every title with some length; include some words"
        ));
    }
    Ok(text.to_owned())
}

/// A parsed blocklist.txt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatternList {
    /// Valid patterns, normalized, in the list's order.
    pub patterns: Vec<(PatternKind, String)>,
    refused: Vec<String>,
}

impl PatternList {
    /// Parses a list.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut list = Self::default();
        for (kind, pattern) in listed_patterns(text) {
            match check(kind, pattern) {
                Ok(pattern) => list.patterns.push((kind, pattern)),
                Err(reason) => list.refused.push(format!("{}: {reason}", kind.name())),
            }
        }
        list
    }

    /// Returns a message that counts the invalid lines and quotes the first few. `None` if all are
    /// valid.
    #[must_use]
    pub fn refusals(&self) -> Option<String> {
        let named = self.refused.iter().take(NAMED_LINES).cloned().collect::<Vec<_>>().join("; ");
        let count = self.refused.len();
        (count > 0)
            .then(|| format!("{count} lines are not valid patterns and have no effect: {named}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostnames_are_written_as_the_index_writes_them() {
        for (text, name) in [
            ("Example.COM", "example.com"),
            (" www.example.com. ", "www.example.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("my_shop.example", "my_shop.example"),
            ("192.0.2.1", "192.0.2.1"),
            ("[2001:DB8::1]", "[2001:db8::1]"),
        ] {
            assert_eq!(hostname(text).as_deref(), Ok(name));
        }
        let long = format!("{}.example", "a".repeat(64));
        for bad in [
            "",
            ".",
            "*",
            "com",
            "*.x.example",
            "a..b",
            "a.example,b.example",
            "shop.example$$script",
            "news.example##.ad",
            &long,
            "2001:db8::1",
            "2001",
            "https://example.com/",
            "HTTP://example.com",
            "example.com/x",
            "a b.example",
            "exa%mple.example",
        ] {
            let error = hostname(bad).unwrap_err();
            assert!(error.contains(bad), "{bad}: {error}");
        }
    }

    #[test]
    fn a_suffix_has_two_labels_and_one_wildcard_at_most() {
        for text in ["Example.com", "*.example.com", ".example.com"] {
            assert_eq!(suffix(text).as_deref(), Ok("example.com"));
        }
        for bad in
            ["", "*", "*.", "com", ".com", "*.com", "com.", "*.*.x", "*.*.x.example", "192.0.2.1"]
        {
            let error = suffix(bad).unwrap_err();
            assert!(error.contains(&format!("{bad:?}")), "{bad}: {error}");
        }
    }

    #[test]
    fn a_title_pattern_that_would_empty_the_site_is_refused() {
        for good in ["%casino%", "a\\\\", "\\%", "%\\_%"] {
            assert_eq!(title(good).as_deref(), Ok(good));
        }
        for bad in ["", "%", "%%", "_%", "%_", "_", "a\nb", "a\\", &"x".repeat(301)] {
            assert!(title(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn lines_that_are_no_patterns_are_counted_and_named() {
        let digest = "0f".repeat(32);
        let bad = "sha256:zz\nHTTP://a.example/\nsuffix:com\ntitle:%_\n";
        let text = format!("# by hand\n{bad}B.Example\nsha256:{digest}");
        let list = PatternList::read(&text);
        let expected =
            [(PatternKind::Hostname, "b.example".to_owned()), (PatternKind::Sha256, digest)];
        assert_eq!(list.patterns, expected);
        let said = list.refusals().unwrap();
        assert!(said.starts_with("4 lines"), "{said}");
        assert!(said.contains("zz") && said.contains("HTTP://a.example/"), "{said}");
        assert_eq!(PatternList::read("a.example\n").refusals(), None);
    }
}
