//! Every chunk's header: version, kind and checksum.

/// Format version that this code writes.
const VERSION: u8 = 2;

/// First format version, without referrers, debts and page content.
const FIRST_VERSION: u8 = 1;

/// Header length in bytes: version, kind and checksum.
const HEADER_BYTES: usize = 6;

/// Kind of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    /// A whole state.
    Snapshot,
    /// Changes since the previous chunk.
    Delta,
    /// Links that have not been merged yet.
    Links,
}

/// Why bytes are not a valid chunk, or do not continue the previous chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// A newer program wrote this chunk.
    #[error("chunk of version {0}; this program reads versions 1 and 2")]
    Version(u8),
    /// The checksum does not match the bytes.
    #[error("the checksum of the chunk is wrong")]
    Checksum,
    /// A field, given by its name, is malformed or contradicts another one.
    #[error("the chunk is damaged: {0}")]
    Field(&'static str),
    /// This chunk has more or longer URLs, or more hashes, than allowed.
    #[error("the chunk exceeds a limit: {0}")]
    TooLarge(&'static str),
    /// This delta does not follow the previous chunk.
    #[error("a delta of generation {found} follows generation {before}")]
    Gap {
        /// The state's generation, 0 without chunks.
        before: u64,
        /// The delta's generation.
        found: u64,
    },
}

pub(crate) fn open(kind: ChunkKind) -> Vec<u8> {
    let kind = match kind {
        ChunkKind::Snapshot => 0,
        ChunkKind::Delta => 1,
        ChunkKind::Links => 2,
    };
    vec![VERSION, kind, 0, 0, 0, 0]
}

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkFields<'a> {
    pub(crate) kind: ChunkKind,
    /// Whether this chunk has format version 1, which lacks some fields.
    pub(crate) is_first_version: bool,
    pub(crate) bytes: &'a [u8],
}

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

/// Returns a chunk's kind from its first bytes.
///
/// # Errors
/// Returns an error if the version or the kind is unknown.
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
        let kind = ChunkKind::Delta;
        let bytes = b"fields".as_slice();
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
