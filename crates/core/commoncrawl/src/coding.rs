//! Decodes one content coding (RFC 9110 8.4.1), piece by piece and up to the first error. Icons,
//! pages and archives all use it.
//!
//! This module decodes the same bodies as browsers: gzip with a missing or wrong trailer, gzip with
//! several members, and `deflate` with and without a zlib header. It ignores checksums, and bytes
//! after the coding ends. Invariant: the output never exceeds the limit.
//!
//! This module does not depend on where the bytes come from.

use std::io::{self, ErrorKind, Write};

use brotli_decompressor::{
    BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, DecompressorWriter as BrotliWriter,
};
use flate2::write::DeflateDecoder;
use zstd::stream::{
    raw::{DParameter, Decoder as ZstdFrames},
    zio::Writer as ZstdWriter,
};

/// Maximum content codings that are decoded. Chromium has this limit, too. More than one coding
/// occurs only by mistake.
pub const MAX_LAYERS: usize = 10;
/// Maximum members in a gzip body, because each member needs a new decoder although an empty member
/// has only 20 bytes. A server that compresses in pieces sends one member for every few kilobytes.
pub const MAX_GZIP_MEMBERS: usize = 1_000;
/// Trailer bytes in a gzip member: a checksum and a length.
const GZIP_TRAILER_BYTES: usize = 8;
/// Buffer size in bytes between the Brotli decoder and the body.
const BROTLI_BUFFER_BYTES: usize = 4 * 1024;
/// Logarithm of Zstandard's maximum window, 8 MiB. This is the limit for the web (RFC 9659 3).
const MAX_ZSTD_WINDOW_LOG: u32 = 23;
/// If a coding has no magic number, this many decoded bytes prove that a body uses it, because
/// arbitrary bytes may decode to a few bytes before an error.
const PROOF_BYTES: usize = 1_024;

/// A supported content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// gzip (RFC 1952).
    Gzip,
    /// `deflate`: the zlib format (RFC 1950) according to the standard. Some servers send raw
    /// deflate data.
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

    /// Returns true if bytes in this coding always start with a magic number.
    #[must_use]
    pub fn has_magic_number(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd)
    }
}

/// Iterates over the tokens in `Content-Encoding` or `Transfer-Encoding` fields, in lower case. An
/// empty list element or value is an empty token.
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
    /// How decoding ended. `None` while this decoder accepts more bytes.
    extent: Option<Extent>,
}

impl Decoder {
    /// Creates a decoder that outputs up to `max_bytes`.
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

    /// Ends decoding after the last piece and returns how it ended.
    pub fn finish(&mut self) -> Extent {
        // Even if the input is invalid, the buffers may contain output.
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

    /// Returns the bytes that have been decoded since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        let output = self.unpacker.output();
        output.taken += output.bytes.len();
        std::mem::take(&mut output.bytes)
    }

    /// Returns true if the output would have exceeded the limit.
    pub fn is_over_limit(&self) -> bool {
        self.extent == Some(Extent::OverLimit)
    }

    /// Returns true if decoded output implies a magic number: always for gzip and zstd, and for
    /// `deflate` if the body starts with a zlib header. Other codings cannot be distinguished from
    /// an uncoded body by their start.
    pub fn has_magic_number(&self) -> bool {
        self.unpacker.has_magic_number()
    }

    /// Returns true if enough bytes were decoded to prove that the body uses this coding, even if
    /// later bytes are invalid.
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
            // Disable windows up to a gigabyte, because no browser accepts them and RFC 7932 does
            // not define them.
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

/// A decoder that accepts bytes through [`Write`]. Once its coding is complete, it accepts 0 bytes.
trait Unpack: Write {
    /// Decodes the buffered bytes. Returns whether the coding is complete.
    fn end(&mut self) -> io::Result<bool>;

    fn output(&mut self) -> &mut Output;

    fn has_magic_number(&self) -> bool;
}

/// Consecutive gzip members.
struct GzipMembers {
    part: GzipPart,
    raw: DeflateDecoder<Output>,
    /// Members that are complete.
    earlier: usize,
}

/// The part of a member that the next byte belongs to.
enum GzipPart {
    Head(GzipHead),
    Data,
    /// The trailer, with the number of its bytes so far. Its content is ignored.
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
                // The following bytes are not a member.
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

/// A gzip header (RFC 1952 2.3). Like in browsers, its checksum and reserved flags are ignored.
#[derive(Default)]
struct GzipHead {
    /// How many bytes of the fixed part have been read.
    fixed: usize,
    /// Flags for the optional fields that have not been read completely.
    flags: u8,
    /// How many bytes of the current optional field have been read.
    seen: usize,
    /// The extra field's length.
    extra: usize,
}

impl GzipHead {
    const CHECKSUM: u8 = 1 << 1;
    const EXTRA: u8 = 1 << 2;
    const NAME: u8 = 1 << 3;
    const COMMENT: u8 = 1 << 4;
    /// The optional fields in their order.
    const FIELDS: [u8; 4] = [Self::EXTRA, Self::NAME, Self::COMMENT, Self::CHECKSUM];

    /// Adds a byte. Returns whether the header is complete. `None` if this is not a gzip header.
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
                    // The first two bytes are the field's length.
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

    /// Returns the flag for the next optional field.
    fn field(&self) -> Option<u8> {
        Self::FIELDS.into_iter().find(|field| self.flags & field != 0)
    }
}

/// Deflate data, with or without a zlib header. The zlib checksum is ignored.
struct Deflate {
    /// The body's first two bytes, which may be a zlib header.
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

/// Returns true if the bytes are a zlib header (RFC 1950 2.2).
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

/// Zstandard frames, including skippable ones (RFC 8878 3.1).
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

/// Decoded bytes that the caller has not taken yet. If a piece exceeds the limit, only its first
/// bytes are stored.
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

/// Replaces a decoder that could not be created.
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
