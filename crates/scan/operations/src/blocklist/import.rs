//! Imports public lists with up to millions of hosts, such as malware and phishing lists. Accepts
//! hosts files (`0.0.0.0 example.com`), plain names, URLs, and the simplest ad blocker rules:
//! `||example.com^` and `*.example.com` mean a domain with all its subdomains. A rule that covers
//! less than a whole host blocks nothing.

use std::{
    collections::HashSet,
    net::{IpAddr, Ipv4Addr},
};

use everytab_bundler::takedown_list::PatternKind;
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::Coordinator;
use everytab_jobs::blocked_pattern::{hostname, suffix};
use url::Url;

/// Maximum bytes in a list: 4 million names with 32 bytes each.
pub const MAX_LIST_BYTES: u64 = 128 << 20;
/// Maximum characters in a list's name. A CHECK constraint of the database has the same limit.
const MAX_LIST_NAME: usize = 100;
const SHOWN_LINES: usize = 3;
const OWN_NAMES: [&str; 4] = ["localhost", "localhost.localdomain", "local", "broadcasthost"];

/// Rule options that still cover whole pages.
const WHOLE_PAGE: [&str; 4] = ["all", "doc", "document", "important"];

/// A parsed host list.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HostList {
    patterns: HashSet<(PatternKind, String)>,
    shown: Vec<String>,
    bad_lines: usize,
}

impl HostList {
    /// Parses a list. With `with_subdomains` each name means a domain with all its subdomains.
    ///
    /// # Errors
    /// Returns an error if no line contains a host.
    pub fn read(text: &str, with_subdomains: bool) -> Result<Self, OperationError> {
        let mut list = Self::default();
        for line in text.lines() {
            list.read_line(line, with_subdomains);
        }
        if list.patterns.is_empty() {
            let shown = list.shown.join(", ");
            return Err(OperationError::usage(format!(
                "the list contains no host; the first invalid lines are {shown:?}"
            )));
        }
        Ok(list)
    }

    fn read_line(&mut self, line: &str, with_subdomains: bool) {
        let line = without_remark(line).trim();
        if line.is_empty() || line.starts_with(['!', '[']) {
            return;
        }
        match patterns_of_line(line, with_subdomains) {
            Some(found) => self.patterns.extend(found),
            None => {
                self.bad_lines += 1;
                if self.shown.len() < SHOWN_LINES {
                    self.shown.push(line.chars().take(80).collect());
                }
            }
        }
    }
}

fn without_remark(line: &str) -> &str {
    let mut before = ' ';
    for (at, character) in line.char_indices() {
        if character == '#' && before.is_whitespace() {
            return line.get(..at).unwrap_or_default();
        }
        before = character;
    }
    line
}

fn patterns_of_line(line: &str, with_subdomains: bool) -> Option<Vec<(PatternKind, String)>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let names = match words.split_first() {
        Some((first, names)) if !names.is_empty() => match first.parse::<IpAddr>() {
            Ok(address) if is_no_host(address) => names,
            // A line that maps names to a real address does not block them.
            Ok(_) => return None,
            Err(_) => &words,
        },
        _ => &words,
    };
    let is_own = |word: &str| {
        OWN_NAMES.contains(&word)
            || word.starts_with("ip6-")
            || word.parse::<IpAddr>().is_ok_and(is_no_host)
    };
    names.iter().filter(|word| !is_own(word)).map(|word| pattern(word, with_subdomains)).collect()
}

fn is_no_host(address: IpAddr) -> bool {
    address.is_unspecified() || address.is_loopback() || address == Ipv4Addr::BROADCAST
}

fn pattern(word: &str, with_subdomains: bool) -> Option<(PatternKind, String)> {
    if let Ok(url) = Url::parse(word) {
        return named(url.host_str()?, with_subdomains);
    }
    if let Some(rule) = word.strip_prefix("||") {
        let (name, options) = rule.split_once('$').unwrap_or((rule, ""));
        let is_whole = |option: &str| option.is_empty() || WHOLE_PAGE.contains(&option);
        return if options.split(',').all(is_whole) {
            named(name.strip_suffix('^').unwrap_or(name), true)
        } else {
            None
        };
    }
    match word.strip_prefix("*.") {
        Some(name) => named(name, true),
        None => named(word, with_subdomains),
    }
}

fn named(name: &str, below: bool) -> Option<(PatternKind, String)> {
    let host = hostname(name).ok().filter(|host| !OWN_NAMES.contains(&host.as_str()))?;
    match suffix(&host) {
        Ok(domain) if below => Some((PatternKind::Suffix, domain)),
        _ => Some((PatternKind::Hostname, host)),
    }
}

