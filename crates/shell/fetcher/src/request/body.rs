//! Reads bodies piece by piece, decodes each piece as it arrives, and enforces the size limit.
//!
//! The limit applies to the decoded bytes and to the bytes on the wire, because an endless coded
//! body may decode to nothing. If a body ends early, or its coding is corrupt, the decoded part is
//! kept.

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

/// Maximum number of codings with a window of several MiB in one body.
const MAX_LARGE_WINDOWS: usize = 3;

/// First bytes of codings without a decoder: LZW (`compress`), and Brotli and Zstandard with a
/// dictionary (`dcb`, `dcz`).
const UNSUPPORTED: [&[u8]; 3] = [b"\x1f\x9d", b"\xff\x44\x43\x42", b"\x5e\x2a\x4d\x18"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Codings {
    /// The outermost coding is first.
    Known(Vec<Coding>),
    /// The head names an unknown coding, so no coding is decoded, as in Chromium.
    Unknown,
    TooMany,
}

impl Codings {
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

    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Unknown) || matches!(self, Self::Known(codings) if codings.is_empty())
    }
}

/// Returns the declared number of bytes on the wire. `None` if it is missing or invalid, or if
/// `Transfer-Encoding` overrides it.
pub(crate) fn declared_bytes(headers: &HeaderMap) -> Option<u64> {
    if headers.contains_key(TRANSFER_ENCODING) {
        return None;
    }
    let value = headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim();
    let length: i64 = value.parse().ok().filter(|_| !value.starts_with('+'))?;
    u64::try_from(length).ok()
}

#[derive(Debug)]
pub(crate) struct ReadBody {
    pub(crate) bytes: Bytes,
    pub(crate) is_coded: bool,
    pub(crate) cut: Option<CutReason>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) is_read: bool,
}

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
/// whether the body was read to its end.
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
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) {
                return Ok(Outcome::H1Parse);
            }
        }
        source = cause.source();
    }
    Ok(if error.is_incomplete_message() { Outcome::BodyTruncated } else { Outcome::BodyReset })
}

struct Gathered {
    decoders: Option<Vec<Decoder>>,
    has_unknown: bool,
    wire: Vec<u8>,
    decoded: Vec<u8>,
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

    /// Returns whether the body could be decoded, and how far.
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

    /// `stopped` is the reason if reading stopped before the body's end.
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

fn decode(decoders: &mut [Decoder], bytes: Vec<u8>) -> Vec<u8> {
    decoders.iter_mut().fold(bytes, |bytes, decoder| {
        decoder.push(&bytes);
        decoder.take()
    })
}
