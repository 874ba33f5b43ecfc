//! Finds a hostname's registered domain with the Public Suffix List, including its private section.

use std::net::Ipv4Addr;

use publicsuffix::{List, Psl};

/// A new database's Public Suffix List. Its license is MPL-2.0.
pub const DEFAULT_SUFFIX_LIST: &str = include_str!("../data/public_suffix_list.dat");

/// Maximum list size in bytes. The real list has 338 KB.
const MAX_LIST_BYTES: usize = 8 << 20;

/// Maximum own suffixes per operator.
const MAX_OWN_SUFFIXES: usize = 10_000;

/// Maximum labels in a rule, because the parsed list is a tree that is freed recursively.
const MAX_LABELS_PER_RULE: usize = 32;

/// Why a suffix list is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuffixError {
    /// The list is larger than [`MAX_LIST_BYTES`].
    #[error("the suffix list is larger than {MAX_LIST_BYTES} bytes")]
    TooLarge,
    /// There are more than [`MAX_OWN_SUFFIXES`] own suffixes.
    #[error("more than {MAX_OWN_SUFFIXES} operator suffixes")]
    TooManyOwn,
    /// A rule has more than [`MAX_LABELS_PER_RULE`] labels.
    #[error("line {line}: the rule has more than {MAX_LABELS_PER_RULE} labels")]
    Labels {
        /// Line number, from 1.
        line: usize,
    },
    /// The string is not in the publicsuffix.org format.
    #[error("not a public suffix list: {0}")]
    Format(String),
    /// An operator's suffix is not a domain name in lower case.
    #[error(
        "invalid suffix {0:?}: expected lower case, such as hoster.example or *.hoster.example"
    )]
    Own(String),
}

/// A parsed Public Suffix List.
#[derive(Debug, Clone)]
pub struct SuffixList {
    list: List,
}

impl SuffixList {
    /// Parses a list in the publicsuffix.org format, and adds the operator's own suffixes.
    ///
    /// # Errors
    /// Returns an error for the first invalid line or suffix, or if there are too many.
    pub fn parse(text: &str, own: &[&str]) -> Result<Self, SuffixError> {
        if text.len() > MAX_LIST_BYTES {
            return Err(SuffixError::TooLarge);
        }
        if own.len() > MAX_OWN_SUFFIXES {
            return Err(SuffixError::TooManyOwn);
        }
        for (number, line) in text.lines().enumerate() {
            let is_rule = !line.starts_with("//");
            if is_rule && line.matches('.').count() >= MAX_LABELS_PER_RULE {
                return Err(SuffixError::Labels { line: number + 1 });
            }
        }
        let mut text = text.to_owned();
        text.push_str("\n// ===BEGIN PRIVATE DOMAINS===\n");
        for suffix in own {
            if !is_suffix(suffix) {
                return Err(SuffixError::Own((*suffix).to_owned()));
            }
            text.push_str(suffix);
            text.push('\n');
        }
        let list = text.parse().map_err(|error| SuffixError::Format(format!("{error}")))?;
        Ok(Self { list })
    }

    /// Returns a host's registered domain, or the host if it has none. `host` has the form of
    /// [`crate::CanonicalUrl::host`].
    #[must_use]
    pub fn site_of<'a>(&self, host: &'a str) -> &'a str {
        self.suffix_of(host).and_then(|suffix| domain_of(host, suffix)).unwrap_or(host)
    }

    /// Returns a host's public suffix if it is listed. `host` has the form of
    /// [`crate::CanonicalUrl::host`].
    #[must_use]
    pub fn suffix_of<'a>(&self, host: &'a str) -> Option<&'a str> {
        if host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok() {
            return None;
        }
        let suffix = self.list.suffix(host.as_bytes()).filter(|suffix| suffix.is_known())?;
        host.get(host.len().checked_sub(suffix.as_bytes().len())?..)
    }
}

impl Default for SuffixList {
    fn default() -> Self {
        Self::parse(DEFAULT_SUFFIX_LIST, &[]).expect("a test parses the default list")
    }
}

pub(crate) fn domain_of<'a>(host: &'a str, suffix: &str) -> Option<&'a str> {
    let dot = host.len().checked_sub(suffix.len() + 1)?;
    let label = host.get(..dot)?.rfind('.').map_or(0, |dot| dot + 1);
    host.get(label..)
}

