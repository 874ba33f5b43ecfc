//! Decodes one content coding (RFC 9110 8.4.1) in pieces, up to a limit on the output.
//!
//! Accepts several gzip members, gzip with a missing or wrong trailer, and `deflate` with and
//! without a zlib header.

use std::io::{self, ErrorKind, Write};

use brotli_decompressor::{
    BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, DecompressorWriter as BrotliWriter,
};
use flate2::write::DeflateDecoder;
use zstd::stream::{
    raw::{DParameter, Decoder as ZstdFrames},
    zio::Writer as ZstdWriter,
};

/// Maximum content codings that are removed from a body. Codings beyond this limit remain.
pub const MAX_LAYERS: usize = 10;
/// Maximum members in a gzip body. This must be generous, because some servers send a member every
/// few kilobytes.
pub const MAX_GZIP_MEMBERS: usize = 1_000;
/// Gzip trailer size in bytes: a checksum and a length.
const GZIP_TRAILER_BYTES: usize = 8;
/// Output buffer size in bytes for the Brotli decoder.
const BROTLI_BUFFER_BYTES: usize = 4 * 1024;
/// Base-2 logarithm of the maximum Zstandard window: 8 MiB, as on the web (RFC 9659 3).
const MAX_ZSTD_WINDOW_LOG: u32 = 23;
/// A coding without a magic number is proven once this many bytes are decoded, because arbitrary
/// data may decode to a few bytes.
const PROOF_BYTES: usize = 1_024;

/// A supported content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// gzip (RFC 1952).
    Gzip,
    /// `deflate`: the zlib format (RFC 1950), or raw deflate data as some servers send it.
    Deflate,
    /// Brotli (RFC 7932).
    Brotli,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl Coding {
    /// Returns the coding for a lower-case token. `None` if this coding is not supported.
    #[must_use]
    pub fn parse(token: &str) -> Option<Self> {
        Some(match token {
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" => Self::Deflate,
            "br" => Self::Brotli,
            "zstd" => Self::Zstd,
            _ => return None,
        })
    }

    /// Returns true if data in this coding always start with a magic number.
    #[must_use]
    pub fn has_magic_number(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd)
    }
}

/// Iterates over the tokens in `Content-Encoding` or `Transfer-Encoding` fields, in lower case.
/// Empty list elements yield empty tokens.
pub fn tokens<'a>(
    values: impl IntoIterator<Item = &'a [u8], IntoIter: 'a>,
) -> impl Iterator<Item = String> + 'a {
    let words = values.into_iter().flat_map(|value| value.split(|byte| *byte == b','));
    words.map(|word| {
        let word = word.trim_ascii().iter();
        word.map(|byte| char::from(byte.to_ascii_lowercase())).collect()
    })
}

/// How decoding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The coding is complete.
    Whole,
    /// The bytes ended before the coding was complete.
    Short,
    /// Decoding stopped at an invalid byte.
    Broken,
    /// Decoding stopped because the output would exceed the limit.
    OverLimit,
}

/// Decodes bytes in one coding.
pub struct Decoder {
    unpacker: Box<dyn Unpack + Send>,
    extent: Option<Extent>,
}

impl Decoder {
    /// Creates a decoder with an output of up to `max_bytes`.
    #[must_use]
    pub fn new(coding: Coding, max_bytes: usize) -> Self {
        let output = Output { bytes: Vec::new(), taken: 0, max_bytes, is_over: false };
        match unpacker(coding, output) {
            Ok(unpacker) => Self { unpacker, extent: None },
            Err(output) => Self { unpacker: Box::new(output), extent: Some(Extent::Broken) },
        }
    }

    /// Decodes a piece.
    pub fn push(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() && self.extent.is_none() {
            match self.unpacker.write(piece) {
                Ok(0) => self.extent = Some(Extent::Whole),
                Ok(taken) => piece = piece.get(taken..).unwrap_or_default(),
                Err(_) => self.extent = Some(Extent::Broken),
            }
        }
        if self.unpacker.output().is_over {
            self.extent = Some(Extent::OverLimit);
        }
    }

