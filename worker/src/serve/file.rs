//! The response for one file: its type, cache rule and version; whole or in part, compressed or
//! not.

use std::{io::SeekFrom, os::unix::fs::MetadataExt, path::Path};

use axum::{
    body::Body,
    http::{
        Method, StatusCode,
        header::{self, HeaderMap},
        request::Parts,
    },
    response::Response,
};
use bytes::BytesMut;
use everytab_bundler::object_names;
use futures_util::stream;
use sha2::{Digest, Sha256};
use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncSeekExt},
};

use super::{encoding, headers::insert, range};

/// Up to this size, the `ETag` is a hash of the bytes and text may be compressed. For larger files
/// it is a hash of size, time and inode.
const HASHED_BYTES: u64 = 1 << 20;
/// Bytes in a file that are read and sent at once.
const PIECE_BYTES: usize = 64 << 10;

/// Returns the response to a GET or HEAD of a path below `root`, or a refusal's status.
pub(super) async fn answer(root: &Path, request: &Parts) -> Result<Response, StatusCode> {
    let key = key_of(request.uri.path()).ok_or(StatusCode::NOT_FOUND)?;
    let missing = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
        _ => StatusCode::NOT_FOUND,
    };
    let path = tokio::fs::canonicalize(root.join(&key)).await.map_err(missing)?;
    if !path.starts_with(root) {
        return Err(StatusCode::NOT_FOUND);
    }
    let mut file = File::open(&path).await.map_err(missing)?;
    let metadata = file.metadata().await.map_err(missing)?;
    if !metadata.is_file() {
        return Err(StatusCode::NOT_FOUND);
    }
    let length = metadata.len();
    let etag = etag(&mut file, &metadata).await.map_err(missing)?;
    let asked = &request.headers;
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    let packable = encoding::is_worthwhile(object_names::content_type(&key), length, HASHED_BYTES);
    if packable {
        insert(headers, header::VARY, "accept-encoding");
    }
    insert(headers, header::ETAG, &etag);
    insert(headers, header::CACHE_CONTROL, object_names::cache_control(&key));
    if knows(asked, &etag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    insert(headers, header::CONTENT_TYPE, object_names::content_type(&key));
    insert(headers, header::ACCEPT_RANGES, "bytes");
    let wanted = match range::requested_range(asked, &etag, length) {
        range::RequestedRange::Whole => None,
        range::RequestedRange::Piece(piece) => Some(piece),
        range::RequestedRange::Nothing => {
            insert(headers, header::CONTENT_RANGE, &format!("bytes */{length}"));
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            return Ok(response);
        }
    };
    if wanted.is_none() && packable && encoding::accepts_gzip(asked) {
        let packed = encoding::gzip(file, length).await.map_err(missing)?;
        insert(headers, header::CONTENT_ENCODING, "gzip");
        // The same content in other bytes needs a weak validator, like the CDN's.
        insert(headers, header::ETAG, &format!("W/{etag}"));
        insert(headers, header::CONTENT_LENGTH, &packed.len().to_string());
        if request.method == Method::GET {
            *response.body_mut() = Body::from(packed);
        }
        return Ok(response);
    }
    let piece = wanted.clone().unwrap_or(0..length);
    if wanted.is_some() {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let text = format!("bytes {}-{}/{length}", piece.start, piece.end - 1);
        insert(response.headers_mut(), header::CONTENT_RANGE, &text);
        file.seek(SeekFrom::Start(piece.start)).await.map_err(missing)?;
    }
    let left = piece.end - piece.start;
    insert(response.headers_mut(), header::CONTENT_LENGTH, &left.to_string());
    if request.method == Method::GET {
        *response.body_mut() = body(file, left);
    }
    Ok(response)
}

/// Converts a request's path to an object's name. `None` if no object can have it.
fn key_of(path: &str) -> Option<String> {
    let decoded = percent_decode(path.strip_prefix('/')?)?;
    if decoded.is_empty() {
        return Some(object_names::INDEX_HTML.to_owned());
    }
    let allowed = |segment: &str| {
        !segment.is_empty() && !segment.starts_with('.') && !segment.contains(char::is_control)
    };
    // The only folder with a dot that clients may read (RFC 8615).
    let path = decoded.strip_prefix(".well-known/").unwrap_or(&decoded);
    path.split('/').all(allowed).then_some(decoded)
}

fn percent_decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            u8::try_from(digit()? * 16 + digit()?).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(decoded).ok()
}

async fn etag(file: &mut File, metadata: &std::fs::Metadata) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    if metadata.len() <= HASHED_BYTES {
        let mut bytes = Vec::new();
        file.take(HASHED_BYTES).read_to_end(&mut bytes).await?;
        file.seek(SeekFrom::Start(0)).await?;
        hasher.update(&bytes);
    } else {
        let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
        hasher.update(format!("{} {seconds} {nanoseconds}", metadata.len()));
        hasher.update(metadata.ino().to_be_bytes());
    }
    let digest = hasher.finalize();
    Ok(format!("\"{}\"", hex::encode(&digest[..16])))
}

/// Returns whether the client already has this version (RFC 9110, 13.1.2: weak comparison).
fn knows(headers: &HeaderMap, etag: &str) -> bool {
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|known| known.trim())
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag)
}

/// Returns the file as a stream of pieces, with exactly `length` bytes; otherwise the connection
/// breaks.
fn body(file: File, length: u64) -> Body {
    Body::from_stream(stream::try_unfold((file, length), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let most = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let mut piece = BytesMut::with_capacity(most);
        let read = (&mut file).take(most as u64).read_buf(&mut piece).await?;
        if read == 0 {
            return Err(std::io::Error::other("the file shrank while it was served"));
        }
        let left = left.saturating_sub(read as u64);
        Ok(Some((piece.freeze(), (file, left))))
    }))
}
