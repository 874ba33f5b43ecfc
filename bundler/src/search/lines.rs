//! The lines of search files: hostname, bundle and slot, separated by tabs.

use std::fmt::Write as _;

use crate::search::key::{range_of, search_key};

/// Where a hostname's tab is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchEntry {
    /// The hostname.
    pub hostname: String,
    /// The bundle's number, from 0.
    pub bundle: i32,
    /// The tab's index in the bundle, from 0.
    pub slot: i32,
}

/// Why bytes are not a search file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchFileError {
    /// The bytes are not UTF-8.
    #[error("it is not text in UTF-8")]
    NotText,
    /// The header of a part does not hold the ends of its ranges.
    #[error("it does not begin with the header of a search part")]
    NoHeader,
    /// A line does not hold hostname, bundle and slot.
    #[error("not a search line: {0:?}")]
    BadLine(String),
}

/// Sorts entries as search files hold them: by range, key, then the whole hostname.
pub fn sort(entries: &mut [SearchEntry]) {
    // The key of nearly every hostname is a slice of it, so computing it again costs little.
    entries.sort_by(|a, b| {
        let by_key = || search_key(&a.hostname).cmp(&search_key(&b.hostname));
        let by_range = range_of(&a.hostname).cmp(&range_of(&b.hostname));
        by_range.then_with(by_key).then_with(|| a.hostname.cmp(&b.hostname))
    });
}

/// One line for each entry.
#[must_use]
pub fn write_lines(entries: &[SearchEntry]) -> String {
    let mut text = String::new();
    for SearchEntry { hostname, bundle, slot } in entries {
        // Writing to a string never fails.
        let _ = writeln!(text, "{hostname}\t{bundle}\t{slot}");
    }
    text
}

/// The entries of a file of lines, in their order.
///
/// # Errors
/// When the bytes are not UTF-8, or a line holds no entry; the error quotes the first such line.
pub fn read_lines(bytes: &[u8]) -> Result<Vec<SearchEntry>, SearchFileError> {
    let text = std::str::from_utf8(bytes).map_err(|_| SearchFileError::NotText)?;
    text.lines()
        .map(|line| read_line(line).ok_or_else(|| SearchFileError::BadLine(line.to_owned())))
        .collect()
}

fn read_line(line: &str) -> Option<SearchEntry> {
    let mut fields = line.split('\t');
    Some(SearchEntry {
        hostname: fields.next()?.to_owned(),
        bundle: fields.next()?.parse().ok()?,
        slot: fields.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back_and_other_text_is_refused() {
        let entry = SearchEntry { hostname: "a.example".into(), bundle: 7, slot: 3 };
        let entries = [entry.clone(), entry];
        assert_eq!(write_lines(&entries), "a.example\t7\t3\n".repeat(2));
        assert_eq!(read_lines(write_lines(&entries).as_bytes()).unwrap(), entries);
        assert_eq!(read_lines(b"a\t1").unwrap_err(), SearchFileError::BadLine("a\t1".into()));
        assert_eq!(read_lines(b"\xff").unwrap_err(), SearchFileError::NotText);
    }
}
