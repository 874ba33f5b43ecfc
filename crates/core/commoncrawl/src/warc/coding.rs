//! Removes transfer and content codings from a body if the body really uses them.
//!
//! Arbitrary bytes can look like raw deflate or brotli. Such a coding is removed only if it decodes
//! to its end or to the limit, or if the record is known to be truncated.
//!
//! Common Crawl renames the header to `X-Crawler-Content-Encoding` even if it could not decode the
//! body. Such a coding is removed only if the body starts with its magic number.

use super::headers::Headers;
use crate::coding::{self, Coding, Decoder, Extent, MAX_LAYERS};

/// Maximum length of the line before a chunk, including extensions (RFC 9112 7.1.1).
const MAX_CHUNK_LINE_BYTES: usize = 4_096;

pub(super) struct Decoded {
    pub(super) body: Vec<u8>,
    /// The first coding that we do not support. The body still uses this coding.
    pub(super) remaining_coding: Option<String>,
    /// True if decoding stopped before a coding ended.
    pub(super) is_cut: bool,
}

pub(super) fn remove_codings(
    headers: &Headers,
    raw: &[u8],
    may_be_cut: bool,
    max_bytes: usize,
) -> Decoded {
    let mut decoded = Decoded { body: Vec::new(), remaining_coding: None, is_cut: false };
    let is_chunked = tokens(headers, "transfer-encoding").any(|token| token == "chunked");
    let dechunked = if is_chunked { dechunk(raw, may_be_cut) } else { None };
    decoded.body = dechunked.unwrap_or_else(|| raw.to_vec());
    // Codings in the order in which the server applied them. The transfer coding comes last.
    let with_magic_number = tokens(headers, "x-crawler-content-encoding")
        .filter(|token| Coding::parse(token).is_some_and(Coding::has_magic_number));
    let codings: Vec<String> = with_magic_number
        .chain(tokens(headers, "content-encoding"))
        .chain(tokens(headers, "transfer-encoding"))
        .filter(|token| token != "chunked" && token != "identity")
        .collect();
    for token in codings.iter().rev().take(MAX_LAYERS) {
        let Some(coding) = Coding::parse(token) else {
            decoded.remaining_coding = Some(token.clone());
            break;
        };
        if let Some((bytes, extent)) = undo(coding, &decoded.body, may_be_cut, max_bytes) {
            decoded.body = bytes;
            decoded.is_cut |= extent != Extent::Whole;
        }
    }
    decoded
}

fn undo(
    coding: Coding,
    body: &[u8],
    may_be_cut: bool,
    max_bytes: usize,
) -> Option<(Vec<u8>, Extent)> {
    let mut decoder = Decoder::new(coding, max_bytes);
    decoder.push(body);
    let extent = decoder.finish();
    let bytes = decoder.take();
    let may_be_part = decoder.has_magic_number() || may_be_cut || extent == Extent::OverLimit;
    let is_believed = extent == Extent::Whole || (may_be_part && !bytes.is_empty());
    is_believed.then_some((bytes, extent))
}

fn tokens<'a>(headers: &'a Headers, name: &'a str) -> impl Iterator<Item = String> + 'a {
    coding::tokens(headers.get_all(name)).filter(|token| !token.is_empty())
}

/// Removes the chunked coding (RFC 9112 7.1). `None` if the body is not chunked. If a chunk is
/// followed by other bytes, they are appended unchanged.
fn dechunk(raw: &[u8], may_be_cut: bool) -> Option<Vec<u8>> {
    let mut content = Vec::with_capacity(raw.len());
    let mut rest = raw;
    loop {
        let Some((length, data)) = chunk_length(rest) else {
            if rest.len() == raw.len() {
                return None;
            }
            content.extend_from_slice(rest);
            return Some(content);
        };
        if length == 0 {
            return Some(content);
        }
        let Some((chunk, after)) = data.split_at_checked(length) else {
            let is_first = rest.len() == raw.len();
            if is_first && !may_be_cut {
                return None;
            }
            content.extend_from_slice(data);
            return Some(content);
        };
        let line_end = after.strip_prefix(b"\r\n").or_else(|| after.strip_prefix(b"\n"));
        if line_end.is_none() && !after.is_empty() && rest.len() == raw.len() {
            return None;
        }
        content.extend_from_slice(chunk);
        rest = line_end.unwrap_or(after);
        if rest.is_empty() {
            return Some(content);
        }
    }
}

fn chunk_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let window = bytes.get(..MAX_CHUNK_LINE_BYTES).unwrap_or(bytes);
    let line_end = window.iter().position(|byte| *byte == b'\n')?;
    let line = bytes.get(..line_end)?;
    let digits = line.split(|byte| *byte == b';').next().unwrap_or(line).trim_ascii();
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let length = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some((length, bytes.get(line_end + 1..)?))
}
