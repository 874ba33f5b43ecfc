//! Undoes one content coding (RFC 9110 8.4.1), piece by piece and as far as the bytes decode.
//!
//! What browsers show is decoded: gzip without its trailer or with a wrong one, gzip of several
//! members, `deflate` with and without the head of zlib. What follows the end of a coding is
//! ignored. Invariant: no more than the limit comes out, whatever goes in.
//! Must not know: headers, where the bytes come from.

use std::io::{self, ErrorKind, Write};

use brotli_decompressor::{
    BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, DecompressorWriter as BrotliWriter,
};
use flate2::write::{DeflateDecoder, GzDecoder};
use zstd::stream::{
    raw::{DParameter, Decoder as ZstdFrames},
    zio::Writer as ZstdWriter,
};

/// Greatest number of content codings that are undone. More than one occurs by mistake only.
pub const MAX_LAYERS: usize = 3;
/// Greatest number of members of a gzip body. Each costs a decoder, and an empty one has 20 bytes;
/// servers that compress piece by piece send a member for some kilobytes.
pub const MAX_GZIP_MEMBERS: usize = 1_000;
/// Bytes of the buffer between the Brotli decoder and the body.
const BROTLI_BUFFER_BYTES: usize = 4 * 1024;
/// Logarithm of the greatest window of Zstandard, 8 MiB: the limit for the web (RFC 9659 3).
const MAX_ZSTD_WINDOW_LOG: u32 = 23;
/// Decoded bytes from which on a body is believed to have a coding without magic number: any bytes
/// decode to a few before they break it.
const PROOF_BYTES: usize = 1_024;

/// A content coding that can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// gzip (RFC 1952).
    Gzip,
    /// `deflate`: by the standard the format of zlib (RFC 1950), by some servers raw deflate.
    Deflate,
    /// Brotli (RFC 7932).
    Brotli,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl Coding {
    /// Returns the coding of a token in lower case, `None` if it cannot be undone.
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

    /// Returns true if its bytes always begin with a magic number.
    #[must_use]
    pub fn has_magic_number(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd)
    }
}

/// How far bytes decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// To the end of their coding.
    Whole,
    /// To their own end, which comes before that of the coding.
    Short,
    /// To a byte that the coding cannot have.
    Broken,
    /// To the limit.
    OverLimit,
}

/// Decodes bytes of one coding.
pub struct Decoder {
    unpacker: Box<dyn Unpack + Send>,
    /// How far it decoded, once nothing more will.
    extent: Option<Extent>,
}

impl Decoder {
    /// A decoder that gives at most `max_bytes`.
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

    /// Decodes what is left of the pieces so far, after the last of them. Returns how far they
    /// decoded.
    pub fn finish(&mut self) -> Extent {
        // Of what is broken, too, something may be on its way.
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

    /// Takes the bytes that were decoded since it was called last.
    pub fn take(&mut self) -> Vec<u8> {
        let output = self.unpacker.output();
        output.taken += output.bytes.len();
        std::mem::take(&mut output.bytes)
    }

    /// Returns true if more would have come out than the limit.
    pub fn is_over_limit(&self) -> bool {
        self.extent == Some(Extent::OverLimit)
    }

    /// Returns true if the bytes had a magic number of the coding. Of other codings nothing tells
    /// the start from that of a body without coding.
    pub fn has_magic_number(&self) -> bool {
        self.unpacker.has_magic_number()
    }

    /// Returns true if so much decoded that the bytes had the coding, although more may break it.
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
            // Windows of up to a gigabyte, which no browser accepts (RFC 7932 knows none).
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

/// A decoder that takes bytes by [`Write`]: 0 is what it takes after the end of its coding.
trait Unpack: Write {
    /// Decodes what is left of the bytes so far. Returns whether their coding came to its end.
    fn end(&mut self) -> io::Result<bool>;

    fn output(&mut self) -> &mut Output;

    fn has_magic_number(&self) -> bool;
}

/// gzip members, one after the other.
struct GzipMembers {
    member: GzDecoder<Output>,
    /// Members before this one.
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
            // What follows is no member.
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
        // Any other error is that of the trailer.
        Ok(!ended.is_err_and(|error| error.kind() == ErrorKind::UnexpectedEof))
    }

    fn output(&mut self) -> &mut Output {
        self.member.get_mut()
    }

    fn has_magic_number(&self) -> bool {
        true
    }
}

/// Deflate, with or without the head of zlib. Its checksum is not looked at.
struct Deflate {
    /// The first two bytes, which are the head if there is one.
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

/// Returns true if the bytes are the head of zlib (RFC 1950 2.2).
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

/// The decoded bytes that are not taken yet. It takes no more than the limit.
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

/// Stands for a decoder that could not be made.
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