    /// Finishes decoding and returns how it ended.
    pub fn finish(&mut self) -> Extent {
        // The buffers may contain output even if the input is invalid.
        let ended = self.unpacker.end();
        let is_over = self.unpacker.output().is_over;
        let extent = match (self.extent, ended) {
            _ if is_over => Extent::OverLimit,
            (Some(extent), _) => extent,
            (None, Ok(true)) => Extent::Whole,
            (None, Ok(false)) => Extent::Short,
            (None, Err(_)) => Extent::Broken,
        };
        self.extent = Some(extent);
        extent
    }

    /// Returns the bytes decoded since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        let output = self.unpacker.output();
        output.taken += output.bytes.len();
        std::mem::take(&mut output.bytes)
    }

    /// Returns true if the output would have exceeded the limit.
    pub fn is_over_limit(&self) -> bool {
        self.extent == Some(Extent::OverLimit)
    }

    /// Returns true if this decoder requires a magic number or zlib header before it returns
    /// output.
    pub fn has_magic_number(&self) -> bool {
        self.unpacker.has_magic_number()
    }

    /// Returns true if the decoded bytes prove that the body uses this coding, even if later bytes
    /// are invalid.
    pub fn is_proven(&mut self) -> bool {
        let output = self.unpacker.output();
        let decoded = output.taken + output.bytes.len();
        decoded >= if self.has_magic_number() { 1 } else { PROOF_BYTES }
    }
}

fn unpacker(coding: Coding, output: Output) -> Result<Box<dyn Unpack + Send>, Output> {
    Ok(match coding {
        Coding::Gzip => Box::new(GzipMembers {
            part: GzipPart::Head(GzipHead::default()),
            raw: DeflateDecoder::new(output),
            earlier: 0,
        }),
        Coding::Deflate => {
            Box::new(Deflate { start: Vec::new(), raw: DeflateDecoder::new(output) })
        }
        Coding::Brotli => {
            let mut writer = BrotliWriter::new(output, BROTLI_BUFFER_BYTES);
            // Disable the extension for windows up to 1 GiB, which RFC 7932 does not define.
            writer.set_parameter(BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
            Box::new(writer)
        }
        Coding::Zstd => {
            let window = DParameter::WindowLogMax(MAX_ZSTD_WINDOW_LOG);
            let frames = ZstdFrames::new().and_then(|mut frames| {
                frames.set_parameter(window)?;
                Ok(frames)
            });
            match frames {
                Ok(frames) => Box::new(ZstdWriter::new(output, frames)),
                Err(_) => return Err(output),
            }
        }
    })
}

trait Unpack: Write {
    fn end(&mut self) -> io::Result<bool>;

    fn output(&mut self) -> &mut Output;

    fn has_magic_number(&self) -> bool;
}

struct GzipMembers {
    part: GzipPart,
    raw: DeflateDecoder<Output>,
    earlier: usize,
}

enum GzipPart {
    Head(GzipHead),
    Data,
    /// The ignored trailer, with its byte count so far.
    Trailer(usize),
}

impl Write for GzipMembers {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(first) = bytes.first() else { return Ok(0) };
        match &mut self.part {
            GzipPart::Head(_) if self.earlier >= MAX_GZIP_MEMBERS => {
                return Err(ErrorKind::InvalidData.into());
            }
            GzipPart::Head(head) => match head.push(*first) {
                Some(true) => self.part = GzipPart::Data,
                Some(false) => {}
                // Ignore bytes after the last member.
                None if self.earlier > 0 => return Ok(0),
                None => return Err(ErrorKind::InvalidData.into()),
            },
            GzipPart::Data => match self.raw.write(bytes)? {
                0 => self.part = GzipPart::Trailer(1),
                taken => return Ok(taken),
            },
            GzipPart::Trailer(seen) => *seen += 1,
        }
        if matches!(self.part, GzipPart::Trailer(GZIP_TRAILER_BYTES)) {
            let output = self.raw.reset(Output::default())?;
            *self.raw.get_mut() = output;
            self.part = GzipPart::Head(GzipHead::default());
            self.earlier += 1;
        }
        Ok(1)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.raw.flush()
    }
}

impl Unpack for GzipMembers {
    fn end(&mut self) -> io::Result<bool> {
        self.raw.flush()?;
        Ok(match self.part {
            GzipPart::Head(_) => self.earlier > 0,
            GzipPart::Data => self.raw.try_finish().is_ok(),
            GzipPart::Trailer(_) => true,
        })
    }