/// Replaces the patterns in the list `name`.
///
/// # Errors
/// Returns an error if the name is invalid, or the database fails.
pub async fn import(
    coordinator: &Coordinator,
    name: &str,
    source: &str,
    list: &HostList,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    if !(1..=MAX_LIST_NAME).contains(&name.chars().count()) {
        return Err(OperationError::usage(format!("--list has 1 to {MAX_LIST_NAME} characters")));
    }
    let mut given: Vec<(&str, &str)> =
        list.patterns.iter().map(|(kind, pattern)| (kind.name(), pattern.as_str())).collect();
    // In index order, Postgres adds rows to its index three times as fast.
    given.sort_unstable();
    let (kinds, patterns): (Vec<&str>, Vec<&str>) = given.into_iter().unzip();
    let added = coordinator.import_list(name, source, &kinds, &patterns).await?;
    sink.data(format_args!("{name}\t{added}\t{source}"))?;
    let known = i64::try_from(patterns.len()).unwrap_or(i64::MAX).saturating_sub(added);
    if known > 0 {
        sink.note(format_args!("{known} of them were on the blocklist already"));
    }
    if list.bad_lines > 0 {
        let bad = list.bad_lines;
        let shown = list.shown.join(", ");
        sink.note(format_args!("skipped {bad} lines without a host, such as {shown:?}"));
    }
    sink.note(format_args!(
        "later scans exclude these hosts, and a running scan excludes them when it is published"
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(PatternKind, String)> {
        let mut found: Vec<_> = HostList::read(text, false).unwrap().patterns.into_iter().collect();
        found.sort();
        found
    }

    #[test]
    fn the_common_formats_name_the_same_host() {
        let bad = (PatternKind::Hostname, "bad.example".to_owned());
        for text in [
            "bad.example",
            "  Bad.Example.  # why",
            "0.0.0.0 bad.example",
            "127.0.0.1\tbad.example # why\n127.0.0.1 localhost",
            "0.0.0.0 0.0.0.0\n::1 ip6-localhost\n0.0.0.0 bad.example",
            "http://bad.example/x.exe?a=b",
            "https://bad.example:8443/",
            "! Title: x\n[Adblock Plus]\nbad.example",
        ] {
            assert_eq!(read(text), std::slice::from_ref(&bad), "{text:?}");
        }
        for text in ["||bad.example^", "||bad.example^$document,important", "*.bad.example"] {
            assert_eq!(read(text), [(PatternKind::Suffix, "bad.example".to_owned())], "{text}");
        }
        let below = HostList::read("bad.example", true).unwrap();
        assert!(below.patterns.contains(&(PatternKind::Suffix, "bad.example".to_owned())));
    }

    #[test]
    fn a_line_that_means_less_than_a_whole_host_blocks_nothing_and_is_counted() {
        let lines = [
            "news.example##.ad",
            "news.example,other.example##div > #banner",
            "news.example#@#.ad",
            "news.example#?#div:has(> .ad)",
            "news.example#$#body { margin: 0 }",
            "shop.example$$script[data-ad]",
            "@@||good.example^",
            "@@||good.example^$document",
            "||big.example/ads/x.js$script",
            "||big.example/ads/",
            "||video.example/ptracking?",
            "||video.example?ad=1",
            "||cdn.example^$script,third-party",
            "||cdn.example^$third-party",
            "||cdn.example^$document,domain=a.example",
            "|https://big.example/ads/x.js",
            "big.example/ads/x.js",
            "a.example,b.example",
            "com",
            "||com^",
            "*.com",
            "*.*.x.example",
            "2001:db8::1 bad.example",
            "2001:db8::1",
            "192.0.2.1 safe.example",
        ];
        let text =
            lines.join("\n") + "\nbad.example\n||192.0.2.7^\nhttps://good.example:x@evil.example/";
        let list = HostList::read(&text, true).unwrap();
        let mut found: Vec<_> = list.patterns.iter().map(|(_, name)| name.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, ["192.0.2.7", "bad.example", "evil.example"]);
        assert_eq!(list.bad_lines, lines.len());
    }

    #[test]
    fn several_names_a_line_are_read_and_what_is_no_name_is_counted_and_shown() {
        let list =
            HostList::read("0.0.0.0 a.example b.example\n@@nonsense!\ncom\n", false).unwrap();
        assert_eq!((list.patterns.len(), list.bad_lines), (2, 2));
        assert_eq!(list.shown, ["@@nonsense!", "com"]);
        let error = HostList::read("# nothing\nsurely not\n", false).unwrap_err();
        assert!(error.is_usage && error.message.contains("surely not"), "{}", error.message);
    }
}
