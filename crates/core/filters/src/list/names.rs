//! Host, domain and URL lists, as sorted hashes. A hash is the first 8 bytes of the SHA-256 of a
//! character for the kind, followed by the name.
//!
//! With a million names in a list, one in two thousand crawls has a false match if each crawl has a
//! billion URLs (ten lookups per URL).

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::{
    file_lines::{ListFileKind, ListedName, names_of_line},
    format::{
        self, FilterListError, ListBytes, ListFile, ListKind, ListSection, MAX_SECTIONS, u64_at,
    },
};

/// Maximum names in a list. This many names take 128 MB.
pub const MAX_LIST_ENTRIES: usize = 16_000_000;
/// Hash size in bytes.
const HASH_BYTES: usize = 8;
/// Maximum host labels and path segments that are looked up for a URL.
const MAX_PARTS: usize = 32;
const SHOWN_LINES: usize = 3;
/// A message shows at most this many bytes of a malformed line.
const SHOWN_BYTES: usize = 80;

/// Hashes under which a list may contain a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlNames(Vec<u64>);

impl UrlNames {
    /// Returns the hashes for a host, and for `text`: host, path and query, without scheme.
    #[must_use]
    pub fn of(host: &str, text: &str) -> Self {
        let mut hashes = vec![hash_of(b'=', host)];
        let is_name = !host.starts_with('[');
        let starts =
            host.bytes().enumerate().filter(|(_, byte)| *byte == b'.').map(|(at, _)| at + 1);
        for start in std::iter::once(0).chain(starts).take(if is_name { MAX_PARTS } else { 1 }) {
            hashes.push(hash_of(b'.', host.get(start..).unwrap_or_default()));
        }
        // URL lists omit the port.
        let path = text.find('/').and_then(|at| text.get(at..)).unwrap_or("/");
        let bare = host.strip_prefix("www.").unwrap_or(host);
        let ends = path.bytes().enumerate().skip(1);
        let ends = ends.filter(|(_, byte)| matches!(byte, b'/' | b'?')).map(|(at, _)| at);
        let whole = path.len();
        for end in ends.take(MAX_PARTS).chain([whole]) {
            let start = path.get(..end).unwrap_or_default();
            if start.len() > 1 {
                hashes.push(hash_of_url(bare, start));
            }
        }
        Self(hashes)
    }
}

fn hash_of(kind: u8, name: &str) -> u64 {
    first_bytes(Sha256::new_with_prefix([kind]).chain_update(name))
}

/// Hashes a URL without scheme and `www.`. A trailing slash does not matter.
fn hash_of_url(host: &str, path: &str) -> u64 {
    let path = path.strip_suffix('/').unwrap_or(path);
    first_bytes(Sha256::new_with_prefix([b'/']).chain_update(host).chain_update(path))
}

fn first_bytes(digest: Sha256) -> u64 {
    let digest: [u8; 32] = digest.finalize().into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// A loaded name list.
#[derive(Debug, Clone)]
pub struct NameList {
    file: ListFile,
}

impl NameList {
    /// Opens a list, and checks its digest and its order once.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a name list.
    pub fn open(bytes: ListBytes) -> Result<Self, FilterListError> {
        let file = ListFile::open(bytes, ListKind::Names, |_| HASH_BYTES)?;
        let is_sorted = |section| {
            let records = file.records(section).as_chunks::<HASH_BYTES>().0;
            records.is_sorted_by(|one, next| u64::from_le_bytes(*one) < u64::from_le_bytes(*next))
        };
        if (0..file.sections.len()).all(is_sorted) {
            Ok(Self { file })
        } else {
            Err(FilterListError::Order)
        }
    }

    /// Returns the categories.
    #[must_use]
    pub fn sections(&self) -> &[ListSection] {
        &self.file.sections
    }

    /// Returns the section numbers for these categories, or all numbers if no category is given.
    ///
    /// # Errors
    /// Returns an error for the first unknown category.
    pub fn sections_of<'a>(&self, categories: &'a [String]) -> Result<Vec<usize>, &'a str> {
        if categories.is_empty() {
            return Ok((0..self.file.sections.len()).collect());
        }
        let number_of = |category: &'a String| {
            let mut sections = self.file.sections.iter();
            sections.position(|section| section.name == *category).ok_or(category.as_str())
        };
        categories.iter().map(number_of).collect()
    }

    /// Returns true if any given section contains this URL.
    #[must_use]
    pub fn contains(&self, sections: &[usize], names: &UrlNames) -> bool {
        sections.iter().any(|section| {
            let records = self.file.records(*section);
            names.0.iter().any(|hash| has(records, *hash))
        })
    }
}

