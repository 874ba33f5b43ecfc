//! Which bytes are asked for (RFC 9110, 14): all, one piece, or none that there are.

use std::ops::Range;

use axum::http::header::{self, HeaderMap};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// All bytes; also where the question is not understood or asks for several pieces.
    Whole,
    /// These.
    Piece(Range<u64>),
    /// None of the `length` bytes that there are.
    Nothing,
}

/// Reads `Range`, which counts only if `If-Range` names the version at hand.
pub(super) fn asked_for(headers: &HeaderMap, etag: &str, length: u64) -> Asked {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if text(header::IF_RANGE).is_some_and(|version| version != etag) {
        return Asked::Whole;
    }
    let Some(range) = text(header::RANGE).and_then(|range| range.strip_prefix("bytes=")) else {
        return Asked::Whole;
    };
    let Some((first, last)) = range.trim().split_once('-') else { return Asked::Whole };
    let (first, last) = (first.parse::<u64>().ok(), last.parse::<u64>().ok());
    let piece = match (first, last) {
        (Some(first), Some(last)) if last < first => return Asked::Whole,
        (Some(first), Some(last)) => first..last.saturating_add(1).min(length),
        (Some(first), None) if range.ends_with('-') => first..length,
        (None, Some(suffix)) if range.starts_with('-') => length.saturating_sub(suffix)..length,
        _ => return Asked::Whole,
    };
    if piece.start < piece.end { Asked::Piece(piece) } else { Asked::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_is_given_and_nothing_beyond_the_end() {
        let asked = |range: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, range.parse().unwrap());
            asked_for(&headers, "\"x\"", 100)
        };
        assert_eq!(asked("bytes=0-9"), Asked::Piece(0..10));
        assert_eq!(asked("bytes=90-"), Asked::Piece(90..100));
        assert_eq!(asked("bytes=-7"), Asked::Piece(93..100));
        assert_eq!(asked("bytes=-700"), Asked::Piece(0..100));
        assert_eq!(asked("bytes=50-18446744073709551615"), Asked::Piece(50..100));
        assert_eq!(asked("bytes=100-"), Asked::Nothing);
        assert_eq!(asked("bytes=-0"), Asked::Nothing);
        for odd in ["bytes=9-0", "bytes=0-1,5-6", "bytes=x-", "lines=0-1", "bytes=-", "bytes=5"] {
            assert_eq!(asked(odd), Asked::Whole, "{odd}");
        }
    }

    #[test]
    fn a_piece_of_another_version_is_not_given() {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, "bytes=0-9".parse().unwrap());
        headers.insert(header::IF_RANGE, "\"old\"".parse().unwrap());
        assert_eq!(asked_for(&headers, "\"new\"", 100), Asked::Whole);
        assert_eq!(asked_for(&headers, "\"old\"", 100), Asked::Piece(0..10));
    }
}