fn is_suffix(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let is_letter =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(is_letter);
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sites_are_registered_domains_with_the_private_section() {
        let list = SuffixList::default();
        for (host, site) in [
            ("example.com", "example.com"),
            ("a.b.example.com", "example.com"),
            ("www.example.co.uk", "example.co.uk"),
            ("ann.github.io", "ann.github.io"),
            ("x.ann.github.io", "ann.github.io"),
            ("github.io", "github.io"),
            ("com", "com"),
            ("a.b.ck", "a.b.ck"),
            ("c.a.b.ck", "a.b.ck"),
            ("a.www.ck", "www.ck"),
            ("a.localhost", "a.localhost"),
            ("b.a.no-such-suffix", "b.a.no-such-suffix"),
            ("127.0.0.1", "127.0.0.1"),
            ("[2606:4700::1]", "[2606:4700::1]"),
            ("a.xn--55qx5d.cn", "a.xn--55qx5d.cn"),
            ("b.a.xn--55qx5d.cn", "a.xn--55qx5d.cn"),
            ("", ""),
        ] {
            assert_eq!(list.site_of(host), site, "{host}");
        }
    }

    #[test]
    fn the_lists_own_test_vectors_hold() {
        let list = SuffixList::default();
        let mut checked = 0;
        for line in include_str!("../data/test_psl.txt").lines() {
            let Some(pair) = line.strip_prefix("checkPublicSuffix(") else { continue };
            let mut texts = pair.split('\'').skip(1).step_by(2);
            let Some(name) = texts.next() else { continue };
            let is_listed = !name.ends_with("example") && !name.ends_with("local");
            if name.is_ascii() && !name.starts_with('.') && is_listed {
                let name = name.to_ascii_lowercase();
                assert_eq!(list.site_of(&name), texts.next().unwrap_or(&name), "{line}");
                checked += 1;
            }
        }
        assert!(checked > 50, "{checked}");
    }

    /// A simple and slow implementation of the publicsuffix.org algorithm.
    fn site_by_the_algorithm<'a>(rules: &BTreeSet<&str>, name: &'a str) -> &'a str {
        let mut ends = vec![name];
        while let Some((_, end)) = ends.last().and_then(|end| end.split_once('.')) {
            ends.push(end);
        }
        let above = |index: usize| ends.get(index + 1).copied().unwrap_or_default();
        let is_exception = |index: &usize| rules.contains(&*format!("!{}", ends[*index]));
        if let Some(index) = (0..ends.len()).find(is_exception) {
            return ends[index];
        }
        let is_suffix = |index: &usize| {
            rules.contains(ends[*index]) || rules.contains(&*format!("*.{}", above(*index)))
        };
        match (0..ends.len()).find(is_suffix) {
            None | Some(0) => name,
            Some(index) => ends[index - 1],
        }
    }

    #[test]
    fn every_rule_of_the_list_is_applied_as_the_list_says() {
        let list = SuffixList::default();
        let lines = DEFAULT_SUFFIX_LIST.lines().filter(|line| !line.starts_with("//"));
        let rules: BTreeSet<&str> = lines.map(str::trim).filter(|rule| rule.is_ascii()).collect();
        assert!(rules.len() > 9_000, "{}", rules.len());
        for rule in rules.iter().filter(|rule| !rule.is_empty()) {
            let base = rule.trim_start_matches('!').replace('*', "q");
            let above = base.split_once('.').map_or("q", |(_, above)| above);
            for name in [
                base.clone(),
                format!("a.{base}"),
                format!("b.a.{base}"),
                format!("x.{above}"),
                format!("y.x.{above}"),
                format!("z.y.x.{above}"),
            ] {
                assert_eq!(list.site_of(&name), site_by_the_algorithm(&rules, &name), "{name}");
            }
        }
    }

    #[test]
    fn an_operators_own_suffixes_count() {
        let own = ["hoster.com", "*.test"];
        let list = SuffixList::parse(DEFAULT_SUFFIX_LIST, &own).unwrap();
        assert_eq!(list.site_of("www.ann.hoster.com"), "ann.hoster.com");
        assert_eq!(list.site_of("c.b.a.test"), "b.a.test");
        assert_eq!(list.site_of("ann.example.com"), "example.com");
        for bad in ["", ".", "Hoster.com", "a..b", "a b", "*", "!a.b", "ü.de", "a.*.b", "//a"] {
            let error = SuffixList::parse(DEFAULT_SUFFIX_LIST, &[bad]).unwrap_err();
            assert_eq!(error, SuffixError::Own(bad.to_owned()));
        }
    }

    #[test]
    fn an_invalid_list_is_an_error() {
        assert!(matches!(SuffixList::parse("", &[]), Err(SuffixError::Format(_))));
        let list = |rule: &str| format!("// ===BEGIN ICANN DOMAINS===\n{rule}\n");
        assert!(matches!(SuffixList::parse(&list("a..b"), &[]), Err(SuffixError::Format(_))));
        let deep = list(&"a.".repeat(40));
        assert_eq!(SuffixList::parse(&deep, &[]).err(), Some(SuffixError::Labels { line: 2 }));
        let large = " ".repeat(MAX_LIST_BYTES + 1);
        assert_eq!(SuffixList::parse(&large, &[]).err(), Some(SuffixError::TooLarge));
    }

    proptest! {
        #[test]
        fn a_site_is_a_suffix_of_its_host_and_its_own_site(
            host in "([a-c]|com|uk|co|\\.|ü|\\[){0,9}",
        ) {
            static LIST: std::sync::LazyLock<SuffixList> =
                std::sync::LazyLock::new(SuffixList::default);
            let site = LIST.site_of(&host);
            prop_assert!(host.ends_with(site));
            prop_assert_eq!(LIST.site_of(site), site);
        }
    }
}
