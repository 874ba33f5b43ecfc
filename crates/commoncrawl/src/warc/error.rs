//! What can be wrong with a record, as one clear line each.

use std::io;

/// Why a record cannot be read. The offset is not in it; [`super::Records`] gives it beside.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WarcError {
    /// There is nothing where a record should begin.
    #[error("no record: the data are empty")]
    Empty,
    /// The data are an ARC file, the predecessor of WARC.
    #[error("this is an ARC file, not WARC")]
    Arc,
    /// The data are compressed with Zstandard.
    #[error("this is a Zstandard file (.warc.zst); only gzip and uncompressed WARC are read")]
    Zstandard,
    /// What stands where a record should begin is none.
    #[error("not a WARC record: it begins with {0:?}")]
    NotWarc(String),
    /// The record's header does not end.
    #[error("the WARC header is cut short")]
    HeaderCut,
    /// The record's header is larger than [`super::Limits::max_header_bytes`].
    #[error("the WARC header has more than {0} bytes")]
    HeaderTooLarge(u64),
    /// `Content-Length` is missing or no number.
    #[error("the record has no valid Content-Length")]
    ContentLength,
    /// The gzip data are wrong: not deflate, or their checksum or length does not agree.
    #[error("corrupt gzip member: {0}")]
    CorruptGzip(String),
    /// The gzip data end before the member does.
    #[error("the gzip member is cut short")]
    GzipCut,
}

impl WarcError {
    /// An error of the inflating reader; nothing else in this crate's reading can fail.
    pub(super) fn from_inflating(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::GzipCut,
            _ => Self::CorruptGzip(error.to_string()),
        }
    }

    /// What to say about bytes that do not begin a WARC record.
    pub(super) fn for_start(start: &[u8]) -> Self {
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
