//! Parses the byte range that a request is for (RFC 9110, 14).

use std::ops::Range;

use axum::http::header::{self, HeaderMap};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestedRange {
    /// The whole file; also for a range that cannot be parsed, and for several ranges.
    Whole,
    /// This part of the file.
    Piece(Range<u64>),
    /// No byte of the file.
    Nothing,
}

/// Parses `Range`, which is ignored unless `If-Range` is absent or names the current version.
pub(super) fn requested_range(headers: &HeaderMap, etag: &str, length: u64) -> RequestedRange {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if text(header::IF_RANGE).is_some_and(|version| version != etag) {
        return RequestedRange::Whole;
    }
    let Some(range) = text(header::RANGE).and_then(|range| range.strip_prefix("bytes=")) else {
        return RequestedRange::Whole;
    };
    let Some((first, last)) = range.trim().split_once('-') else { return RequestedRange::Whole };
    let (first, last) = (first.parse::<u64>().ok(), last.parse::<u64>().ok());
    let piece = match (first, last) {
        (Some(first), Some(last)) if last < first => return RequestedRange::Whole,
        (Some(first), Some(last)) => first..last.saturating_add(1).min(length),
        (Some(first), None) if range.ends_with('-') => first..length,
        (None, Some(suffix)) if range.starts_with('-') => length.saturating_sub(suffix)..length,
        _ => return RequestedRange::Whole,
    };
    if piece.start < piece.end { RequestedRange::Piece(piece) } else { RequestedRange::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_is_given_and_nothing_beyond_the_end() {
        let asked = |range: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, range.parse().unwrap());
            requested_range(&headers, "\"x\"", 100)
        };
        assert_eq!(asked("bytes=0-9"), RequestedRange::Piece(0..10));
        assert_eq!(asked("bytes=90-"), RequestedRange::Piece(90..100));
        assert_eq!(asked("bytes=-7"), RequestedRange::Piece(93..100));
        assert_eq!(asked("bytes=-700"), RequestedRange::Piece(0..100));
        assert_eq!(asked("bytes=50-18446744073709551615"), RequestedRange::Piece(50..100));
        assert_eq!(asked("bytes=100-"), RequestedRange::Nothing);
        assert_eq!(asked("bytes=-0"), RequestedRange::Nothing);
        for odd in ["bytes=9-0", "bytes=0-1,5-6", "bytes=x-", "lines=0-1", "bytes=-", "bytes=5"] {
            assert_eq!(asked(odd), RequestedRange::Whole, "{odd}");
        }
    }

    #[test]
    fn a_piece_of_another_version_is_not_given() {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, "bytes=0-9".parse().unwrap());
        headers.insert(header::IF_RANGE, "\"old\"".parse().unwrap());
        assert_eq!(requested_range(&headers, "\"new\"", 100), RequestedRange::Whole);
        assert_eq!(requested_range(&headers, "\"old\"", 100), RequestedRange::Piece(0..10));
    }
}