/// Interpolates first, because hashes are spread evenly, and uses binary search if this does not
/// converge.
fn has(records: &[u8], hash: u64) -> bool {
    let (mut low, mut high) = (0, records.len() / HASH_BYTES);
    let (mut least, mut most) = (0, u64::MAX);
    let mut guesses = 0;
    while low < high {
        let middle = if guesses < 8 && most > least {
            guesses += 1;
            let share = u128::from(hash - least) * (high - low) as u128;
            low + usize::try_from(share / (u128::from(most - least) + 1)).unwrap_or(0)
        } else {
            low + (high - low) / 2
        };
        let Some(found) = u64_at(records, middle * HASH_BYTES) else { return false };
        match found.cmp(&hash) {
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Less => (low, least) = (middle + 1, found),
            std::cmp::Ordering::Greater => (high, most) = (middle, found),
        }
    }
    false
}

/// The list has more than [`MAX_LIST_ENTRIES`] names, or too many categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the list has more than {MAX_LIST_ENTRIES} names or {MAX_SECTIONS} categories")]
pub struct TooManyEntries;

/// Builds a name list from the lines of files.
#[derive(Debug, Default)]
pub struct NameListBuilder {
    sections: BTreeMap<String, Vec<u64>>,
    entries: usize,
    bad_lines: u64,
    shown: Vec<String>,
}

impl NameListBuilder {
    /// Adds a line's entries to this category.
    ///
    /// # Errors
    /// Returns an error if the list is too large.
    pub fn add_line(
        &mut self,
        category: &str,
        kind: ListFileKind,
        line: &[u8],
    ) -> Result<(), TooManyEntries> {
        let Some(names) = names_of_line(kind, line) else {
            self.bad_lines += 1;
            if self.shown.len() < SHOWN_LINES {
                let line = String::from_utf8_lossy(line.get(..SHOWN_BYTES).unwrap_or(line));
                self.shown.push(line.trim().to_owned());
            }
            return Ok(());
        };
        for name in names {
            self.add(category, &name)?;
        }
        Ok(())
    }

    fn add(&mut self, category: &str, name: &ListedName) -> Result<(), TooManyEntries> {
        self.entries += 1;
        let is_new = !self.sections.contains_key(category);
        if self.entries > MAX_LIST_ENTRIES || (is_new && self.sections.len() >= MAX_SECTIONS) {
            return Err(TooManyEntries);
        }
        let hash = match name {
            ListedName::Host(host) => hash_of(b'=', host),
            ListedName::Domain(domain) => hash_of(b'.', domain),
            ListedName::Url(host, path) => {
                hash_of_url(host.strip_prefix("www.").unwrap_or(host), path)
            }
        };
        match self.sections.get_mut(category) {
            Some(hashes) => hashes.push(hash),
            None => drop(self.sections.insert(category.to_owned(), vec![hash])),
        }
        Ok(())
    }

    /// Returns true if nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Returns how many lines were malformed, and the first ones.
    #[must_use]
    pub fn bad_lines(&self) -> (u64, &[String]) {
        (self.bad_lines, &self.shown)
    }

    /// Returns the list. The bytes do not depend on the order in which names were added.
    #[must_use]
    pub fn build(self) -> Vec<u8> {
        let sections = self.sections.into_iter().map(|(name, mut hashes)| {
            hashes.sort_unstable();
            hashes.dedup();
            let records: Vec<u8> = hashes.into_iter().flat_map(u64::to_le_bytes).collect();
            (name, records, HASH_BYTES)
        });
        format::write(ListKind::Names, &sections.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests;
