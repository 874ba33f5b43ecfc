//! Reads and writes the index for a range's search files: the search job writes it, and takedowns
//! rewrite it.
//!
//! Hostnames that differ only by `www.` have equal keys, and may be in two files.

use std::ops::Range;

/// Reads an index's lines. Bytes that are not UTF-8 become the replacement character, which no
/// hostname contains.
#[must_use]
pub fn read_index(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

/// Writes an index.
#[must_use]
pub fn write_index(first_keys: &[String]) -> String {
    first_keys.iter().map(|key| format!("{key}\n")).collect()
}

/// Returns the numbers of files that may contain a key: from the last file whose first key is
/// lower, to the last file whose first key is not greater.
#[must_use]
pub fn files_that_may_hold(first_keys: &[String], key: &str) -> Range<usize> {
    let before = first_keys.partition_point(|first| first.as_str() < key);
    let through = first_keys.partition_point(|first| first.as_str() <= key);
    before.saturating_sub(1)..through
}

/// Returns an index's lines from its files' first keys, which are `None` for empty files. An empty
/// file gets the next file's key, so that readers skip it.
#[must_use]
pub fn first_keys_of(files: &[Option<String>]) -> Vec<String> {
    let mut lines = Vec::with_capacity(files.len());
    let mut next: Option<&String> = None;
    for first in files.iter().rev() {
        next = first.as_ref().or(next);
        lines.extend(next.cloned());
    }
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_looked_for_in_every_file_that_may_hold_it() {
        let index = ["a", "c", "c", "e"].map(str::to_owned);
        for (key, files) in [
            ("0", 0..0),
            ("a", 0..1),
            ("b", 0..1),
            ("c", 0..3),
            ("d", 2..3),
            ("e", 2..4),
            ("z", 3..4),
        ] {
            assert_eq!(files_that_may_hold(&index, key), files, "{key}");
        }
    }

    #[test]
    fn empty_files_are_passed_over_by_the_index() {
        let index = |firsts: &[&str]| {
            let firsts: Vec<Option<String>> =
                firsts.iter().map(|f| (!f.is_empty()).then(|| (*f).to_owned())).collect();
            first_keys_of(&firsts).join(" ")
        };
        assert_eq!(index(&["a", "", "c"]), "a c c");
        assert_eq!(index(&["", "b", ""]), "b b");
        assert_eq!(index(&["", ""]), "");
    }

    #[test]
    fn an_index_is_read_as_it_was_written() {
        let keys = ["a".to_owned(), "b".to_owned()];
        assert_eq!(read_index(write_index(&keys).as_bytes()), keys);
        assert!(read_index(b"").is_empty());
    }
}
