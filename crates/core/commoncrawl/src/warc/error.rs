//! Errors while reading a WARC record.

use std::io;

/// Why a record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WarcError {
    /// The data are empty.
    #[error("no record: the data are empty")]
    Empty,
    /// The data are an ARC file, the predecessor of WARC.
    #[error("this is an ARC file, not WARC")]
    Arc,
    /// The data are compressed with Zstandard.
    #[error("this is a Zstandard file (.warc.zst); only gzip and uncompressed WARC are read")]
    Zstandard,
    /// The data do not start with a WARC record.
    #[error("not a WARC record: it starts with {0:?}")]
    NotWarc(String),
    /// The data end within the record's header.
    #[error("the WARC header is truncated")]
    HeaderCut,
    /// The record's header exceeds this limit in bytes.
    #[error("the WARC header has more than {0} bytes")]
    HeaderTooLarge(u64),
    /// `Content-Length` is missing or invalid.
    #[error("the record has no valid Content-Length")]
    ContentLength,
    /// The gzip data are invalid, or have a wrong checksum or length.
    #[error("corrupt gzip member: {0}")]
    CorruptGzip(String),
    /// The gzip data end before the member ends.
    #[error("the gzip member is truncated")]
    GzipCut,
}

impl WarcError {
    /// Converts a decompression error. Its input is in memory, so this error always comes from
    /// gzip.
    pub(super) fn from_inflating(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::GzipCut,
            _ => Self::CorruptGzip(error.to_string()),
        }
    }

    pub(super) fn for_start(start: &[u8]) -> Self {
        /// How many bytes the error message shows, which is enough to recognize most formats.
        const SHOWN_BYTES: usize = 24;
        if start.is_empty() {
            Self::Empty
        } else if start.starts_with(b"filedesc://") {
            Self::Arc
        } else if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Self::Zstandard
        } else {
            let shown = start.get(..SHOWN_BYTES).unwrap_or(start);
            Self::NotWarc(shown.escape_ascii().to_string())
        }
    }
}
