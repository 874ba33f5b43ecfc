//! Decodes one content coding (RFC 9110 8.4.1), piece by piece and up to the first error.
//!
//! Decodes what browsers display: gzip with a missing or wrong trailer, gzip with several members,
//! and `deflate` with and without a zlib header. Ignores bytes after the end of a coding.
//! Invariant: the output never exceeds the limit.
//!
//! Does not depend on headers, or on the source of the bytes.

use std::io::{self, ErrorKind, Write};

use brotli_decompressor::{
    BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, DecompressorWriter as BrotliWriter,
};
use flate2::write::{DeflateDecoder, GzDecoder};
use zstd::stream::{
    raw::{DParameter, Decoder as ZstdFrames},
    zio::Writer as ZstdWriter,
};

/// Maximum content codings that are decoded. More than one occurs only by mistake.
pub const MAX_LAYERS: usize = 3;
/// Maximum members of a gzip body. Each costs a decoder, and an empty one has 20 bytes. Servers
/// that compress in pieces send a member for some kilobytes.
pub const MAX_GZIP_MEMBERS: usize = 1_000;
/// Bytes of the buffer between the Brotli decoder and the body.
const BROTLI_BUFFER_BYTES: usize = 4 * 1024;
/// Logarithm of Zstandard's maximum window, 8 MiB: the limit for the web (RFC 9659 3).
const MAX_ZSTD_WINDOW_LOG: u32 = 23;
/// Minimum decoded bytes that prove a coding without magic number, because arbitrary bytes may
/// decode to a few bytes before an error.
const PROOF_BYTES: usize = 1_024;

/// A supported content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// gzip (RFC 1952).
    Gzip,
    /// `deflate`: the zlib format (RFC 1950) by the standard, raw deflate from some servers.
    Deflate,
    /// Brotli (RFC 7932).
    Brotli,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl Coding {
    /// Returns the coding of a lower-case token. `None` if it is not supported.
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

    /// Returns true if its bytes always start with a magic number.
    #[must_use]
    pub fn has_magic_number(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd)
    }
}

/// How far bytes were decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// To the end of their coding.
    Whole,
    /// To the end of the bytes, which precedes the end of the coding.
    Short,
    /// To an invalid byte.
    Broken,
    /// To the limit.
    OverLimit,
}

/// Decodes bytes of one coding.
pub struct Decoder {
    unpacker: Box<dyn Unpack + Send>,
    /// How far it decoded, once it is finished.
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

    /// Decodes the rest of the pieces, after the last one. Returns how far they were decoded.
    pub fn finish(&mut self) -> Extent {
        // Even broken input may have output in the buffers.
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

    /// Returns the bytes that were decoded since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        let output = self.unpacker.output();
        output.taken += output.bytes.len();
        std::mem::take(&mut output.bytes)
    }

    /// Returns true if the output would have exceeded the limit.
    pub fn is_over_limit(&self) -> bool {
        self.extent == Some(Extent::OverLimit)
    }

    /// Returns true if the bytes had the coding's magic number. Other codings cannot be
    /// distinguished from an uncoded body by their start.
    pub fn has_magic_number(&self) -> bool {
        self.unpacker.has_magic_number()
    }

    /// Returns true if enough bytes decoded to prove the coding, although later ones may be
    /// invalid.
    pub fn is_proven(&mut self) -> bool {
        let output = self.unpacker.output();
        let decoded = output.taken + output.bytes.len();
        decoded >= if self.has_magic_number() { 1 } else { PROOF_BYTES }
    }
}

fn unpacker(coding: Coding, output: Output) -> Result<Box<dyn Unpack + Send>, Output> {
    Ok(match coding {
        Coding::Gzip => Box::new(GzipMembers { member: GzDecoder::new(output), earlier: 0 }),
        Coding::Deflate => {
            Box::new(Deflate { start: Vec::new(), raw: DeflateDecoder::new(output) })
        }
        Coding::Brotli => {
            let mut writer = BrotliWriter::new(output, BROTLI_BUFFER_BYTES);
            // Disable windows of up to a gigabyte, which no browser accepts and RFC 7932 does not
            // define.
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

/// A decoder that accepts bytes through [`Write`]. It accepts 0 bytes after the end of its coding.
trait Unpack: Write {
    /// Decodes the rest of the bytes. Returns whether their coding is complete.
    fn end(&mut self) -> io::Result<bool>;

    fn output(&mut self) -> &mut Output;

    fn has_magic_number(&self) -> bool;
}

/// Consecutive gzip members.
struct GzipMembers {
    member: GzDecoder<Output>,
    /// Number of members before this one.
    earlier: usize,
}

impl Write for GzipMembers {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.member.write(bytes) {
            Ok(0) if self.earlier + 1 >= MAX_GZIP_MEMBERS => Err(ErrorKind::InvalidData.into()),
            Ok(0) => {
                let output = std::mem::take(self.member.get_mut());
                self.member = GzDecoder::new(output);
                self.earlier += 1;
                self.write(bytes)
            }
            // The following bytes are not a member.
            Err(_) if self.earlier > 0 && self.member.header().is_none() => Ok(0),
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.member.flush()
    }
}

impl Unpack for GzipMembers {
    fn end(&mut self) -> io::Result<bool> {
        if self.member.header().is_none() {
            return Ok(self.earlier > 0);
        }
        self.member.flush()?;
        let ended = self.member.try_finish();
        // Any other error concerns the trailer.
        Ok(!ended.is_err_and(|error| error.kind() == ErrorKind::UnexpectedEof))
    }

    fn output(&mut self) -> &mut Output {
        self.member.get_mut()
    }

    fn has_magic_number(&self) -> bool {
        true
    }
}

/// Deflate, with or without a zlib header. Its checksum is ignored.
struct Deflate {
    /// The first two bytes, which are the header if there is one.
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
    method & 0x0f == 8 && u16::from_be_bytes([method, flags]).is_multiple_of(31)
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

/// Frames, some of which may be skippable (RFC 8878 3.1).
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

/// The decoded bytes that were not taken yet. It accepts bytes only up to the limit.
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
