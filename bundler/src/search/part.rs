//! A shard's part of the search index: its sorted hostnames, and a header so that a search job can
//! read only one range.
//!
//! The header contains each hostname range's end, counted in bytes after the header, as decimal
//! numbers with 12 digits.

use std::{fmt::Write as _, ops::Range};

use crate::search::{
    key::{RANGES, range_of},
    lines::{SearchEntry, SearchFileError, sort, write_lines},
};

/// Bytes per number in the header: 12 digits, which are enough for a terabyte, and the line feed.
const HEADER_NUMBER_BYTES: usize = 13;
/// Bytes in a part's header.
pub const HEADER_BYTES: usize = RANGES * HEADER_NUMBER_BYTES;

/// Sorts a shard's entries and writes them as its part.
#[must_use]
pub fn write_part(mut entries: Vec<SearchEntry>) -> String {
    sort(&mut entries);
    let mut header = String::with_capacity(HEADER_BYTES);
    let mut body = String::new();
    let mut unwritten = entries.as_slice();
    for range in 0..RANGES {
        let count = unwritten.iter().take_while(|entry| range_of(&entry.hostname) == range).count();
        let (of_this_range, others) = unwritten.split_at(count);
        unwritten = others;
        body.push_str(&write_lines(of_this_range));
        let _ = writeln!(header, "{:012}", body.len());
    }
    header + &body
}

/// Returns the byte range in a part that contains the lines for `range`.
///
/// # Errors
/// Returns an error if the bytes are not a part's header.
pub fn range_in_part(header: &[u8], range: usize) -> Result<Range<u64>, SearchFileError> {
    let end = |range: usize| -> Option<u64> {
        let line = header.chunks_exact(HEADER_NUMBER_BYTES).nth(range)?;
        std::str::from_utf8(line).ok()?.trim_end().parse().ok()
    };
    let start = if range == 0 { Some(0) } else { end(range - 1) };
    let (start, end) = start.zip(end(range)).ok_or(SearchFileError::NoHeader)?;
    let header_bytes = HEADER_BYTES as u64;
    Ok(header_bytes.saturating_add(start)..header_bytes.saturating_add(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::lines::read_lines;

    fn entry(hostname: &str) -> SearchEntry {
        SearchEntry::new(hostname.into(), 7, 3)
    }

    #[test]
    fn a_part_gives_back_each_range_and_nothing_else() {
        let names = ["zebra.org", "www.apple.com", "9gag.com", "apple.com", "-odd.net", "www.com"];
        let part = write_part(names.map(entry).to_vec());
        let mut found = Vec::new();
        for range in 0..RANGES {
            let bytes = range_in_part(part.as_bytes(), range).unwrap();
            let lines = &part.as_bytes()[bytes.start as usize..bytes.end as usize];
            for line in read_lines(lines).unwrap() {
                assert_eq!(range_of(&line.hostname), range);
                found.push(line.hostname);
            }
        }
        let in_order =
            ["9gag.com", "apple.com", "www.apple.com", "www.com", "zebra.org", "-odd.net"];
        assert_eq!(found, in_order);
    }

    #[test]
    fn bytes_that_are_no_header_are_refused() {
        for header in [b"not numbers here at all".as_slice(), b""] {
            assert_eq!(range_in_part(header, 0), Err(SearchFileError::NoHeader));
        }
    }
}
