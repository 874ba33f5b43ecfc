//! The published search files of one range of hostnames.
//!
//! `search/<range>/<n>.tsv` holds up to a thousand lines, sorted; `search/<range>/index.tsv` holds
//! one line for each of these files: the key of its first hostname. Suggestions are text; the page
//! takes the icon of the chosen one from its bundle.

use std::collections::BTreeMap;

use crate::search::{
    key::search_key,
    lines::{SearchEntry, write_lines},
};

/// Most hostnames of a search file: about 30 KB, which the page reads while the visitor types.
pub const HOSTNAMES_PER_FILE: usize = 1_000;
/// Most characters of a top-level domain in the counts: longer labels come from broken names.
const TOP_LEVEL_MAX_CHARACTERS: usize = 24;

/// The files of a range, in order, from its sorted entries.
pub fn files(sorted: &[SearchEntry]) -> impl Iterator<Item = String> + '_ {
    sorted.chunks(HOSTNAMES_PER_FILE).map(write_lines)
}

/// The text of the range's index, from its sorted entries.
#[must_use]
pub fn index(sorted: &[SearchEntry]) -> String {
    let firsts = sorted.chunks(HOSTNAMES_PER_FILE).filter_map(|lines| lines.first());
    firsts.map(|first| search_key(&first.hostname).into_owned() + "\n").collect()
}

/// Number of entries by top-level domain. Addresses and labels that are no domain count as `none`.
#[must_use]
pub fn top_level_domains(entries: &[SearchEntry]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for entry in entries {
        let domain = top_level(&entry.hostname);
        // Few domains are new, so a string is allocated for those alone.
        match counts.get_mut(domain) {
            Some(count) => *count += 1,
            None => drop(counts.insert(domain.to_owned(), 1)),
        }
    }
    counts
}

fn top_level(hostname: &str) -> &str {
    let label = hostname.rsplit('.').next().unwrap_or_default();
    let is_name = label.len() <= TOP_LEVEL_MAX_CHARACTERS
        && label.bytes().any(|byte| byte.is_ascii_alphabetic());
    if is_name { label } else { "none" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(hostname: &str) -> SearchEntry {
        SearchEntry { hostname: hostname.into(), bundle: 0, slot: 0 }
    }

    #[test]
    fn each_file_has_its_first_key_in_the_index() {
        let entries: Vec<_> = (0..2_500).map(|i| entry(&format!("www.a{i:04}.example"))).collect();
        let lines: Vec<usize> = files(&entries).map(|text| text.lines().count()).collect();
        assert_eq!(lines, [1_000, 1_000, 500]);
        assert_eq!(index(&entries), "a0000.example\na1000.example\na2000.example\n");
        assert_eq!((files(&[]).count(), index(&[])), (0, String::new()));
    }

    #[test]
    fn addresses_and_long_labels_are_no_top_level_domain() {
        let long = format!("a.{}", "x".repeat(25));
        let counts = top_level_domains(&["a.org", "b.org", "192.0.2.1", &long].map(entry));
        assert_eq!(counts, BTreeMap::from([("none".into(), 2), ("org".into(), 2)]));
    }
}
