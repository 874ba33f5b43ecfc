//! The header of every chunk: version, kind and checksum.
//!
//! This module does not depend on a kind's fields.

/// The format version that this code writes.
const VERSION: u8 = 2;

/// The first format version, which has no referrers, debts or page content.
const FIRST_VERSION: u8 = 1;

/// Length of version, kind and checksum, in bytes.
const HEADER_BYTES: usize = 6;

/// A chunk's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    /// A whole state.
    Snapshot,
    /// The changes since the chunk before it.
    Delta,
    /// Links that have not been merged yet.
    Links,
}

/// The reason why bytes are not a valid chunk, or do not continue the chunks before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// The chunk has a version that this code does not know, because a newer program wrote it.
    #[error("chunk of version {0}; this program reads versions 1 and 2")]
    Version(u8),
    /// The checksum does not match, so the bytes were changed.
    #[error("the checksum of the chunk is wrong")]
    Checksum,
    /// A field is malformed or contradicts another one. Contains the field's name.
    #[error("the chunk is damaged: {0}")]
    Field(&'static str),
    /// The chunk has more or longer URLs, or more hashes, than it may have.
    #[error("the chunk is larger than a host may be: {0}")]
    TooLarge(&'static str),
    /// A delta does not follow the chunk before it, because one is missing or the order is wrong.
    #[error("a delta of generation {found} follows generation {before}")]
    Gap {
        /// The state's generation before the delta. 0 if there was no chunk.
        before: u64,
        /// The delta's generation.
        found: u64,
    },
}

/// Starts a chunk. The caller appends the fields and then calls [`close`], which writes the
/// checksum.
pub(crate) fn open(kind: ChunkKind) -> Vec<u8> {
    let kind = match kind {
        ChunkKind::Snapshot => 0,
        ChunkKind::Delta => 1,
        ChunkKind::Links => 2,
    };
    vec![VERSION, kind, 0, 0, 0, 0]
}

/// Writes a chunk's checksum.
pub(crate) fn close(mut chunk: Vec<u8>) -> Vec<u8> {
    let checksum = checksum(&chunk);
    if let Some(place) = chunk.get_mut(2..HEADER_BYTES) {
        place.copy_from_slice(&checksum.to_be_bytes());
    }
    chunk
}

fn checksum(chunk: &[u8]) -> u32 {
    let mut crc = libdeflater::Crc::new();
    crc.update(chunk.get(1..2).unwrap_or_default());
    crc.update(chunk.get(HEADER_BYTES..).unwrap_or_default());
    crc.sum()
}

/// A chunk's fields, with the kind and version from its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkFields<'a> {
    /// The kind.
    pub(crate) kind: ChunkKind,
    /// Whether the chunk has format version 1, which lacks some fields.
    pub(crate) is_first_version: bool,
    /// The fields.
    pub(crate) bytes: &'a [u8],
}

/// Checks the version and checksum, and returns the fields.
pub(crate) fn fields_of(chunk: &[u8]) -> Result<ChunkFields<'_>, ChunkError> {
    let kind = kind_of_chunk(chunk)?;
    let (header, bytes) =
        chunk.split_at_checked(HEADER_BYTES).ok_or(ChunkError::Field("header"))?;
    if header.get(2..) != Some(&checksum(chunk).to_be_bytes()) {
        return Err(ChunkError::Checksum);
    }
    let is_first_version = header.first() == Some(&FIRST_VERSION);
    Ok(ChunkFields { kind, is_first_version, bytes })
}

/// Returns a chunk's kind from its first bytes, without checking the rest.
///
/// # Errors
/// Returns [`ChunkError::Version`] for an unknown version, and [`ChunkError::Field`] if the kind is
/// unknown or missing.
pub fn kind_of_chunk(chunk: &[u8]) -> Result<ChunkKind, ChunkError> {
    match chunk {
        [FIRST_VERSION | VERSION, kind @ ..] => match kind {
            [0, ..] => Ok(ChunkKind::Snapshot),
            [1, ..] => Ok(ChunkKind::Delta),
            [2, ..] => Ok(ChunkKind::Links),
            _ => Err(ChunkError::Field("kind")),
        },
        [version, ..] => Err(ChunkError::Version(*version)),
        [] => Err(ChunkError::Field("header")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_is_an_error() {
        let mut chunk = open(ChunkKind::Delta);
        chunk.extend_from_slice(b"fields");
        let chunk = close(chunk);
        let (kind, bytes) = (ChunkKind::Delta, b"fields".as_slice());
        assert_eq!(fields_of(&chunk), Ok(ChunkFields { kind, is_first_version: false, bytes }));
        for at in 0..chunk.len() {
            let mut damaged = chunk.clone();
            damaged[at] ^= 1;
            assert!(fields_of(&damaged).is_err(), "{at}");
            assert!(fields_of(&chunk[..at]).is_err(), "{at}");
        }
        let mut before = chunk.clone();
        before[0] = FIRST_VERSION;
        assert_eq!(fields_of(&before).map(|fields| fields.is_first_version), Ok(true));
        assert_eq!(fields_of(&[3, 0, 0, 0, 0, 0]), Err(ChunkError::Version(3)));
        assert_eq!(fields_of(&[1, 3, 0, 0, 0, 0]), Err(ChunkError::Field("kind")));
    }
}
