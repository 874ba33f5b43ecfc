//! The format of a list: sections of records of one length, sorted, with a digest at the end.
//!
//! All numbers are little-endian. `ETFLIST` and the version, 8 bytes; kind, u32; number of
//! sections, u32; of each section its name (104 bytes, filled up with zero), offset and number of
//! records (u64 each); then the records of the sections in that order, each section at a multiple
//! of 8; last SHA-256 of all bytes before. So a section is found by one look at the directory and a
//! record by its number, in bytes that are mapped and not read.
//!
//! Must not know: what records mean.

use std::{fmt, ops::Range, sync::Arc};

use sha2::{Digest, Sha256};

/// The bytes of a list: read, or mapped.
pub type ListBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// The first bytes of a list, the last of which is the version of the format.
const MAGIC: [u8; 8] = *b"ETFLIST\x01";
/// Bytes before the directory.
const HEAD_BYTES: usize = 16;
/// Bytes of the name of a section.
const NAME_BYTES: usize = 104;
/// Bytes of a section in the directory.
const ENTRY_BYTES: usize = NAME_BYTES + 16;
/// Bytes of the digest.
const DIGEST_BYTES: usize = 32;
/// Sections of a list: the categories of the largest public lists are about 60.
pub(super) const MAX_SECTIONS: usize = 1_024;

/// What the records of a list are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// Hashes of names.
    Names,
    /// Ranges of addresses with their countries.
    Countries,
}

impl ListKind {
    /// Returns the stable name, as the database has it.
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

/// The reason why bytes are no list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FilterListError {
    /// They begin as no list does, or as one of a later version.
    #[error("this is no list, or one of another version of the format")]
    Magic,
    /// It is a list of another kind.
    #[error("this is a list of another kind")]
    Kind,
    /// They are shorter or longer than their directory says, or it says what cannot be.
    #[error("the list is cut off, or its directory is wrong")]
    Directory,
    /// The digest is another one.
    #[error("the digest of the list is wrong")]
    Digest,
    /// Records are not in order.
    #[error("the records of the list are not sorted")]
    Order,
}

/// A section of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSection {
    /// Its name: a category.
    pub name: String,
    /// Number of its records.
    pub records: u64,
    pub(super) range: Range<usize>,
}

/// A list whose directory was read.
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
    /// Reads the directory and compares the digest. `record_bytes` gives the length of the records
    /// of a section by its number.
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

    /// The records of a section.
    pub(super) fn records(&self, section: usize) -> &[u8] {
        let range = self.sections.get(section).map(|section| section.range.clone());
        let bytes: &[u8] = (*self.bytes).as_ref();
        range.and_then(|range| bytes.get(range)).unwrap_or_default()
    }
}

/// Returns the kind of a list by its first bytes.
///
/// # Errors
/// When they are no list's, or of a kind that this program does not know.
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

/// Writes a list of sections, each with its name, its records and the length of one.
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
