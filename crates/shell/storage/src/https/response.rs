//! Reads a web server's response and checks it against the request.
//!
//! Invariants: memory never holds more bytes than were requested. A response with another range is
//! an error.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG},
};

use crate::{
    error::{StorageError, StorageErrorKind, describe},
    store::{starts_past_the_end, too_large},
};

/// Maximum bytes before the range that are read and discarded if a server ignores `Range`. 8 MiB
/// take a second on an ordinary connection, and cover reads near the start of a file.
const MAX_SKIPPED_BYTES: u64 = 8 << 20;

/// The bytes of an object that a request should return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Head,
    Whole {
        most: u64,
    },
    /// A range that is not empty.
    Range(Range<u64>),
}

/// The checked response to a request.
#[derive(Debug)]
pub(super) struct ObjectResponse {
    /// The body. Empty for a HEAD request.
    pub(super) bytes: Bytes,
    /// The object's length for a HEAD request, otherwise the number of bytes.
    pub(super) size: u64,
    pub(super) etag: Option<String>,
}

/// Reads a response with status 200 or 206.
pub(super) async fn read(
    place: &str,
    response: Response,
    wanted: &Wanted,
) -> Result<ObjectResponse, StorageError> {
    let header = |name| response.headers().get(name)?.to_str().ok();
    let etag = header(ETAG).map(str::to_owned);
    let announced: Option<u64> = header(CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let bytes = match wanted {
        Wanted::Head => {
            let size = announced.ok_or_else(|| {
                let cause = "the server does not tell its length";
                StorageError::new(StorageErrorKind::Other, "read", place, cause)
            })?;
            return Ok(ObjectResponse { bytes: Bytes::new(), size, etag });
        }
        Wanted::Whole { most } => {
            if let Some(size) = announced.filter(|size| size > most) {
                return Err(too_large(place, size, *most));
            }
            let bytes = collect(place, response, 0, most.saturating_add(1)).await?;
            if bytes.len() as u64 > *most {
                return Err(too_large(place, bytes.len() as u64, *most));
            }
            bytes
        }
        Wanted::Range(range) => read_range(place, response, range).await?,
    };
    Ok(ObjectResponse { size: bytes.len() as u64, bytes, etag })
}

/// Returns the bytes of a range. If a server ignores `Range` and responds with status 200, the
/// bytes before the range are discarded, if they are few.
async fn read_range(
    place: &str,
    response: Response,
    range: &Range<u64>,
) -> Result<Bytes, StorageError> {
    let length = range.end.saturating_sub(range.start);
    let fault = |kind, cause: String| StorageError::new(kind, "read", place, cause);
    if response.status() != StatusCode::PARTIAL_CONTENT {
        if range.start > MAX_SKIPPED_BYTES {
            let cause = "the server ignores the Range header; use a mirror that supports it";
            return Err(fault(StorageErrorKind::Invalid, cause.to_owned()));
        }
        let bytes = collect(place, response, range.start, length).await?;
        if bytes.is_empty() { Err(starts_past_the_end(place, range)) } else { Ok(bytes) }
    } else {
        let header = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
        let received = header.and_then(parse_content_range);
        let Some((first, last)) = received.filter(|(first, _)| *first == range.start) else {
            let cause = format!("the server responded with the range {header:?}");
            return Err(fault(StorageErrorKind::Other, cause));
        };
        let expected = last.saturating_sub(first).saturating_add(1).min(length);
        let bytes = collect(place, response, 0, length).await?;
        if bytes.len() as u64 != expected {
            let cause = format!("{} of {expected} bytes came; try again", bytes.len());
            return Err(fault(StorageErrorKind::Unreachable, cause));
        }
        Ok(bytes)
    }
}

/// Parses the first and the last byte of a `Content-Range` such as `bytes 0-99/1234`.
fn parse_content_range(header: &str) -> Option<(u64, u64)> {
    let (range, _) = header.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
}

/// Returns up to `most` bytes after the first `skipped` bytes. Does not read any further.
async fn collect(
    place: &str,
    response: Response,
    skipped: u64,
    most: u64,
) -> Result<Bytes, StorageError> {
    let address = response.url().clone();
    let mut to_skip = usize::try_from(skipped).unwrap_or(usize::MAX);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut bytes = BytesMut::new();
    let mut chunks = response.bytes_stream();
    while bytes.len() < most {
        let Some(chunk) = chunks.next().await else { break };
        let mut chunk = chunk.map_err(|error| {
            let cause = format!("the response from {address} was truncated: {}", describe(&error));
            StorageError::new(StorageErrorKind::Unreachable, "read", place, cause)
        })?;
        let dropped = to_skip.min(chunk.len());
        to_skip -= dropped;
        let chunk = chunk.split_off(dropped);
        let taken = chunk.len().min(most - bytes.len());
        bytes.extend_from_slice(chunk.get(..taken).unwrap_or_default());
    }
    Ok(bytes.freeze())
}
