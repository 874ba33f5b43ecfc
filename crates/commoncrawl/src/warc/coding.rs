//! Removing transfer and content codings from a body that may or may not have them.
//!
//! Invariants: bytes that are not in the coding that a field names stay as they are; the result
//! never exceeds the limit. A coding without magic or checksum (chunked, raw deflate, br) must
//! decode to its end, or the record must be known to be cut, before it is believed.

use std::io::Read;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::headers::{Headers, isomorphic};

/// Codings on codings occur by mistake, not by intent.
const MAX_LAYERS: usize = 3;
/// A chunk's length line with extensions (RFC 9112 7.1.1).
const MAX_CHUNK_LINE_BYTES: usize = 4_096;

pub(super) struct Decoded {
    pub(super) body: Vec<u8>,
    pub(super) remaining_coding: Option<String>,
    pub(super) is_cut: bool,
}

/// Removes the codings that `headers` name. `may_be_cut`: the record is known not to be whole.
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
    // In the order in which they were applied: the transfer coding is the outer one.
    let codings: Vec<String> = tokens(headers, "content-encoding")
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

/// The comma-separated words of all fields `name`, lower-case.
fn tokens<'a>(headers: &'a Headers, name: &'a str) -> impl Iterator<Item = String> + 'a {
    let words = headers.get_all(name).flat_map(|value| value.split(|byte| *byte == b','));
    let words = words.map(|word| isomorphic(word.trim_ascii()).to_ascii_lowercase());
    words.filter(|word| !word.is_empty())
}

/// The content of a chunked body (RFC 9112 7.1), or `None` where it is not chunked at all. After a
/// first good chunk, what is no chunk any more is taken as it is.
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

/// The length that a chunk begins with, and what follows the line.
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

struct Inflated {
    bytes: Vec<u8>,
    is_whole: bool,
}

/// Reads to the end or the limit; what came before an error is kept.
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

/// `deflate` is zlib by the standard and raw deflate by custom; both occur.
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
    const BUFFER_BYTES: usize = 4_096;
    if body.is_empty() {
        return None;
    }
    let reader = brotli_decompressor::Decompressor::new(body, BUFFER_BYTES);
    believable(read_some(reader, max_bytes), may_be_cut, max_bytes)
}

/// Frames one after another, of which some may be skippable (RFC 8878 3.1).
fn unzstd(body: &[u8], max_bytes: u64) -> Option<Inflated> {
    const FRAME: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
    /// The last three bytes of a skippable frame's magic; the first is 0x50 to 0x5f.
    const SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];
    /// Windows of up to 8 MiB, which browsers and we agree to keep (RFC 9659 3).
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

/// Of a coding that any bytes may look like: what decoded to its end, or was cut where it must be.
fn believable(inflated: Inflated, may_be_cut: bool, max_bytes: u64) -> Option<Inflated> {
    let is_at_limit = inflated.bytes.len() as u64 >= max_bytes;
    let is_cut = (may_be_cut || is_at_limit) && !inflated.bytes.is_empty();
    (inflated.is_whole || is_cut).then_some(inflated)
}
