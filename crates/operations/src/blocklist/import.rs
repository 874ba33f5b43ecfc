//! Imports public lists of hosts: malware, phishing and the like, of a million names.
//!
//! Understands the common formats, line by line: hosts files (`0.0.0.0 example.com`), plain names,
//! URLs, and the simplest rules of ad blockers (`||example.com^`, `*.example.com`), which mean a
//! domain with everything below it. Hosts on such a list get no request and no tab.

use std::{
    collections::HashSet,
    net::{IpAddr, Ipv4Addr},
};

use everytab_bundler::takedown_list::PatternKind;
use everytab_coordinator::Coordinator;
use everytab_jobs::blocked_pattern::hostname;

use crate::{error::OperationError, line_sink::LineSink};

/// Most bytes of a list: 4 million names of 32 bytes, about four times the largest public lists.
/// The text, its names and the message to Postgres are in memory together, about four times this.
pub const MAX_LIST_BYTES: u64 = 128 << 20;
/// Longest name of a list in characters; a CHECK constraint of the database allows no longer one.
const MAX_LIST_NAME: usize = 100;
/// Lines that are not understood and are shown; all of them are counted.
const SHOWN_LINES: usize = 3;
/// Names that hosts files give to the machine itself.
const OWN_NAMES: [&str; 4] = ["localhost", "localhost.localdomain", "local", "broadcasthost"];

/// A list that was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HostList {
    patterns: HashSet<(PatternKind, String)>,
    /// Lines that name no host, the first few of them.
    shown: Vec<String>,
    /// Number of lines that name no host.
    bad_lines: usize,
}

impl HostList {
    /// Reads a list. With `with_subdomains` each name stands for a domain with everything below it.
    ///
    /// # Errors
    /// When no line names a host.
    pub fn read(text: &str, with_subdomains: bool) -> Result<Self, OperationError> {
        let mut list = Self::default();
        for line in text.lines() {
            list.read_line(line, with_subdomains);
        }
        if list.patterns.is_empty() {
            let shown = list.shown.join(", ");
            return Err(OperationError::usage(format!(
                "the list names no host; the first lines that are not understood: {shown:?}"
            )));
        }
        Ok(list)
    }

    fn read_line(&mut self, line: &str, with_subdomains: bool) {
        // A remark of a hosts file, of an ad blocker's list, and the header of one.
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with(['!', '[']) {
            return;
        }
        let mut words = line.split_whitespace().peekable();
        if words.peek().is_some_and(|first| first.parse::<IpAddr>().is_ok_and(is_no_host)) {
            words.next();
        }
        for word in words {
            match pattern(word, with_subdomains) {
                Some(found) => drop(self.patterns.insert(found)),
                None if OWN_NAMES.contains(&word) || word.starts_with("ip6-") => {}
                None => {
                    self.bad_lines += 1;
                    if self.shown.len() < SHOWN_LINES {
                        self.shown.push(line.chars().take(80).collect());
                    }
                    return;
                }
            }
        }
    }
}

/// Whether a line of a hosts file begins with such an address: where the names are sent to.
fn is_no_host(address: IpAddr) -> bool {
    address.is_unspecified() || address.is_loopback() || address == Ipv4Addr::BROADCAST
}

/// What a word of a list names.
fn pattern(word: &str, with_subdomains: bool) -> Option<(PatternKind, String)> {
    let rule = word.strip_prefix("||").map(|rest| rest.split(['^', '$']).next().unwrap_or(rest));
    let (name, below) = match rule.or_else(|| word.strip_prefix("*.")) {
        Some(name) => (name, true),
        None => (word, with_subdomains),
    };
    let name = name.split_once("://").map_or(name, |(_, rest)| rest);
    let name = name.split(['/', '?', ':']).next().unwrap_or_default();
    let name = hostname(name).ok()?;
    if !name.contains('.') || OWN_NAMES.contains(&name.as_str()) {
        return None;
    }
    Some((if below { PatternKind::Suffix } else { PatternKind::Hostname }, name))
}

/// Replaces the patterns of the list `name` by those of `text`; one line of data.
///
/// # Errors
/// When the text names no host, or the database refuses.
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
    // Postgres adds rows to its index three times as fast in the order of the index.
    given.sort_unstable();
    let (kinds, patterns): (Vec<&str>, Vec<&str>) = given.into_iter().unzip();
    let added = coordinator.import_list(name, source, &kinds, &patterns).await?;
    sink.data(format_args!("{name}\t{added}\t{source}"))?;
    let known = i64::try_from(patterns.len()).unwrap_or(i64::MAX).saturating_sub(added);
    if known > 0 {
        sink.note(format_args!("{known} of them were on the blocklist already"));
    }
    if list.bad_lines > 0 {
        let (bad, shown) = (list.bad_lines, list.shown.join(", "));
        sink.note(format_args!("{bad} lines name no host and were left out, such as {shown:?}"));
    }
    sink.note(format_args!(
        "left out from the next `scan start` on, and from a running scan when it is published"
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
            let found: Vec<_> =
                read(text).into_iter().filter(|(_, name)| name != "0.0.0.0").collect();
            assert_eq!(found, std::slice::from_ref(&bad), "{text:?}");
        }
        for text in ["||bad.example^", "||bad.example^$third-party", "*.bad.example"] {
            assert_eq!(read(text), [(PatternKind::Suffix, "bad.example".to_owned())], "{text}");
        }
        let below = HostList::read("bad.example", true).unwrap();
        assert!(below.patterns.contains(&(PatternKind::Suffix, "bad.example".to_owned())));
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
