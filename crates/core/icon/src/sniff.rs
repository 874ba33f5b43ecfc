//! Detects an image's format from its content alone (WHATWG MIME Sniffing 6), because declared
//! types and file names are often wrong.
//!
//! An SVG is an XML document whose root element is `svg` in the SVG namespace. Other documents that
//! contain `<svg` are not icons, such as an HTML error page with an inline logo.

pub mod svg_root;

use crate::{error::IconError, format::Format};

/// Returns the image format of `bytes`. `None` if it is not known.
#[must_use]
pub fn sniff(bytes: &[u8]) -> Option<Format> {
    let binary = match bytes {
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => Some(Format::Png),
        [0xFF, 0xD8, 0xFF, ..] => Some(Format::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Format::Gif),
        [0, 0, 1, 0, ..] => Some(Format::Ico),
        [0, 0, 2, 0, ..] => Some(Format::Cur),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Format::Webp),
        // Plain text may also start with "BM", so check that a known header size follows.
        [b'B', b'M', ..] if matches!(bytes.get(14..18), Some([12..=128, 0, 0, 0])) => {
            Some(Format::Bmp)
        }
        _ if is_avif(bytes) => Some(Format::Avif),
        _ => None,
    };
    binary.or_else(|| svg_root::find(bytes).map(|_| Format::Svg))
}

/// Returns the image format of `bytes`.
///
/// # Errors
/// Returns `Empty` if there are no bytes, `Html` if they are an HTML page, and otherwise
/// `NotAnImage`.
pub fn identify(bytes: &[u8]) -> Result<Format, IconError> {
    match sniff(bytes) {
        Some(format) => Ok(format),
        None if bytes.is_empty() => Err(IconError::Empty),
        None if looks_like_html(bytes) => Err(IconError::Html),
        None => Err(IconError::NotAnImage),
    }
}

/// Returns true for an ISO base media file whose `ftyp` box lists an AVIF brand.
fn is_avif(bytes: &[u8]) -> bool {
    let Some((size, rest)) = bytes.split_first_chunk::<4>() else { return false };
    let Some(brands) = rest.strip_prefix(b"ftyp") else { return false };
    let box_length = (u32::from_be_bytes(*size) as usize).clamp(8, 256) - 8;
    let brands = &brands[..box_length.min(brands.len())];
    // The second group of four bytes is the minor version, which is a small number and never equals
    // a brand.
    brands.as_chunks::<4>().0.iter().any(|brand| matches!(brand, b"avif" | b"avis"))
}

/// Returns true if a browser would detect `bytes` as HTML (WHATWG MIME Sniffing 7.1), or if they
/// are an XHTML document.
#[must_use]
pub fn looks_like_html(bytes: &[u8]) -> bool {
    const TAGS: [&[u8]; 20] = [
        b"<!doctype html",
        b"<html",
        b"<head",
        b"<script",
        b"<iframe",
        b"<h1",
        b"<div",
        b"<font",
        b"<table",
        b"<a",
        b"<style",
        b"<title",
        b"<b",
        b"<body",
        b"<br",
        b"<p",
        b"<meta",
        b"<link",
        b"<center",
        b"<h2",
    ];
    let mut rest = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    loop {
        rest = rest.trim_ascii_start();
        if TAGS.iter().any(|tag| starts_with_tag(rest, tag)) {
            return true;
        }
        let end: &[u8] = match rest {
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            [b'<', b'?', ..] => b"?>",
            _ => return false,
        };
        match rest.windows(end.len()).position(|window| window == end) {
            Some(at) => rest = &rest[at + end.len()..],
            None => return rest.starts_with(b"<!--"),
        }
    }
}

fn starts_with_tag(bytes: &[u8], tag: &[u8]) -> bool {
    let Some((head, tail)) = bytes.split_at_checked(tag.len()) else { return false };
    let ends = matches!(tail.first(), None | Some(b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r'));
    ends && head.eq_ignore_ascii_case(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_magic_number_names_its_format() {
        let bmp = [b"BM".as_slice(), &[0; 12], &[40, 0, 0, 0]].concat();
        let cases: [(&[u8], Format); 9] = [
            (b"\x89PNG\r\n\x1a\n", Format::Png),
            (b"\xff\xd8\xff\xe0", Format::Jpeg),
            (b"GIF89a", Format::Gif),
            (b"\0\0\x01\0\x01\0", Format::Ico),
            (b"\0\0\x02\0\x01\0", Format::Cur),
            (&bmp, Format::Bmp),
            (b"RIFF\0\0\0\0WEBPVP8 ", Format::Webp),
            (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avif", Format::Avif),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", Format::Svg),
        ];
        for (bytes, format) in cases {
            assert_eq!(identify(bytes), Ok(format));
        }
    }

    #[test]
    fn soft_404s_and_other_bodies_give_the_right_error() {
        let html: [&[u8]; 6] = [
            b"<!DOCTYPE html><body><svg xmlns='http://www.w3.org/2000/svg'></svg>",
            b"\n\t <html><body><svg xmlns='http://www.w3.org/2000/svg'/>",
            b"\xEF\xBB\xBF<!-- gone --><HTML>",
            b"<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC \"x\"><html>",
            b"<h1>404</h1>",
            b"<br />",
        ];
        for bytes in html {
            assert_eq!(identify(bytes), Err(IconError::Html), "{}", bytes.escape_ascii());
        }
        assert_eq!(identify(b""), Err(IconError::Empty));
        let other: [&[u8]; 6] =
            [b"\x1f\x8b\x08", b"BMW cars", b"{}", b"\r\n\x89PNG\r\n\x1a\n", b"<blink>", b"<?xml "];
        for bytes in other {
            assert_eq!(identify(bytes), Err(IconError::NotAnImage), "{}", bytes.escape_ascii());
        }
    }
}
