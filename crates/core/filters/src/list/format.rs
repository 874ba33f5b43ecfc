//! The list format: sections with sorted records of fixed length, which can be searched in mapped
//! bytes.
//!
//! A list starts with `ETFLIST` and the version (8 bytes), the kind (u32), and the section count
//! (u32). Each section then has its name (104 bytes, padded with zeros), offset and record count
//! (u64 each). After this directory come each section's records, aligned to 8 bytes, and the
//! SHA-256 of all bytes before it. Numbers are little-endian.

use std::{fmt, ops::Range, sync::Arc};

use sha2::{Digest, Sha256};

/// A list's bytes, which are read or mapped.
pub type ListBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A list's first bytes. The last one is the format version.
const MAGIC: [u8; 8] = *b"ETFLIST\x01";
/// Header size in bytes.
const HEAD_BYTES: usize = 16;
/// Section name size in bytes.
const NAME_BYTES: usize = 104;
const ENTRY_BYTES: usize = NAME_BYTES + 16;
/// Digest size in bytes.
const DIGEST_BYTES: usize = 32;
/// Maximum sections in a list. A list with more is invalid.
pub(super) const MAX_SECTIONS: usize = 1_024;

/// Kind of a list's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// Name hashes.
    Names,
    /// Address ranges and their countries.
    Countries,
}

impl ListKind {
    /// Returns the stable name in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Countries => "countries",
        }
    }

    const fn number(self) -> u32 {
        match self {
            Self::Names => 1,
            Self::Countries => 2,
        }
    }

    const fn of_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Names),
            2 => Some(Self::Countries),
            _ => None,
        }
    }
}

/// Why bytes are not a valid list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FilterListError {
    /// The bytes do not start like a list with this format version.
    #[error("not a list, or a list with another format version")]
    Magic,
    /// The list has another kind.
    #[error("the list has another kind")]
    Kind,
    /// The directory is invalid, or does not match the list's length.
    #[error("the list is truncated, or its directory is invalid")]
    Directory,
    /// The digest does not match.
    #[error("the list has a wrong digest")]
    Digest,
    /// The records are not sorted.
    #[error("the list's records are not sorted")]
    Order,
}

/// A list section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSection {
    /// Category name. A country list has the sections `ipv4` and `ipv6`.
    pub name: String,
    /// Records in this section.
    pub records: u64,
    pub(super) range: Range<usize>,
}

#[derive(Clone)]
pub(super) struct ListFile {
    bytes: ListBytes,
    pub sections: Vec<ListSection>,
}

impl fmt::Debug for ListFile {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("ListFile").field("sections", &self.sections).finish_non_exhaustive()
    }
}

impl ListFile {
    /// Reads the directory and checks the digest. `record_bytes` returns a section's record length
    /// by its number.
    pub(super) fn open(
        bytes: ListBytes,
        kind: ListKind,
        record_bytes: impl Fn(usize) -> usize,
    ) -> Result<Self, FilterListError> {
        let all = (*bytes).as_ref();
        let number = kind_number(all)?;
        if number != kind.number() {
            return Err(FilterListError::Kind);
        }
        let body = all.len().checked_sub(DIGEST_BYTES).ok_or(FilterListError::Directory)?;
        let (body, digest) = all.split_at_checked(body).ok_or(FilterListError::Directory)?;
        let count = u32_at(body, 12).ok_or(FilterListError::Directory)? as usize;
        if count > MAX_SECTIONS {
            return Err(FilterListError::Directory);
        }
        let mut sections = Vec::with_capacity(count);
        let mut end = HEAD_BYTES + count * ENTRY_BYTES;
        for number in 0..count {
            let at = HEAD_BYTES + number * ENTRY_BYTES;
            let entry = body.get(at..at + ENTRY_BYTES).ok_or(FilterListError::Directory)?;
            let section =
                section_of(entry, record_bytes(number)).ok_or(FilterListError::Directory)?;
            if section.range.start != end.next_multiple_of(8) || section.range.end > body.len() {
                return Err(FilterListError::Directory);
            }
            end = section.range.end;
            sections.push(section);
        }
        if end != body.len() {
            return Err(FilterListError::Directory);
        }
        if Sha256::digest(body).as_slice() != digest {
            return Err(FilterListError::Digest);
        }
        Ok(Self { bytes, sections })
    }

    pub(super) fn records(&self, section: usize) -> &[u8] {
        let range = self.sections.get(section).map(|section| section.range.clone());
        let bytes: &[u8] = (*self.bytes).as_ref();
        range.and_then(|range| bytes.get(range)).unwrap_or_default()
    }
}

/// Returns a list's kind from its first bytes.
///
/// # Errors
/// Returns an error if they do not start a list, or if this kind is unknown.
pub fn list_kind(bytes: &[u8]) -> Result<ListKind, FilterListError> {
    ListKind::of_number(kind_number(bytes)?).ok_or(FilterListError::Kind)
}

fn kind_number(bytes: &[u8]) -> Result<u32, FilterListError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(FilterListError::Magic);
    }
    u32_at(bytes, MAGIC.len()).ok_or(FilterListError::Directory)
}

fn section_of(entry: &[u8], record_bytes: usize) -> Option<ListSection> {
    let (name, numbers) = entry.split_at_checked(NAME_BYTES)?;
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
    let name = std::str::from_utf8(name.get(..length)?).ok()?.to_owned();
    let start = usize::try_from(u64_at(numbers, 0)?).ok()?;
    let records = u64_at(numbers, 8)?;
    let bytes = usize::try_from(records).ok()?.checked_mul(record_bytes)?;
    let range = start..start.checked_add(bytes)?;
    Some(ListSection { name, records, range })
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn write<S: AsRef<str>>(kind: ListKind, sections: &[(S, Vec<u8>, usize)]) -> Vec<u8> {
    let records: usize = sections.iter().map(|(_, bytes, _)| bytes.len() + 8).sum();
    let mut start = HEAD_BYTES + sections.len() * ENTRY_BYTES;
    let mut list = Vec::with_capacity(start + records + DIGEST_BYTES);
    list.extend(MAGIC);
    list.extend(kind.number().to_le_bytes());
    list.extend(u32::try_from(sections.len()).unwrap_or(u32::MAX).to_le_bytes());
    for (name, bytes, record_bytes) in sections {
        let mut field = [0; NAME_BYTES];
        field.iter_mut().zip(name.as_ref().bytes()).for_each(|(to, from)| *to = from);
        start = start.next_multiple_of(8);
        list.extend(field);
        list.extend((start as u64).to_le_bytes());
        list.extend(((bytes.len() / record_bytes) as u64).to_le_bytes());
        start += bytes.len();
    }
    for (_, bytes, _) in sections {
        list.resize(list.len().next_multiple_of(8), 0);
        list.extend(bytes);
    }
    let digest = Sha256::digest(&list);
    list.extend(digest);
    list
}
