//! Removes transfer and content codings from a body that may or may not have them.
//!
//! Invariants: bytes that do not have the coding in a header stay unchanged; the result is never
//! larger than the limit. A coding without magic number or checksum (chunked, raw deflate, br) is
//! only accepted if the body decodes to its end, or if the record is known to be truncated.
//!
//! Common Crawl removes codings and renames the header to `X-Crawler-Content-Encoding`, also where
//! it could not decode the body (its `WarcRecordWriter` since 2018). A coding in that header is
//! only removed if the body begins with the coding's magic number.

use std::io::Read;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::headers::{Headers, isomorphic};

/// Greatest number of content codings that are removed. More than one occurs by mistake only.
const MAX_LAYERS: usize = 3;
/// Greatest length in bytes of the line before a chunk, with extensions (RFC 9112 7.1.1).
const MAX_CHUNK_LINE_BYTES: usize = 4_096;

/// A body without its codings.
pub(super) struct Decoded {
    pub(super) body: Vec<u8>,
    /// A coding that is not supported and remains.
    pub(super) remaining_coding: Option<String>,
    /// True if decoding ended before the end of the body.
    pub(super) is_cut: bool,
}

/// Removes the codings in `headers`. `may_be_cut` is true if the record is known to be truncated.
pub(super) fn remove_codings(
    headers: &Headers,
    raw: &[u8],
    may_be_cut: bool,
    max_bytes: u64,
) -> Decoded {
    let mut decoded = Decoded { body: Vec::new(), remaining_coding: None, is_cut: false };
    let is_chunked = tokens(headers, "transfer-encoding").any(|token| token == "chunked");
    let dechunked = if is_chunked { dechunk(raw, may_be_cut) } else { None };
    decoded.body = dechunked.unwrap_or_else(|| raw.to_vec());
    // Codings in the order in which they were applied: the transfer coding is the outermost.
    let with_magic_number =
        tokens(headers, "x-crawler-content-encoding").filter(|token| has_magic_number(token));
    let codings: Vec<String> = with_magic_number
        .chain(tokens(headers, "content-encoding"))
        .chain(tokens(headers, "transfer-encoding"))
        .filter(|token| token != "chunked" && token != "identity")
        .collect();
    for coding in codings.iter().rev().take(MAX_LAYERS) {
        let body = decoded.body.as_slice();
        let inflated = match coding.as_str() {
            "gzip" | "x-gzip" => gunzip(body, max_bytes),
            "deflate" => inflate(body, may_be_cut, max_bytes),
            "br" => unbrotli(body, may_be_cut, max_bytes),
            "zstd" => unzstd(body, max_bytes),
            _ => {
                decoded.remaining_coding = Some(coding.clone());
                break;
            }
        };
        if let Some(Inflated { bytes, is_whole }) = inflated {
            decoded.body = bytes;
            decoded.is_cut |= !is_whole;
        }
    }
    decoded
}

/// Returns true if the bytes of `coding` begin with a magic number, which [`gunzip`] and
/// [`unzstd`] ask for.
fn has_magic_number(coding: &str) -> bool {
    matches!(coding, "gzip" | "x-gzip" | "zstd")
}

/// Iterates over the comma-separated tokens of all headers `name`, in lower case.
fn tokens<'a>(headers: &'a Headers, name: &'a str) -> impl Iterator<Item = String> + 'a {
    let words = headers.get_all(name).flat_map(|value| value.split(|byte| *byte == b','));
    let words = words.map(|word| isomorphic(word.trim_ascii()).to_ascii_lowercase());
    words.filter(|word| !word.is_empty())
}

/// Removes the chunked coding (RFC 9112 7.1). Returns `None` if the body is not chunked. After a
/// first valid chunk, bytes that are no chunk are kept as they are.
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

/// Parses the line before a chunk. Returns the length of the chunk and the bytes after the line.
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

/// The decompressed start of a body.
struct Inflated {
    bytes: Vec<u8>,
    /// True if decompression reached the end without an error.
    is_whole: bool,
}

/// Reads to the end or the limit. The bytes before an error are kept.
fn read_some(reader: impl Read, max_bytes: u64) -> Inflated {
    let mut bytes = Vec::new();
    let is_ended = reader.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).is_ok();
    let is_within = bytes.len() as u64 <= max_bytes;
    bytes.truncate(usize::try_from(max_bytes).unwrap_or(usize::MAX));
    Inflated { bytes, is_whole: is_ended && is_within }
}

fn gunzip(body: &[u8], max_bytes: u64) -> Option<Inflated> {
    if !body.starts_with(&[0x1f, 0x8b]) {
        return None;
    }
    let inflated = read_some(MultiGzDecoder::new(body), max_bytes);
    (inflated.is_whole || !inflated.bytes.is_empty()).then_some(inflated)
}

/// Removes the coding `deflate`: zlib by the standard, but some servers send raw deflate.
fn inflate(body: &[u8], may_be_cut: bool, max_bytes: u64) -> Option<Inflated> {
    let is_zlib = match body {
        [method, flags, ..] => {
            method & 0x0f == 8 && u16::from_be_bytes([*method, *flags]).is_multiple_of(31)
        }
        _ => false,
    };
    if is_zlib {
        let inflated = read_some(ZlibDecoder::new(body), max_bytes);
        if inflated.is_whole || !inflated.bytes.is_empty() {
            return Some(inflated);
        }
    }
    believable(read_some(DeflateDecoder::new(body), max_bytes), may_be_cut, max_bytes)
}

fn unbrotli(body: &[u8], may_be_cut: bool, max_bytes: u64) -> Option<Inflated> {
    /// Compressed bytes that the decoder takes in one step: its own examples use a page of memory.
    const BUFFER_BYTES: usize = 4_096;
    if body.is_empty() {
        return None;
    }
    let reader = brotli_decompressor::Decompressor::new(body, BUFFER_BYTES);
    believable(read_some(reader, max_bytes), may_be_cut, max_bytes)
}

/// Decompresses a sequence of Zstandard frames, some of which may be skippable (RFC 8878 3.1).
fn unzstd(body: &[u8], max_bytes: u64) -> Option<Inflated> {
    const FRAME: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
    /// The last three bytes of the magic number of a skippable frame; the first is 0x50 to 0x5f.
    const SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];
    /// Logarithm of the greatest window, 8 MiB: the limit for the web (RFC 9659 3).
    const MAX_WINDOW_LOG: u32 = 23;
    let is_frame = match body.first_chunk::<4>() {
        Some([first, rest @ ..]) if *rest == SKIPPABLE => first & 0xf0 == 0x50,
        start => start == Some(&FRAME),
    };
    if !is_frame {
        return None;
    }
    let mut reader = zstd::stream::read::Decoder::with_buffer(body).ok()?;
    reader.window_log_max(MAX_WINDOW_LOG).ok()?;
    let inflated = read_some(reader, max_bytes);
    (inflated.is_whole || !inflated.bytes.is_empty()).then_some(inflated)
}

/// Accepts the result of a coding that arbitrary bytes may resemble only if it decoded to its end,
/// or was truncated by the record or the limit.
fn believable(inflated: Inflated, may_be_cut: bool, max_bytes: u64) -> Option<Inflated> {
    let is_at_limit = inflated.bytes.len() as u64 >= max_bytes;
    let is_cut = (may_be_cut || is_at_limit) && !inflated.bytes.is_empty();
    (inflated.is_whole || is_cut).then_some(inflated)
}
