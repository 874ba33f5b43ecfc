//! Reads bodies piece by piece, decodes each piece as it arrives, and enforces the size limit.
//!
//! The limit applies to the decoded bytes and also to the bytes on the wire, because some codings
//! can go on forever without content. If a body ends early, or its coding is corrupt, the decoded
//! part is kept. A body that cannot be decoded at all is kept as received. This module does not
//! depend on what the bytes mean.

use std::{error::Error, io};

use bytes::Bytes;
use everytab_commoncrawl::coding::{self, Coding, Decoder, Extent, MAX_LAYERS};
use http::{
    HeaderMap, HeaderValue,
    header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING},
};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::{
    health::clock::Clock, local_failure::LocalFailure, outcome::Outcome, page::exchange::CutReason,
    purpose::AtLimit,
};

/// Maximum number of codings with a window of several MiB in one body. A body with more is not
/// decoded.
const MAX_LARGE_WINDOWS: usize = 3;

/// First bytes of codings that we have no decoder for: LZW (`compress`), and Brotli and Zstandard
/// with a dictionary (`dcb`, `dcz`).
const UNSUPPORTED: [&[u8]; 3] = [b"\x1f\x9d", b"\xff\x44\x43\x42", b"\x5e\x2a\x4d\x18"];

/// A body's content codings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Codings {
    /// The codings, with the outermost first.
    Known(Vec<Coding>),
    /// The head names an unknown coding, so no coding is decoded, as in Chromium.
    Unknown,
    /// The head names more codings than we decode.
    TooMany,
}

impl Codings {
    /// Returns the codings that the head names.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let values = headers.get_all(CONTENT_ENCODING).into_iter().map(HeaderValue::as_bytes);
        let known: Option<Vec<Coding>> =
            coding::tokens(values).map(|token| Coding::parse(&token)).collect();
        let Some(mut codings) = known else { return Self::Unknown };
        codings.reverse();
        let has_large_window = |coding: &&Coding| matches!(coding, Coding::Brotli | Coding::Zstd);
        let large = codings.iter().filter(has_large_window).count();
        let is_supported = codings.len() <= MAX_LAYERS && large <= MAX_LARGE_WINDOWS;
        if is_supported { Self::Known(codings) } else { Self::TooMany }
    }

    /// Returns true if the body has no known coding, so its bytes are used as received.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Unknown) || matches!(self, Self::Known(codings) if codings.is_empty())
    }
}

/// Returns the declared number of bytes on the wire. `None` if the head does not declare one, or if
/// it is invalid.
pub(crate) fn declared_bytes(headers: &HeaderMap) -> Option<u64> {
    if headers.contains_key(TRANSFER_ENCODING) {
        return None;
    }
    let value = headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim();
    let length: i64 = value.parse().ok().filter(|_| !value.starts_with('+'))?;
    u64::try_from(length).ok()
}

/// The part of a body that arrived and was needed.
#[derive(Debug)]
pub(crate) struct ReadBody {
    /// The decoded bytes, or the bytes as received if they could not be decoded.
    pub(crate) bytes: Bytes,
    /// Whether the bytes still have the codings that the head names.
    pub(crate) is_coded: bool,
    /// Why the bytes are incomplete. `None` if they are complete.
    pub(crate) cut: Option<CutReason>,
    /// The outcome that ends the fetch. `None` if the body is usable.
    pub(crate) outcome: Option<Outcome>,
    /// Whether the body was read to its end on the wire.
    pub(crate) is_read: bool,
}

/// Reads a body to its end, to its limit, or to the deadline.
pub(crate) async fn read(
    mut incoming: Incoming,
    codings: Codings,
    max_bytes: usize,
    at_limit: AtLimit,
    clock: &Clock,
) -> Result<ReadBody, LocalFailure> {
    let mut gathered = Gathered::new(codings, max_bytes);
    let stopped = loop {
        match clock.until_deadline(incoming.frame()).await {
            Err(late) => break Some((late, CutReason::Time)),
            Ok(None) => break None,
            Ok(Some(Err(error))) => break Some((of_body_error(&error)?, CutReason::Disconnect)),
            Ok(Some(Ok(frame))) => {
                let is_within = frame.into_data().map_or(true, |piece| gathered.push(&piece));
                if !is_within {
                    break Some((Outcome::BodyTooLarge, CutReason::Length));
                }
            }
        }
    };
    Ok(gathered.end(stopped, at_limit))
}

/// Reads and drops a body of up to `max_bytes`, so that its connection can be reused. Returns
/// whether the body was read to its end. This does not affect the fetch's outcome.
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

fn of_body_error(error: &hyper::Error) -> Result<Outcome, LocalFailure> {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            if let Some(failure) = LocalFailure::of_io(error) {
                return Err(failure);
            }
            if error.kind() == io::ErrorKind::UnexpectedEof {
                return Ok(Outcome::BodyTruncated);
            }
            // The chunks or trailers are malformed.
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) {
                return Ok(Outcome::H1Parse);
            }
        }
        source = cause.source();
    }
    Ok(if error.is_incomplete_message() { Outcome::BodyTruncated } else { Outcome::BodyReset })
}

