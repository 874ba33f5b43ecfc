//! Bodies: read piece by piece, decoded on the way, never more than the limit.
//!
//! The limit holds for decoded bytes and for wire bytes, so it stops a decompression bomb as well
//! as a coding that carries nothing. A body has one content coding at most, and one that the
//! request accepts.
//! Must not know: what the bytes mean.

use std::{
    error::Error,
    io::{self, Write},
};

use brotli_decompressor::{
    BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, DecompressorWriter as BrotliDecoder,
};
use bytes::Bytes;
use flate2::write::GzDecoder;
use http::{
    HeaderMap,
    header::{CONTENT_ENCODING, CONTENT_LENGTH},
};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::{
    health::clock::Clock,
    outcome::Outcome,
    purpose::AtLimit,
    trouble::{Stop, Trouble},
};

/// Bytes of the buffer between the Brotli decoder and the body.
const BROTLI_BUFFER_BYTES: usize = 4 * 1024;

/// The content coding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Identity,
    Gzip,
    Brotli,
}

/// The coding that the head declares. Unknown names count as no coding, as in browsers. Errors:
/// `ContentDecode` for two codings, or one that the request does not accept.
pub(crate) fn coding(headers: &HeaderMap) -> Result<Coding, Outcome> {
    let mut coding = Coding::Identity;
    let values = headers.get_all(CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    for token in values.flat_map(|value| value.split(',')) {
        match token.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" if coding == Coding::Identity => coding = Coding::Gzip,
            "br" if coding == Coding::Identity => coding = Coding::Brotli,
            "gzip" | "x-gzip" | "br" | "zstd" | "deflate" | "compress" | "x-compress" | "dcb"
            | "dcz" => return Err(Outcome::ContentDecode),
            _ => {}
        }
    }
    Ok(coding)
}

/// The declared length on the wire in bytes, if there is one.
pub(crate) fn declared_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// A body as far as it was wanted.
#[derive(Debug)]
pub(crate) struct ReadBody {
    /// The decoded bytes.
    pub(crate) bytes: Bytes,
    /// Whether there were more than the limit.
    pub(crate) was_cut: bool,
}

/// Reads a body to its end, to its limit, or to the deadline.
pub(crate) async fn read(
    mut incoming: Incoming,
    coding: Coding,
    max_bytes: usize,
    at_limit: AtLimit,
    clock: &Clock,
) -> Result<ReadBody, Stop> {
    let mut decoder = Decoder::new(coding, max_bytes);
    while let Some(frame) = clock.until_deadline(incoming.frame()).await? {
        let frame = frame.map_err(|error| of_body_error(&error))?;
        let Ok(piece) = frame.into_data() else { continue };
        match decoder.push(&piece) {
            Ok(()) => {}
            Err(Outcome::BodyTooLarge) if at_limit == AtLimit::Cut => {
                return Ok(ReadBody { bytes: decoder.bytes_so_far(), was_cut: true });
            }
            Err(outcome) => return Err(outcome.into()),
        }
    }
    Ok(ReadBody { bytes: decoder.finish()?, was_cut: false })
}

/// Reads and drops a body of at most `max_bytes`, so that its connection can carry the next
/// request. Returns whether it was read to its end, which does not change the outcome of the fetch.
pub(crate) async fn drain(mut incoming: Incoming, max_bytes: usize) -> bool {
    let mut seen = 0_usize;
    while let Some(frame) = incoming.frame().await {
        let Ok(frame) = frame else { return false };
        seen = seen.saturating_add(frame.data_ref().map_or(0, Bytes::len));
        if seen > max_bytes {
            return false;
        }
    }
    true
}

fn of_body_error(error: &hyper::Error) -> Stop {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            if let Some(trouble) = Trouble::of_io(error) {
                return trouble.into();
            }
            if error.kind() == io::ErrorKind::UnexpectedEof {
                return Outcome::BodyTruncated.into();
            }
            // Malformed chunks or trailers.
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) {
                return Outcome::H1Parse.into();
            }
        }
        source = cause.source();
    }
    if error.is_incomplete_message() {
        return Outcome::BodyTruncated.into();
    }
    Outcome::BodyReset.into()
}

enum Decoder {
    Identity(Bounded),
    Coded { unpacker: Box<dyn Unpack + Send>, wire_left: usize },
}

