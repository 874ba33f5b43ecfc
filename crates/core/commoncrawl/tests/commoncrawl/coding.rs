//! Content codings as servers send them: complete, truncated, broken, and bombs.

use std::io::Write;

use everytab_commoncrawl::coding::{Coding, Decoder, Extent, MAX_GZIP_MEMBERS};
use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use proptest::prelude::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn raw(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn noise(length: u32) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'a' + (state >> 24) as u8 % 26
    };
    (0..length).map(|_| next()).collect()
}

fn decode(coding: Coding, wire: &[u8], step: usize, max_bytes: usize) -> (Vec<u8>, Extent) {
    let mut decoder = Decoder::new(coding, max_bytes);
    let mut bytes = Vec::new();
    for piece in wire.chunks(step) {
        decoder.push(piece);
        bytes.extend(decoder.take());
    }
    let extent = decoder.finish();
    bytes.extend(decoder.take());
    (bytes, extent)
}

#[track_caller]
fn assert_decodes(coding: Coding, wire: &[u8], expected: &[u8], extent: Extent) {
    for step in [1, 7, 4_000, usize::MAX] {
        let (bytes, found) = decode(coding, wire, step, 1 << 20);
        assert!(bytes == expected, "{coding:?} in {step}: {} bytes", bytes.len());
        assert_eq!(found, extent, "{coding:?} in {step}");
    }
}

#[test]
fn gzip_is_complete_after_its_data_even_with_a_wrong_trailer() {
    for page in [noise(60_000), b"<title>a page</title>".to_vec(), Vec::new()] {
        let whole = gzip(&page);
        let data = whole.len() - 8;
        let mut bad_sum = whole.clone();
        bad_sum[data] ^= 1;
        let mut bad_length = whole.clone();
        bad_length[data + 4] ^= 1;
        for wire in [&whole, &bad_sum, &bad_length] {
            assert_decodes(Coding::Gzip, wire, &page, Extent::Whole);
            let followed = [wire.as_slice(), b"rubbish"].concat();
            assert_decodes(Coding::Gzip, &followed, &page, Extent::Whole);
        }
        for trailer in 0..8 {
            assert_decodes(Coding::Gzip, &whole[..data + trailer], &page, Extent::Whole);
        }
    }
}

#[test]
fn a_gzip_header_may_have_any_fields() {
    let page = noise(3_000);
    let whole = gzip(&page);
    let of = |flags: u8, fields: &[u8]| {
        [b"\x1f\x8b\x08", &[flags][..], b"\0\0\0\0\0\x03", fields, &whole[10..]].concat()
    };
    for (flags, fields) in [
        (0x01, &b""[..]),
        (0x02, b"no"),
        (0x04, b"\x03\0abc"),
        (0x04, b"\0\0"),
        (0x08, b"a name\0"),
        (0x10, b"a comment\0"),
        (0x10, b"\0"),
        (0x1f, b"\x03\0abcname\0comment\0no"),
        (0x20, b""),
        (0xe0, b""),
    ] {
        let wire = of(flags, fields);
        assert_decodes(Coding::Gzip, &wire, &page, Extent::Whole);
        let twice = [wire.as_slice(), &wire].concat();
        assert_decodes(Coding::Gzip, &twice, &[page.as_slice(), &page].concat(), Extent::Whole);
        assert_decodes(Coding::Gzip, &wire[..10 + fields.len()], b"", Extent::Short);
    }
    let long = [[b'x'; 70_000].as_slice(), b"\0"].concat();
    assert_decodes(Coding::Gzip, &of(0x08, &long), &page, Extent::Whole);
    let extra = [b"\xff\xff", [7; 65_535].as_slice()].concat();
    assert_decodes(Coding::Gzip, &of(0x04, &extra), &page, Extent::Whole);
    for (at, byte) in [(0, 0x1e), (1, 0x8c), (2, 7)] {
        let mut wire = whole.clone();
        wire[at] = byte;
        assert_decodes(Coding::Gzip, &wire, b"", Extent::Broken);
    }
}

#[test]
fn several_gzip_members_are_concatenated() {
    let pages = [noise(30_000), Vec::new(), b"end".to_vec()];
    let mut members: Vec<Vec<u8>> = pages.iter().map(|page| gzip(page)).collect();
    assert_decodes(Coding::Gzip, &members.concat(), &pages.concat(), Extent::Whole);
    let sum = members[0].len() - 8;
    members[0][sum] ^= 1;
    assert_decodes(Coding::Gzip, &members.concat(), &pages.concat(), Extent::Whole);
    let many = gzip(b"x").repeat(MAX_GZIP_MEMBERS + 1);
    let expected = vec![b'x'; MAX_GZIP_MEMBERS];
    assert_decodes(Coding::Gzip, &many, &expected, Extent::Broken);
}

#[test]
fn deflate_is_decoded_with_and_without_a_zlib_header() {
    for page in [noise(60_000), b"<title>a page</title>".to_vec(), Vec::new()] {
        let with_head = zlib(&page);
        let mut bad_sum = with_head.clone();
        *bad_sum.last_mut().unwrap() ^= 1;
        let without_sum = &with_head[..with_head.len() - 4];
        for wire in [&with_head, &bad_sum, without_sum, &raw(&page)] {
            assert_decodes(Coding::Deflate, wire, &page, Extent::Whole);
        }
    }
}