    fn output(&mut self) -> &mut Output {
        self.raw.get_mut()
    }

    fn has_magic_number(&self) -> bool {
        true
    }
}

/// A gzip header (RFC 1952 2.3). Its checksum and reserved flags are ignored.
#[derive(Default)]
struct GzipHead {
    fixed: usize,
    flags: u8,
    seen: usize,
    extra: usize,
}

impl GzipHead {
    const CHECKSUM: u8 = 1 << 1;
    const EXTRA: u8 = 1 << 2;
    const NAME: u8 = 1 << 3;
    const COMMENT: u8 = 1 << 4;
    /// The optional fields in their order.
    const FIELDS: [u8; 4] = [Self::EXTRA, Self::NAME, Self::COMMENT, Self::CHECKSUM];

    /// Adds a byte. Returns whether the header is complete, or `None` if it is invalid.
    fn push(&mut self, byte: u8) -> Option<bool> {
        const START: [u8; 3] = [0x1f, 0x8b, 8];
        if self.fixed < 10 {
            if START.get(self.fixed).is_some_and(|expected| *expected != byte) {
                return None;
            }
            if self.fixed == 3 {
                self.flags = byte;
            }
            self.fixed += 1;
        } else if let Some(field) = self.field() {
            self.seen += 1;
            let is_over = match field {
                Self::EXTRA => {
                    // The first two bytes contain this field's length.
                    if self.seen <= 2 {
                        self.extra |= usize::from(byte) << (8 * (self.seen - 1));
                    }
                    self.seen == self.extra + 2
                }
                Self::CHECKSUM => self.seen == 2,
                _ => byte == 0,
            };
            if is_over {
                self.flags &= !field;
                self.seen = 0;
            }
        }
        Some(self.fixed == 10 && self.field().is_none())
    }

    fn field(&self) -> Option<u8> {
        Self::FIELDS.into_iter().find(|field| self.flags & field != 0)
    }
}

struct Deflate {
    start: Vec<u8>,
    raw: DeflateDecoder<Output>,
}

impl Write for Deflate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(first) = bytes.first().filter(|_| self.start.len() < 2) else {
            return self.raw.write(bytes);
        };
        self.start.push(*first);
        if self.start.len() == 2 && !is_zlib_head(&self.start) {
            self.raw.write_all(&self.start)?;
        }
        Ok(1)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.raw.flush()
    }
}

impl Unpack for Deflate {
    fn end(&mut self) -> io::Result<bool> {
        self.raw.flush()?;
        Ok(self.raw.try_finish().is_ok())
    }

    fn output(&mut self) -> &mut Output {
        self.raw.get_mut()
    }

    fn has_magic_number(&self) -> bool {
        is_zlib_head(&self.start)
    }
}

fn is_zlib_head(bytes: &[u8]) -> bool {
    let [method, flags] = *bytes else { return false };
    method & 0x0f == 8 && method >> 4 <= 7 && u16::from_be_bytes([method, flags]).is_multiple_of(31)
}

impl Unpack for BrotliWriter<Output> {
    fn end(&mut self) -> io::Result<bool> {
        Ok(self.close().is_ok())
    }

    fn output(&mut self) -> &mut Output {
        self.get_mut()
    }

    fn has_magic_number(&self) -> bool {
        false
    }
}

impl Unpack for ZstdWriter<Output, ZstdFrames<'static>> {
    fn end(&mut self) -> io::Result<bool> {
        Ok(self.finish().is_ok())
    }

    fn output(&mut self) -> &mut Output {
        self.writer_mut()
    }

    fn has_magic_number(&self) -> bool {
        true
    }
}

#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    taken: usize,
    max_bytes: usize,
    is_over: bool,
}

impl Write for Output {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.max_bytes.saturating_sub(self.taken + self.bytes.len());
        self.bytes.extend_from_slice(piece.get(..room).unwrap_or(piece));
        if piece.len() > room {
            self.is_over = true;
            return Err(ErrorKind::FileTooLarge.into());
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Unpack for Output {
    fn end(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    fn output(&mut self) -> &mut Output {
        self
    }

    fn has_magic_number(&self) -> bool {
        false
    }
}
