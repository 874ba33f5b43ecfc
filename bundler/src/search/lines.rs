//! The lines in search files: hostname, bundle and slot, separated by tabs, followed by the host's
//! rank and its page's title, if they are known.

use std::fmt::Write as _;

use crate::search::key::{range_of, search_key};

/// A hostname with its tab's location.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchEntry {
    /// The hostname.
    pub hostname: String,
    /// The bundle's number, from 0.
    pub bundle: i32,
    /// The tab's index in the bundle, from 0.
    pub slot: i32,
    /// The host's rank, from 1.
    pub rank: Option<u32>,
    /// The page's title, shortened. Empty if it is unknown.
    pub title: String,
}

/// Maximum characters in a line's title. This many characters fill two lines in a suggestion on a
/// phone.
pub const TITLE_MAX_CHARACTERS: usize = 70;

impl SearchEntry {
    /// Creates an entry without rank and title.
    #[must_use]
    pub fn new(hostname: String, bundle: i32, slot: i32) -> Self {
        Self { hostname, bundle, slot, ..Self::default() }
    }

    /// Sets the title, shortened and on one line.
    #[must_use]
    pub fn with_title(mut self, title: &str) -> Self {
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        self.title = title.chars().take(TITLE_MAX_CHARACTERS).map(plain).collect();
        self
    }
}

/// Error returned if bytes are not a search file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchFileError {
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8")]
    NotText,
    /// The part's header does not contain every range's end.
    #[error("malformed header")]
    NoHeader,
    /// A line does not contain hostname, bundle and slot.
    #[error("malformed search line {0:?}")]
    BadLine(String),
}

/// Sorts entries by range, by key, then by the whole hostname.
pub fn sort(entries: &mut [SearchEntry]) {
    // Most keys are slices of their hostnames, so computing them again costs little.
    entries.sort_by(|a, b| {
        let by_key = || search_key(&a.hostname).cmp(&search_key(&b.hostname));
        let by_range = range_of(&a.hostname).cmp(&range_of(&b.hostname));
        by_range.then_with(by_key).then_with(|| a.hostname.cmp(&b.hostname))
    });
}

/// Writes one line for each entry.
#[must_use]
pub fn write_lines(entries: &[SearchEntry]) -> String {
    let mut text = String::new();
    for entry in entries {
        write_line(&mut text, entry);
    }
    text
}

pub(super) fn write_line(text: &mut String, entry: &SearchEntry) {
    let SearchEntry { hostname, bundle, slot, rank, title } = entry;
    let rank = rank.map(|rank| rank.to_string()).unwrap_or_default();
    let _ = match (rank.is_empty(), title.is_empty()) {
        (true, true) => writeln!(text, "{hostname}\t{bundle}\t{slot}"),
        (false, true) => writeln!(text, "{hostname}\t{bundle}\t{slot}\t{rank}"),
        (_, false) => writeln!(text, "{hostname}\t{bundle}\t{slot}\t{rank}\t{title}"),
    };
}

/// Reads the entries from a file in this format, in order.
///
/// # Errors
/// Returns an error if the bytes are not UTF-8, or if a line is malformed.
pub fn read_lines(bytes: &[u8]) -> Result<Vec<SearchEntry>, SearchFileError> {
    let text = std::str::from_utf8(bytes).map_err(|_| SearchFileError::NotText)?;
    text.lines()
        .map(|line| read_line(line).ok_or_else(|| SearchFileError::BadLine(line.to_owned())))
        .collect()
}

/// The rank and the title may be missing.
pub(super) fn read_line(line: &str) -> Option<SearchEntry> {
    let mut fields = line.split('\t');
    let hostname = fields.next()?.to_owned();
    let bundle = fields.next()?.parse().ok()?;
    let slot = fields.next()?.parse().ok()?;
    let rank = match fields.next().unwrap_or_default() {
        "" => None,
        rank => Some(rank.parse().ok()?),
    };
    let title = fields.next().unwrap_or_default().to_owned();
    Some(SearchEntry { hostname, bundle, slot, rank, title })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back_and_other_text_is_refused() {
        let entry = SearchEntry::new("a.example".into(), 7, 3);
        let entries = [entry.clone(), entry.clone()];
        assert_eq!(write_lines(&entries), "a.example\t7\t3\n".repeat(2));
        assert_eq!(read_lines(write_lines(&entries).as_bytes()).unwrap(), entries);
        let ranked = SearchEntry { rank: Some(9), ..entry.clone() };
        let titled = entry.clone().with_title(&format!("a\tb\n{}", "x".repeat(99)));
        assert_eq!(titled.title.len(), TITLE_MAX_CHARACTERS);
        for entry in [ranked.clone(), titled.clone(), SearchEntry { rank: Some(1), ..titled }] {
            let lines = write_lines(std::slice::from_ref(&entry));
            assert_eq!(read_lines(lines.as_bytes()).unwrap(), [entry]);
        }
        assert_eq!(write_lines(&[ranked]), "a.example\t7\t3\t9\n");
        assert_eq!(read_lines(b"a\t1").unwrap_err(), SearchFileError::BadLine("a\t1".into()));
        assert_eq!(read_lines(b"\xff").unwrap_err(), SearchFileError::NotText);
    }
}
