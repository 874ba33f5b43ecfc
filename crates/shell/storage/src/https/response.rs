//! Reads a web server's response and checks it against the request.

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

/// Maximum bytes before the range that are read and discarded if a server ignores `Range`.
const MAX_SKIPPED_BYTES: u64 = 8 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Head,
    Whole {
        most: u64,
    },
    /// The range is not empty.
    Range(Range<u64>),
}

#[derive(Debug)]
pub(super) struct ObjectResponse {
    pub(super) bytes: Bytes,
    pub(super) size: u64,
    pub(super) etag: Option<String>,
}

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
                let cause = "the response has no Content-Length";
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

/// If a server ignores `Range` and responds with status 200, the bytes before the range are
/// discarded, if they are few.
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
            let cause = format!("received {} of {expected} bytes; try again", bytes.len());
            return Err(fault(StorageErrorKind::Unreachable, cause));
        }
        Ok(bytes)
    }
}

fn parse_content_range(header: &str) -> Option<(u64, u64)> {
    let (range, _) = header.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
}

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