#[test]
fn truncated_and_broken_bodies_give_the_part_before_the_fault() {
    let page = noise(60_000);
    let zstd = zstd::encode_all(page.as_slice(), 0).unwrap();
    for (coding, wire) in [
        (Coding::Gzip, gzip(&page)),
        (Coding::Deflate, zlib(&page)),
        (Coding::Deflate, raw(&page)),
        (Coding::Zstd, zstd),
    ] {
        let half = wire.len() / 2;
        for step in [7, usize::MAX] {
            let (bytes, extent) = decode(coding, &wire[..half], step, 1 << 20);
            assert_eq!(extent, Extent::Short, "{coding:?}");
            assert!(page.starts_with(&bytes), "{coding:?}");
            // Zstandard returns only complete blocks, and this page fits into one.
            assert!(bytes.len() > 20_000 || coding == Coding::Zstd, "{coding:?}: {}", bytes.len());
        }
        // A stored block, then a block of an undefined type.
        let stored = [&[0, 3, 0, 0xfc, 0xff][..], b"abc", &[6]].concat();
        let broken = match coding {
            Coding::Gzip => [&wire[..10], &stored].concat(),
            Coding::Deflate if wire[0] == 0x78 => [&wire[..2], &stored].concat(),
            Coding::Deflate => stored,
            _ => continue,
        };
        assert_decodes(coding, &broken, b"abc", Extent::Broken);
    }
}

#[test]
fn bytes_in_no_coding_decode_to_nothing() {
    for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
        assert_decodes(coding, b"<!doctype html><title>x</title>", b"", Extent::Broken);
        assert_decodes(coding, b"", b"", Extent::Short);
    }
}

#[test]
fn brotli_is_decoded_to_its_end() {
    // "an icon" compressed by the reference encoder with quality 5.
    let wire = b"\x0b\x03\x80an icon\x03";
    assert_decodes(Coding::Brotli, wire, b"an icon", Extent::Whole);
    let followed = [&wire[..], b"rubbish"].concat();
    assert_decodes(Coding::Brotli, &followed, b"an icon", Extent::Whole);
    assert_decodes(Coding::Brotli, &wire[..wire.len() - 3], b"an ic", Extent::Short);
}

#[test]
fn brotli_with_a_large_window_is_rejected_as_in_browsers() {
    // The same stream with a header for a large window: 8 bits that RFC 7932 does not define, then
    // 6 bits for the window size. `rest` follows the usual header of 4 bits.
    let rest = u64::from_le_bytes([0x0b, 0x03, 0x80, 0, 0, 0, 0, 0]) >> 4;
    let header = (0x11 | 22 << 8 | rest << 14).to_le_bytes();
    let wire = [&header[..5], b"an icon\x03"].concat();
    let mut lenient = brotli_decompressor::DecompressorWriter::new(Vec::new(), 4_096);
    lenient.write_all(&wire).expect("a stream that the library reads");
    lenient.close().expect("its end");
    assert_eq!(lenient.get_ref(), b"an icon");
    assert_decodes(Coding::Brotli, &wire, b"", Extent::Broken);
}

#[test]
fn a_bomb_is_cut_at_the_limit() {
    let zeros = vec![0; 8 << 20];
    for (coding, bomb) in [
        (Coding::Gzip, gzip(&zeros)),
        (Coding::Deflate, zlib(&zeros)),
        (Coding::Zstd, zstd::encode_all(zeros.as_slice(), 0).unwrap()),
    ] {
        assert!(bomb.len() < 100_000);
        let max = 524_288;
        for step in [1_000, usize::MAX] {
            let (bytes, extent) = decode(coding, &bomb, step, max);
            assert_eq!((bytes.len(), extent), (max, Extent::OverLimit), "{coding:?}");
        }
    }
    let fits = gzip(&vec![7; 524_288]);
    let (bytes, extent) = decode(Coding::Gzip, &fits, 99, 524_288);
    assert_eq!((bytes.len(), extent), (524_288, Extent::Whole));
}

#[test]
fn a_coding_without_magic_number_is_proven_by_what_decodes() {
    let page = noise(3_000);
    for (coding, wire, is_sure) in
        [(Coding::Gzip, gzip(&page), true), (Coding::Deflate, raw(&page), false)]
    {
        let mut decoder = Decoder::new(coding, 10_000);
        assert!(!decoder.is_proven());
        decoder.push(&wire[..400]);
        decoder.finish();
        assert_eq!(decoder.is_proven(), is_sure, "{coding:?}");
        let mut decoder = Decoder::new(coding, 10_000);
        decoder.push(&wire);
        decoder.finish();
        decoder.take();
        assert!(decoder.is_proven(), "{coding:?}");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_stay_within_the_limit_whatever_the_piece_size(
        wire: Vec<u8>, step in 1_usize..64, max in 0_usize..256, magic in 0_usize..4,
    ) {
        let head_of_gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\x03";
        let start = [&b""[..], head_of_gzip, b"\x78\x9c", b"\x28\xb5\x2f\xfd"][magic];
        let wire = [start, &wire].concat();
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
            let (bytes, extent) = decode(coding, &wire, step, max);
            prop_assert!(bytes.len() <= max);
            prop_assert_eq!(decode(coding, &wire, usize::MAX, max), (bytes, extent));
        }
    }
}