/// The part of a body that was read.
struct Gathered {
    /// One decoder per coding, with the outermost first. `None` if there are too many codings.
    decoders: Option<Vec<Decoder>>,
    /// Whether the head names an unknown coding.
    has_unknown: bool,
    /// The bytes as received. They are kept until it is certain that they have the declared
    /// codings.
    wire: Vec<u8>,
    decoded: Vec<u8>,
    /// Maximum number of further bytes to receive.
    wire_left: usize,
    is_empty: bool,
}

impl Gathered {
    fn new(codings: Codings, max_bytes: usize) -> Self {
        let decoder = |coding| Decoder::new(coding, max_bytes);
        Self {
            has_unknown: codings == Codings::Unknown,
            decoders: match codings {
                Codings::Known(codings) => Some(codings.into_iter().map(decoder).collect()),
                Codings::Unknown => Some(Vec::new()),
                Codings::TooMany => None,
            },
            wire: Vec::new(),
            decoded: Vec::new(),
            wire_left: max_bytes,
            is_empty: true,
        }
    }

    /// Adds a piece. Returns whether the body is still within the limits.
    fn push(&mut self, piece: &[u8]) -> bool {
        let taken = piece.get(..self.wire_left).unwrap_or(piece);
        self.wire_left -= taken.len();
        self.is_empty &= taken.is_empty();
        match self.decoders.as_deref_mut().map(<[Decoder]>::split_first_mut) {
            None => self.wire.extend_from_slice(taken),
            Some(None) => self.decoded.extend_from_slice(taken),
            Some(Some((outermost, inner))) => {
                if inner.last_mut().unwrap_or(outermost).is_proven() {
                    self.wire = Vec::new();
                } else {
                    self.wire.extend_from_slice(taken);
                }
                outermost.push(taken);
                self.decoded.extend(decode(inner, outermost.take()));
            }
        }
        taken.len() == piece.len() && !self.is_over_limit()
    }

    fn is_over_limit(&self) -> bool {
        self.decoders.iter().flatten().any(Decoder::is_over_limit)
    }

    /// Decodes the remaining bytes. Returns whether the body could be decoded, and how far.
    fn finish(&mut self) -> (bool, Extent) {
        let Some(decoders) = self.decoders.as_deref_mut() else {
            return (self.is_empty, Extent::Whole);
        };
        if self.has_unknown && UNSUPPORTED.iter().any(|first| self.decoded.starts_with(first)) {
            self.wire = std::mem::take(&mut self.decoded);
            return (false, Extent::Whole);
        }
        let mut found = (true, Extent::Whole);
        for index in 0..decoders.len() {
            let (_, rest) = decoders.split_at_mut(index);
            let Some((decoder, inner)) = rest.split_first_mut() else { continue };
            let extent = decoder.finish();
            self.decoded.extend(decode(inner, decoder.take()));
            found = match extent {
                _ if self.is_empty => (true, Extent::Whole),
                Extent::Whole => (true, extent),
                Extent::Short | Extent::OverLimit => (!self.decoded.is_empty(), extent),
                Extent::Broken => (decoder.is_proven(), extent),
            };
        }
        found
    }

    /// Returns the body after its last piece. `stopped` is the reason if reading stopped before the
    /// body's end.
    fn end(mut self, stopped: Option<(Outcome, CutReason)>, at_limit: AtLimit) -> ReadBody {
        let (is_decoded, extent) = self.finish();
        let too_large = (Outcome::BodyTooLarge, CutReason::Length);
        let stopped = if self.is_over_limit() { Some(too_large) } else { stopped };
        let outcome = match stopped {
            Some((Outcome::BodyTooLarge, _)) if at_limit == AtLimit::Cut => None,
            other => other.map(|(outcome, _)| outcome),
        };
        let ends_early = is_decoded && extent != Extent::Whole;
        let cut = stopped.map(|(_, cut)| cut);
        let bytes = match outcome {
            Some(Outcome::BodyTooLarge) => Vec::new(),
            _ if is_decoded => self.decoded,
            _ => self.wire,
        };
        ReadBody {
            bytes: bytes.into(),
            is_coded: !is_decoded,
            cut: cut.or(ends_early.then_some(CutReason::Disconnect)),
            outcome: outcome.or((!is_decoded).then_some(Outcome::ContentDecode)),
            is_read: stopped.is_none(),
        }
    }
}

/// Decodes bytes with each decoder in turn.
fn decode(decoders: &mut [Decoder], bytes: Vec<u8>) -> Vec<u8> {
    decoders.iter_mut().fold(bytes, |bytes, decoder| {
        decoder.push(&bytes);
        decoder.take()
    })
}
