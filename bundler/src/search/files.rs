//! The published search files for one hostname range, with up to a thousand sorted lines each.
//! `search/<range>/index.tsv` has each file's first key.

use std::collections::BTreeMap;

use crate::search::{
    answers::{TOP_FILE, TOP_MAX_RANK, best, best_file, starts_with_best},
    key::search_key,
    lines::{SearchEntry, write_lines},
};

/// Maximum hostnames in a search file. A file with this many hostnames has about 30 KB, and the
/// page reads it while the visitor types.
pub const HOSTNAMES_PER_FILE: usize = 1_000;
/// Maximum characters in a top-level domain. Longer labels come from malformed names and count as
/// `none`.
const TOP_LEVEL_MAX_CHARACTERS: usize = 24;

/// Writes a range's files, in order, from its sorted entries.
pub fn files(sorted: &[SearchEntry]) -> impl Iterator<Item = String> + '_ {
    sorted.chunks(HOSTNAMES_PER_FILE).map(write_lines)
}

/// Returns the first key in each of the range's files, from its sorted entries.
#[must_use]
pub fn first_keys(sorted: &[SearchEntry]) -> Vec<String> {
    let firsts = sorted.chunks(HOSTNAMES_PER_FILE).filter_map(|lines| lines.first());
    firsts.map(|first| search_key(&first.hostname).into_owned()).collect()
}

/// Returns the best-result files' paths and contents.
pub fn best_files<'a>(
    sorted: &'a [SearchEntry],
    first_keys: &[String],
) -> impl Iterator<Item = (String, String)> + use<'a> {
    starts_with_best(first_keys).into_iter().filter_map(move |start| {
        let from = sorted.partition_point(|entry| *search_key(&entry.hostname) < *start);
        let begins = |entry: &SearchEntry| search_key(&entry.hostname).starts_with(&*start);
        let count = sorted[from..].partition_point(begins);
        let found = best(&sorted[from..from + count], &start);
        let lines: Vec<SearchEntry> = found.into_iter().cloned().collect();
        Some((best_file(&start)?, write_lines(&lines)))
    })
}

/// Returns the path and content of the file with the range's best hosts, without titles. Returns
/// `None` if no host is ranked high enough.
#[must_use]
pub fn top_file(sorted: &[SearchEntry]) -> Option<(String, String)> {
    let is_top = |entry: &&SearchEntry| entry.rank.is_some_and(|rank| rank <= TOP_MAX_RANK);
    let untitled = |entry: &SearchEntry| SearchEntry { title: String::new(), ..entry.clone() };
    let lines: Vec<SearchEntry> = sorted.iter().filter(is_top).map(untitled).collect();
    (!lines.is_empty()).then(|| (TOP_FILE.to_owned(), write_lines(&lines)))
}

/// Counts entries by top-level domain.
#[must_use]
pub fn top_level_domains(entries: &[SearchEntry]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for entry in entries {
        let domain = top_level(&entry.hostname);
        // Most domains are already in the map, so only a new domain allocates a string.
        match counts.get_mut(domain) {
            Some(count) => *count += 1,
            None => drop(counts.insert(domain.to_owned(), 1)),
        }
    }
    counts
}

/// Returns a hostname's top-level domain. Returns `none` for IP addresses and for labels that
/// cannot be a domain.
#[must_use]
pub fn top_level(hostname: &str) -> &str {
    let label = hostname.rsplit('.').next().unwrap_or_default();
    let is_name = label.len() <= TOP_LEVEL_MAX_CHARACTERS
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && label.bytes().any(|byte| byte.is_ascii_alphabetic());
    if is_name { label } else { "none" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(hostname: &str) -> SearchEntry {
        SearchEntry::new(hostname.into(), 0, 0)
    }

    #[test]
    fn each_file_has_its_first_key_in_the_index() {
        let entries: Vec<_> = (0..2_500).map(|i| entry(&format!("www.a{i:04}.example"))).collect();
        let lines: Vec<usize> = files(&entries).map(|text| text.lines().count()).collect();
        assert_eq!(lines, [1_000, 1_000, 500]);
        assert_eq!(first_keys(&entries), ["a0000.example", "a1000.example", "a2000.example"]);
        assert_eq!((files(&[]).count(), first_keys(&[])), (0, Vec::new()));
        let best: Vec<_> = best_files(&entries, &first_keys(&entries)).collect();
        assert_eq!(best[0].0, "best/a.tsv");
        assert!(best[0].1.starts_with("www.a0000.example\t0\t0\n"), "{}", best[0].1);
    }

    #[test]
    fn the_best_hosts_have_a_file_without_titles() {
        let ranked = |hostname: &str, rank| SearchEntry {
            rank: Some(rank),
            title: "A title".into(),
            ..entry(hostname)
        };
        let entries = [
            entry("a.example"),
            ranked("b.example", TOP_MAX_RANK + 1),
            ranked("c.example", TOP_MAX_RANK),
            ranked("d.example", 1),
        ];
        let expected = "c.example\t0\t0\t100000\nd.example\t0\t0\t1\n";
        assert_eq!(top_file(&entries).map(|(_, text)| text).as_deref(), Some(expected));
        assert_eq!(top_file(&entries[..2]), None);
    }

    #[test]
    fn addresses_and_long_labels_are_no_top_level_domain() {
        let long = format!("a.{}", "x".repeat(25));
        let names = ["a.org", "b.xn--p1ai", "192.0.2.1", "[2001:db8::e]", "a.b_r", "c.com,", &long];
        let counts = top_level_domains(&names.map(entry));
        let expected = [("none".into(), 5), ("org".into(), 1), ("xn--p1ai".into(), 1)];
        assert_eq!(counts, BTreeMap::from(expected));
    }
}
