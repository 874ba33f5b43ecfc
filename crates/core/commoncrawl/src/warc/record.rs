//! Reads one WARC record from decompressed bytes.

use std::io::{self, BufRead, Read};

use super::{
    error::WarcError,
    headers::{Headers, without_line_end},
    limits::Limits,
};

/// Record types (WARC 1.1 6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordType {
    /// `warcinfo`: describes the records that follow.
    Warcinfo,
    /// `response`: a server's complete response, including the protocol's head.
    Response,
    /// `resource`: a resource without a protocol's head.
    Resource,
    /// `request`: a client's request.
    Request,
    /// `metadata`: describes another record.
    Metadata,
    /// `revisit`: a response whose content is in another record.
    Revisit,
    /// `conversion`: another record's content in another format.
    Conversion,
    /// `continuation`: a further part of a record that was split.
    Continuation,
    /// Any other type, as written. This is empty if the record has no `WARC-Type`.
    Other(String),
}

impl RecordType {
    fn from_name(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "warcinfo" => Self::Warcinfo,
            "response" => Self::Response,
            "resource" => Self::Resource,
            "request" => Self::Request,
            "metadata" => Self::Metadata,
            "revisit" => Self::Revisit,
            "conversion" => Self::Conversion,
            "continuation" => Self::Continuation,
            _ => Self::Other(name.to_owned()),
        }
    }
}

/// Why a block is not the complete content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Truncation {
    /// The archive declares it in `WARC-Truncated` (`length`, `time`, `disconnect`, ...).
    Recorded(String),
    /// The block is larger than [`Limits::max_block_bytes`].
    Limit,
    /// The data end before the block ends.
    DataEnd,
}

/// One WARC record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The version line, such as `WARC/1.0`.
    pub version: String,
    /// The type in `WARC-Type`.
    pub record_type: RecordType,
    /// All headers in this record.
    pub headers: Headers,
    /// The block. For HTTP, it contains the head and the body as transferred.
    pub block: Vec<u8>,
    /// Why the block is incomplete. `None` if it is complete.
    pub truncation: Option<Truncation>,
}

impl Record {
    /// Returns `WARC-Target-URI` without angle brackets. Each byte of an invalid UTF-8 value
    /// becomes one code point.
    pub fn target_uri(&self) -> Option<String> {
        let value = self.headers.get("warc-target-uri")?;
        let inner = value.strip_prefix(b"<").and_then(|rest| rest.strip_suffix(b">"));
        let uri = inner.unwrap_or(value);
        let text = std::str::from_utf8(uri).map(str::to_owned);
        Some(text.unwrap_or_else(|_| super::headers::isomorphic(uri)))
    }

    /// Returns `WARC-Record-ID` as written, including its angle brackets.
    pub fn record_id(&self) -> Option<String> {
        self.headers.text("warc-record-id")
    }

    /// Returns `WARC-Date` as written.
    pub fn date(&self) -> Option<String> {
        self.headers.text("warc-date")
    }
}

pub(super) struct RecordHead {
    version: String,
    headers: Headers,
    length: u64,
}

impl RecordHead {
    fn with_block(self, block: Vec<u8>, limits: Limits) -> (Record, Unread) {
        let Self { version, headers, length } = self;
        let kept = length.min(limits.max_block_bytes);
        let truncation = if (block.len() as u64) < kept {
            Some(Truncation::DataEnd)
        } else if kept < length {
            Some(Truncation::Limit)
        } else {
            headers.text("warc-truncated").map(Truncation::Recorded)
        };
        let record_type = RecordType::from_name(&headers.text("warc-type").unwrap_or_default());
        (Record { version, record_type, headers, block, truncation }, Unread(length - kept))
    }
}

fn read_head<R: BufRead>(input: &mut R, limits: Limits) -> Result<Option<RecordHead>, WarcError> {
    let Some(version) = read_version(input)? else { return Ok(None) };
    let headers = Headers::parse(&read_header_lines(input, limits)?);
    let length = headers.get("content-length").and_then(decimal).ok_or(WarcError::ContentLength)?;
    Ok(Some(RecordHead { version, headers, length }))
}

/// Returns `None` if the input contains only line ends.
pub(super) fn read<R: BufRead>(
    input: &mut R,
    limits: Limits,
) -> Result<Option<(Record, Unread)>, WarcError> {
    let Some(head) = read_head(input, limits)? else { return Ok(None) };
    let mut block = Vec::new();
    let mut content = input.by_ref().take(head.length.min(limits.max_block_bytes));
    content.read_to_end(&mut block).map_err(|error| WarcError::from_inflating(&error))?;
    Ok(Some(head.with_block(block, limits)))
}

pub(super) fn take_first(mut bytes: Vec<u8>, limits: Limits) -> Result<Record, WarcError> {
    let mut rest = bytes.as_slice();
    let head = read_head(&mut rest, limits)?.ok_or(WarcError::Empty)?;
    let start = bytes.len() - rest.len();
    let kept = usize::try_from(head.length.min(limits.max_block_bytes)).unwrap_or(usize::MAX);
    bytes.truncate(start.saturating_add(kept));
    bytes.drain(..start);
    Ok(head.with_block(bytes, limits).0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unread(pub(super) u64);

impl Unread {
    pub(super) fn skip<R: BufRead>(self, input: &mut R) -> Result<(), WarcError> {
        let mut rest = input.by_ref().take(self.0);
        let skipped = io::copy(&mut rest, &mut io::sink());
        skipped.map(drop).map_err(|error| WarcError::from_inflating(&error))
    }
}

fn read_version<R: BufRead>(input: &mut R) -> Result<Option<String>, WarcError> {
    /// Maximum version line length. `WARC/1.1` has eight bytes.
    const MAX_VERSION_LINE_BYTES: u64 = 64;
    loop {
        let mut line = Vec::new();
        let mut start = input.by_ref().take(MAX_VERSION_LINE_BYTES);
        start.read_until(b'\n', &mut line).map_err(|error| WarcError::from_inflating(&error))?;
        if line.is_empty() {
            return Ok(None);
        }
        let text = without_line_end(line.strip_suffix(b"\n").unwrap_or(&line));
        if text.is_empty() {
            continue;
        }
        if !text.starts_with(b"WARC/") {
            return Err(WarcError::for_start(text));
        }
        if !line.ends_with(b"\n") {
            return Err(WarcError::HeaderCut);
        }
        return Ok(Some(super::headers::isomorphic(text.trim_ascii())));
    }
}

fn read_header_lines<R: BufRead>(input: &mut R, limits: Limits) -> Result<Vec<u8>, WarcError> {
    let mut lines = Vec::new();
    loop {
        let start = lines.len();
        let remaining = limits.max_header_bytes.saturating_sub(start as u64);
        let mut next = input.by_ref().take(remaining);
        next.read_until(b'\n', &mut lines).map_err(|error| WarcError::from_inflating(&error))?;
        let line = lines.get(start..).unwrap_or_default();
        let Some(line) = line.strip_suffix(b"\n") else {
            let is_over = lines.len() as u64 >= limits.max_header_bytes;
            let too_large = WarcError::HeaderTooLarge(limits.max_header_bytes);
            return Err(if is_over { too_large } else { WarcError::HeaderCut });
        };
        if without_line_end(line).is_empty() {
            return Ok(lines);
        }
    }
}

fn decimal(value: &[u8]) -> Option<u64> {
    let is_digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| is_digits)?.parse().ok()
}