impl Decoder {
    fn new(coding: Coding, max_bytes: usize) -> Self {
        let bounded = Bounded { bytes: Vec::new(), max_bytes, is_over: false };
        let unpacker: Box<dyn Unpack + Send> = match coding {
            Coding::Identity => return Self::Identity(bounded),
            Coding::Gzip => Box::new(GzDecoder::new(bounded)),
            Coding::Brotli => {
                let mut decoder = BrotliDecoder::new(bounded, BROTLI_BUFFER_BYTES);
                // Windows of up to a gigabyte, which no browser accepts (RFC 7932 knows none).
                decoder.set_parameter(BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
                Box::new(decoder)
            }
        };
        Self::Coded { unpacker, wire_left: max_bytes }
    }

    fn push(&mut self, piece: &[u8]) -> Result<(), Outcome> {
        match self {
            Self::Identity(bounded) => {
                bounded.write_all(piece).map_err(|_over| Outcome::BodyTooLarge)
            }
            Self::Coded { unpacker, wire_left } => {
                let Some(left) = wire_left.checked_sub(piece.len()) else {
                    // What is within the limit is for a body that is cut; the outcome is known.
                    let _ = unpacker.take(piece.get(..*wire_left).unwrap_or_default());
                    return Err(Outcome::BodyTooLarge);
                };
                *wire_left = left;
                unpacker.take(piece).map_err(|_| of_unpacking(unpacker.unpacked()))
            }
        }
    }

    fn finish(self) -> Result<Bytes, Outcome> {
        if let Self::Coded { mut unpacker, wire_left } = self {
            // A body without bytes is empty, whatever coding is declared.
            if wire_left == unpacker.unpacked().max_bytes {
                return Ok(Bytes::new());
            }
            unpacker.end().map_err(|_| of_unpacking(unpacker.unpacked()))?;
            return Ok(std::mem::take(&mut unpacker.unpacked().bytes).into());
        }
        Ok(self.bytes_so_far())
    }

    fn bytes_so_far(self) -> Bytes {
        match self {
            Self::Identity(bounded) => bounded.bytes.into(),
            Self::Coded { mut unpacker, .. } => {
                std::mem::take(&mut unpacker.unpacked().bytes).into()
            }
        }
    }
}

fn of_unpacking(unpacked: &Bounded) -> Outcome {
    if unpacked.is_over { Outcome::BodyTooLarge } else { Outcome::ContentDecode }
}

/// A decoder of a content coding, fed piece by piece.
trait Unpack {
    fn take(&mut self, piece: &[u8]) -> io::Result<()>;
    fn end(&mut self) -> io::Result<()>;
    fn unpacked(&mut self) -> &mut Bounded;
}

impl Unpack for GzDecoder<Bounded> {
    fn take(&mut self, mut piece: &[u8]) -> io::Result<()> {
        while !piece.is_empty() {
            match self.write(piece)? {
                // The member has ended; browsers ignore what follows it.
                0 => return Ok(()),
                taken => piece = piece.get(taken..).unwrap_or_default(),
            }
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.try_finish()
    }

    fn unpacked(&mut self) -> &mut Bounded {
        self.get_mut()
    }
}

impl Unpack for BrotliDecoder<Bounded> {
    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.write_all(piece)
    }

    fn end(&mut self) -> io::Result<()> {
        self.close()
    }

