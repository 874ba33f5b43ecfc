//! The order of search results, which `site/js/search-answers.js` implements, too.
//!
//! If a prefix spans many search files, the page cannot find its best results quickly. So for each
//! such prefix, `search/<range>/best/<start>.tsv` contains the best results in order.

use std::{cmp::Ordering, collections::BTreeMap};

use crate::search::{
    key::{search_key, without_www},
    lines::SearchEntry,
};

/// The page reads at most this many search files for one result list. If a prefix spans more files,
/// there is a file with its best results.
pub const MAX_FILES_READ: usize = 2;
/// A best-result file has at most this many hosts. The page shows up to 8 of them, and takedowns
/// may remove some.
pub const BEST_HOSTS: usize = 12;
/// At most this many names are placed first because they consist of the typed text, alone or
/// followed by a dot and more labels.
const MAX_LEADING: usize = 2;
/// Maximum characters in a best-result file's name. File systems allow 255 bytes.
const MAX_NAME_CHARACTERS: usize = 120;

/// Prefix for best-result files, below their directory.
pub const BEST_PREFIX: &str = "best/";

/// Path to a range's best hosts. No prefix's file has this name.
pub const TOP_FILE: &str = "best/_top.tsv";
/// Maximum rank for hosts in [`TOP_FILE`], in which the page searches for names with a typing
/// error.
pub const TOP_MAX_RANK: u32 = 100_000;

/// Returns the path to the best-result file for `start`. `None` if the name would be too long.
#[must_use]
pub fn best_file(start: &str) -> Option<String> {
    let mut name = String::with_capacity(start.len());
    for byte in start.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => name.push(char::from(byte)),
            _ => name.push_str(&format!("_{byte:02x}")),
        }
    }
    (name.len() <= MAX_NAME_CHARACTERS).then(|| format!("{BEST_PREFIX}{name}.tsv"))
}

/// Returns the prefixes that need a best-result file, from the first keys in the range's files.
#[must_use]
pub fn starts_with_best(first_keys: &[String]) -> Vec<String> {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for first in first_keys {
        for (end, character) in first.char_indices() {
            *files.entry(&first[..end + character.len_utf8()]).or_default() += 1;
        }
    }
    let is_wide = |(start, count): (&str, usize)| {
        let follows_another = first_keys.first().is_some_and(|first| first.as_str() < start);
        let spans = count + usize::from(follows_another);
        (spans > MAX_FILES_READ && best_file(start).is_some()).then(|| start.to_owned())
    };
    files.into_iter().filter_map(is_wide).collect()
}

/// Returns the best results for `start`, best first. `entries` must be sorted, and all keys must
/// start with `start`.
#[must_use]
pub fn best<'a>(entries: &'a [SearchEntry], start: &str) -> Vec<&'a SearchEntry> {
    let suffixed = format!("{start}.");
    let key = |entry: &SearchEntry| search_key(&entry.hostname).into_owned();
    let whole_end = entries.partition_point(|entry| *search_key(&entry.hostname) <= *start);
    let from = entries.partition_point(|entry| *search_key(&entry.hostname) < *suffixed);
    let after = entries[from..].partition_point(|e| key(e).starts_with(&suffixed));
    let mut leading = top(&entries[..whole_end], MAX_LEADING);
    leading.extend(top(&entries[from..from + after], MAX_LEADING));
    leading.truncate(MAX_LEADING);
    let led: Vec<&str> = leading.iter().map(|entry| entry.hostname.as_str()).collect();
    let others = top(entries, BEST_HOSTS + MAX_LEADING).into_iter();
    let others: Vec<_> = others.filter(|entry| !led.contains(&entry.hostname.as_str())).collect();
    leading.into_iter().chain(others).take(BEST_HOSTS).collect()
}

/// Returns the first `most` entries by rank, then length, then key, with at most one entry per key.
fn top(entries: &[SearchEntry], most: usize) -> Vec<&SearchEntry> {
    let mut found: Vec<&SearchEntry> = Vec::with_capacity(most + 1);
    let mut groups = entries.chunk_by(|a, b| search_key(&a.hostname) == search_key(&b.hostname));
    while let Some(entry) = groups.next().and_then(one_of_key) {
        let at = found.partition_point(|better| compare(better, entry) == Ordering::Less);
        if at < most {
            found.insert(at, entry);
            found.truncate(most);
        }
    }
    found
}

fn one_of_key(entries: &[SearchEntry]) -> Option<&SearchEntry> {
    let bare = |entry: &&SearchEntry| without_www(&entry.hostname) == entry.hostname;
    entries.iter().find(bare).or(entries.first())
}

fn compare(a: &SearchEntry, b: &SearchEntry) -> Ordering {
    let rank = |entry: &SearchEntry| entry.rank.unwrap_or(u32::MAX);
    rank(a).cmp(&rank(b)).then_with(|| {
        let (a, b) = (search_key(&a.hostname), search_key(&b.hostname));
        a.chars().count().cmp(&b.chars().count()).then_with(|| a.cmp(&b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::lines::sort;

    fn hosts(names: &[(&str, u32)], start: &str) -> Vec<String> {
        let mut entries: Vec<_> = names
            .iter()
            .map(|(name, rank)| SearchEntry {
                rank: (*rank > 0).then_some(*rank),
                ..SearchEntry::new((*name).to_owned(), 0, 0)
            })
            .collect();
        sort(&mut entries);
        best(&entries, start).into_iter().map(|entry| entry.hostname.clone()).collect()
    }

    #[test]
    fn what_was_typed_with_a_suffix_leads_then_rank_then_length() {
        let names = [
            ("google-1.xyz", 0),
            ("google-adsense-tips.blogspot.com", 0),
            ("google.ac", 0),
            ("google.com", 2),
            ("www.google.com", 2),
            ("google.de", 40),
            ("googleapis.com", 9),
            ("google-analytics.com", 30),
        ];
        let expected = [
            "google.com",
            "google.de",
            "googleapis.com",
            "google-analytics.com",
            "google.ac",
            "google-1.xyz",
            "google-adsense-tips.blogspot.com",
        ];
        assert_eq!(hosts(&names, "google"), expected);
    }

    #[test]
    fn a_whole_name_leads_even_the_best_rank() {
        let names = [("ibm.co", 900), ("ibm.com", 5), ("ibm.com.br", 1)];
        assert_eq!(hosts(&names, "ibm.co"), ["ibm.co", "ibm.com.br", "ibm.com"]);
        let blogs = [("blog.a.com", 0), ("blog.b.com", 0), ("blog.c.com", 0), ("blogger.com", 3)];
        let expected = ["blog.a.com", "blog.b.com", "blogger.com", "blog.c.com"];
        assert_eq!(hosts(&blogs, "blog"), expected);
    }

    #[test]
    fn starts_that_span_more_than_two_files_have_a_file_of_their_best() {
        let keys = ["a", "ga", "gar", "garden", "h"].map(str::to_owned);
        assert_eq!(starts_with_best(&keys), ["g", "ga", "gar"]);
        // Only two files contain names that start with "a", because there is nothing before the
        // first file.
        assert_eq!(starts_with_best(&["a".to_owned(), "ab".to_owned()]), Vec::<String>::new());
        assert_eq!(best_file("a.ü_").as_deref(), Some("best/a_2e_c3_bc_5f.tsv"));
        assert_eq!(best_file(&"日".repeat(14)), None);
    }
}
