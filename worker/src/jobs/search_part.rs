//! The search index's own formats: a shard's sorted part, and the lines of the published files.
//!
//! A part begins with the end of each hostname range, in bytes behind the header, as decimal
//! numbers of 12 characters a line; then one line a hostname: hostname, bundle, slot, by tabs.

use super::{
    job::JobError,
    search_key::{RANGES, range_of, search_key},
};

const HEADER_NUMBER_BYTES: usize = 13;
/// Bytes of a part's header.
pub(super) const HEADER_BYTES: usize = RANGES * HEADER_NUMBER_BYTES;

/// Where a hostname's tab is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchEntry {
    /// The hostname.
    pub hostname: String,
    /// The bundle's number.
    pub bundle: i32,
    /// The tab's place in the bundle.
    pub slot: i32,
}

/// Sorts entries as ranges and files hold them: by key, then by the whole hostname.
pub(super) fn sort(entries: &mut [SearchEntry]) {
    // A key seldom has to be made: nearly all are a piece of the hostname.
    entries.sort_by(|a, b| {
        let by_key = || search_key(&a.hostname).cmp(&search_key(&b.hostname));
        let by_range = range_of(&a.hostname).cmp(&range_of(&b.hostname));
        by_range.then_with(by_key).then_with(|| a.hostname.cmp(&b.hostname))
    });
}

/// A shard's part.
pub fn write_part(mut entries: Vec<SearchEntry>) -> String {
    sort(&mut entries);
    let mut header = String::with_capacity(HEADER_BYTES);
    let mut body = String::new();
    let mut rest = entries.as_slice();
    for range in 0..RANGES {
        let here = rest.iter().take_while(|entry| range_of(&entry.hostname) == range).count();
        let (mine, others) = rest.split_at(here);
        rest = others;
        body.push_str(&write_lines(mine));
        header.push_str(&format!("{:012}\n", body.len()));
    }
    header + &body
}

/// One line an entry.
pub fn write_lines(entries: &[SearchEntry]) -> String {
    let mut text = String::new();
    for SearchEntry { hostname, bundle, slot } in entries {
        text.push_str(&format!("{hostname}\t{bundle}\t{slot}\n"));
    }
    text
}

/// The bytes of a range within a part, by the part's header. None: it is no header.
pub(super) fn range_in_part(header: &[u8], range: usize) -> Option<std::ops::Range<u64>> {
    let end = |range: usize| -> Option<u64> {
        let line = header.chunks_exact(HEADER_NUMBER_BYTES).nth(range)?;
        std::str::from_utf8(line).ok()?.trim_end().parse().ok()
    };
    let start = if range == 0 { 0 } else { end(range - 1)? };
    let behind = HEADER_BYTES as u64;
    Some(behind + start..behind + end(range)?)
}

/// The entries of lines; a line that is none ends the reading with an error that quotes it.
pub fn read_lines(text: &str) -> Result<Vec<SearchEntry>, String> {
    text.lines()
        .map(|line| {
            let mut fields = line.split('\t');
            let entry = (|| {
                Some(SearchEntry {
                    hostname: fields.next()?.to_owned(),
                    bundle: fields.next()?.parse().ok()?,
                    slot: fields.next()?.parse().ok()?,
                })
            })();
            entry.ok_or_else(|| format!("not a search line: {line:?}"))
        })
        .collect()
}

/// Lines of an object, or why it holds none.
pub(super) fn lines_of(key: &str, bytes: &[u8]) -> Result<Vec<SearchEntry>, JobError> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| JobError::Discard(format!("{key} is not text")))?;
    read_lines(text).map_err(|reason| JobError::Discard(format!("{key}: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(hostname: &str) -> SearchEntry {
        SearchEntry { hostname: hostname.into(), bundle: 7, slot: 3 }
    }

    #[test]
    fn a_part_gives_back_each_range_and_nothing_else() {
        let names = ["zebra.org", "www.apple.com", "9gag.com", "apple.com", "-odd.net", "www.com"];
        let part = write_part(names.map(entry).to_vec());
        let mut found = Vec::new();
        for range in 0..RANGES {
            let at = range_in_part(part.as_bytes(), range).unwrap();
            let text = &part[at.start as usize..at.end as usize];
            for line in read_lines(text).unwrap() {
                assert_eq!(range_of(&line.hostname), range);
                found.push(line.hostname);
            }
        }
        let in_order =
            ["9gag.com", "apple.com", "www.apple.com", "www.com", "zebra.org", "-odd.net"];
        assert_eq!(found, in_order);
    }

    #[test]
    fn a_header_that_is_none_is_refused() {
        assert_eq!(range_in_part(b"not numbers here at all", 0), None);
        assert_eq!(range_in_part(b"", 3), None);
    }
}