    fn unpacked(&mut self) -> &mut Bounded {
        self.get_mut()
    }
}

struct Bounded {
    bytes: Vec<u8>,
    max_bytes: usize,
    is_over: bool,
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.max_bytes.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(piece.get(..room).unwrap_or(piece));
        if piece.len() > room {
            self.is_over = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn decode(coding: Coding, wire: &[u8], step: usize, max: usize) -> Result<Bytes, Outcome> {
        let mut decoder = Decoder::new(coding, max);
        for piece in wire.chunks(step.max(1)) {
            decoder.push(piece)?;
        }
        decoder.finish()
    }

    #[test]
    fn a_bomb_ends_at_the_limit() {
        let bomb = gzip(&vec![0; 50_000_000]);
        assert!(bomb.len() < 100_000);
        assert_eq!(decode(Coding::Gzip, &bomb, 1_000, 524_288), Err(Outcome::BodyTooLarge));
        let fits = gzip(&vec![7; 524_288]);
        assert_eq!(decode(Coding::Gzip, &fits, 99, 524_288).map(|b| b.len()), Ok(524_288));
    }

    #[test]
    fn a_truncated_or_broken_gzip_is_no_body_and_trailing_bytes_are_ignored() {
        let good = gzip(b"an icon");
        let cut = &good[..good.len() - 9];
        assert_eq!(decode(Coding::Gzip, cut, 4, 100), Err(Outcome::ContentDecode));
        assert_eq!(decode(Coding::Gzip, b"not gzip at all", 4, 100), Err(Outcome::ContentDecode));
        let trailing = [good.as_slice(), b"rubbish"].concat();
        assert_eq!(decode(Coding::Gzip, &trailing, 3, 100).as_deref(), Ok(&b"an icon"[..]));
        assert_eq!(decode(Coding::Gzip, b"", 3, 100).as_deref(), Ok(&b""[..]));
    }

    #[test]
    fn brotli_is_decoded_to_its_end_and_within_the_limit() {
        // "an icon" by the reference encoder, quality 5.
        let wire = b"\x0b\x03\x80an icon\x03";
        for step in [1, 3, 100] {
            let decoded = decode(Coding::Brotli, wire, step, 100);
            assert_eq!(decoded.as_deref(), Ok(&b"an icon"[..]), "{step}");
        }
        let cut = &wire[..wire.len() - 3];
        assert_eq!(decode(Coding::Brotli, cut, 4, 100), Err(Outcome::ContentDecode));
        assert_eq!(decode(Coding::Brotli, wire, 4, 6), Err(Outcome::BodyTooLarge));
        assert_eq!(decode(Coding::Brotli, b"", 4, 6).as_deref(), Ok(&b""[..]));
        assert_eq!(decode(Coding::Brotli, b"no brotli at all", 4, 99), Err(Outcome::ContentDecode));
    }

    #[test]
    fn brotli_with_a_large_window_is_refused_as_browsers_do() {
        // The stream above with the header of a large window: 8 bits that RFC 7932 leaves unused,
        // 6 bits of window size. What follows stood after the 4 bits of the usual header.
        let rest = u64::from_le_bytes([0x0b, 0x03, 0x80, 0, 0, 0, 0, 0]) >> 4;
        let header = (0x11 | 22 << 8 | rest << 14).to_le_bytes();
        let wire = [&header[..5], b"an icon\x03"].concat();
        let mut lenient = BrotliDecoder::new(Vec::new(), BROTLI_BUFFER_BYTES);
        lenient.write_all(&wire).expect("a stream that the library reads");
        lenient.close().expect("its end");
        assert_eq!(lenient.get_ref(), b"an icon");
        assert_eq!(decode(Coding::Brotli, &wire, 99, 99), Err(Outcome::ContentDecode));
    }

    #[test]
    fn one_accepted_coding_is_decoded_and_unknown_names_are_ignored() {
        let of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_ENCODING, HeaderValue::from_static(value));
            }
            coding(&headers)
        };
        assert_eq!(of(&[]), Ok(Coding::Identity));
        assert_eq!(of(&["GZip"]), Ok(Coding::Gzip));
        assert_eq!(of(&["identity, x-gzip"]), Ok(Coding::Gzip));
        assert_eq!(of(&["none"]), Ok(Coding::Identity));
        assert_eq!(of(&["gzip, gzip"]), Err(Outcome::ContentDecode));
        assert_eq!(of(&["br"]), Ok(Coding::Brotli));
        assert_eq!(of(&["gzip", "br"]), Err(Outcome::ContentDecode));
        assert_eq!(of(&["br, gzip"]), Err(Outcome::ContentDecode));
        assert_eq!(of(&["zstd"]), Err(Outcome::ContentDecode), "not accepted");
    }

    proptest! {
        #[test]
        fn any_wire_bytes_give_a_bounded_body_or_an_outcome(
            wire: Vec<u8>, step in 1_usize..64, max in 0_usize..256,
        ) {
            for coding in [Coding::Identity, Coding::Gzip, Coding::Brotli] {
                if let Ok(body) = decode(coding, &wire, step, max) {
                    prop_assert!(body.len() <= max);
                }
            }
        }
    }
}
