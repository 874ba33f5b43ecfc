//! Reads a sitemap's bytes as UTF-8 in pieces. Broken or oversized input ends early and is never an
//! error.

use std::io::{self, BufRead, Read, Take};

use encoding_rs::{CoderResult, Decoder, REPLACEMENT, UTF_8};
use flate2::bufread::MultiGzDecoder;

use crate::charset::Charset;

/// Maximum unpacked bytes to read. This is the sitemap protocol's limit.
pub const MAX_UNPACKED_BYTES: u64 = 50 << 20;

/// Size of the pieces that are decoded, in bytes.
const PIECE_BYTES: usize = 16 << 10;

/// Bytes at the start that may declare the encoding.
const START_BYTES: usize = 1024;

/// Maximum size in bytes for a parser event, because the parser keeps it in memory. Reading stops
/// at an event beyond this limit.
const MAX_EVENT_BYTES: usize = 1 << 20;

/// A gzip file's first bytes (RFC 1952 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

enum Packed<'a> {
    Not(&'a [u8]),
    Gzip(Box<MultiGzDecoder<&'a [u8]>>),
}

impl Read for Packed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Not(bytes) => bytes.read(into),
            Self::Gzip(decoder) => decoder.read(into),
        }
    }
}

pub(super) struct SitemapInput<'a> {
    source: Take<Packed<'a>>,
    decoder: Decoder,
    /// Undecoded bytes, from `raw_start` on.
    raw: Vec<u8>,
    raw_start: usize,
    /// Unconsumed text, from `text_start` on.
    text: Vec<u8>,
    text_start: usize,
    event_bytes: usize,
    has_no_more: bool,
    is_finished: bool,
    is_cut: bool,
}

impl<'a> SitemapInput<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        let source = if body.starts_with(&GZIP_MAGIC) {
            Packed::Gzip(Box::new(MultiGzDecoder::new(body)))
        } else {
            Packed::Not(body)
        };
        let mut input = Self {
            source: source.take(MAX_UNPACKED_BYTES),
            decoder: UTF_8.new_decoder_with_bom_removal(),
            raw: Vec::new(),
            raw_start: 0,
            text: Vec::new(),
            text_start: 0,
            event_bytes: 0,
            has_no_more: false,
            is_finished: false,
            is_cut: false,
        };
        while input.raw.len() < START_BYTES && !input.has_no_more {
            input.read_more();
        }
        let start = input.raw.get(..START_BYTES).unwrap_or(&input.raw);
        let declared = Charset::declared(None, start).map(|declared| declared.encoding);
        if let Some(encoding) = declared.filter(|encoding| *encoding != REPLACEMENT) {
            input.decoder = encoding.new_decoder_with_bom_removal();
        }
        input
    }

    pub(super) fn begin_event(&mut self) {
        self.event_bytes = 0;
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn read_more(&mut self) {
        let before = self.raw.len();
        self.raw.resize(before + PIECE_BYTES, 0);
        let read = self.source.read(self.raw.get_mut(before..).unwrap_or_default());
        self.raw.truncate(before + read.as_ref().copied().unwrap_or_default());
        self.is_cut |= read.is_err() || (matches!(read, Ok(0)) && self.source.limit() == 0);
        self.has_no_more = !matches!(read, Ok(1..));
    }

    fn decode_more(&mut self) {
        self.text.resize(PIECE_BYTES, 0);
        self.text_start = 0;
        let mut length = 0;
        while length == 0 && !self.is_finished {
            if self.raw_start == self.raw.len() && !self.has_no_more {
                self.raw.clear();
                self.raw_start = 0;
                self.read_more();
            }
            let raw = self.raw.get(self.raw_start..).unwrap_or_default();
            let (result, read, written, _) =
                self.decoder.decode_to_utf8(raw, &mut self.text, self.has_no_more);
            self.raw_start += read;
            length = written;
            self.is_finished = self.has_no_more && result == CoderResult::InputEmpty;
        }
        self.text.truncate(length);
    }
}

impl Read for SitemapInput<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut bytes = self.fill_buf()?;
        let read = bytes.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for SitemapInput<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.event_bytes > MAX_EVENT_BYTES {
            self.is_cut = true;
            return Ok(&[]);
        }
        if self.text_start >= self.text.len() {
            self.decode_more();
        }
        Ok(self.text.get(self.text_start..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.text_start += amount;
        self.event_bytes += amount;
    }
}
