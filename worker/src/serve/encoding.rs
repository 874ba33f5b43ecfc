//! Compresses text with gzip like the CDN, if the client accepts it and it saves bytes.

use std::io::Write;

use axum::http::header::{self, HeaderMap};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use tokio::{fs::File, io::AsyncReadExt, sync::Semaphore};

/// Smaller files fit into one packet, compressed or not.
const MIN_BYTES: u64 = 1_000;

/// Texts that are compressed concurrently. Each takes twice its bytes and a thread, and more of
/// them than processors would only wait.
static COMPRESSING: Semaphore = Semaphore::const_new(4);

/// Returns whether content with this type and length is compressed. `max_bytes` is the limit.
pub(super) fn is_worthwhile(content_type: &str, length: u64, max_bytes: u64) -> bool {
    let text = content_type.starts_with("text/")
        || ["application/json", "application/manifest+json", "image/svg+xml"]
            .contains(&content_type);
    text && (MIN_BYTES..=max_bytes).contains(&length)
}

/// Returns whether the client accepts gzip (RFC 9110, 12.5.3), by name or by `*`, with a weight
/// above 0.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).iter();
    let codings = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    let mut any = false;
    for coding in codings {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").and_then(|q| q.trim().parse::<f32>().ok());
        let wanted = weight.is_none_or(|weight| weight > 0.0);
        match name.trim() {
            "gzip" => return wanted,
            "*" => any = wanted,
            _ => {}
        }
    }
    any
}

/// Compresses the first `length` bytes in the file.
pub(super) async fn gzip(file: File, length: u64) -> std::io::Result<Bytes> {
    // The semaphore is never closed.
    let _permit = COMPRESSING.acquire().await.map_err(std::io::Error::other)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(length).read_to_end(&mut bytes).await?;
    let packed = tokio::task::spawn_blocking(move || {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
        encoder.write_all(&bytes)?;
        encoder.finish()
    });
    Ok(packed.await.map_err(std::io::Error::other)??.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_taken_as_the_client_says() {
        for (line, expected) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, gzip;q=0.5", true),
            ("*", true),
            ("gzip;q=0, *", false),
            ("identity", false),
            ("", false),
            ("*;q=0", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, line.parse().unwrap());
            assert_eq!(accepts_gzip(&headers), expected, "{line}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
