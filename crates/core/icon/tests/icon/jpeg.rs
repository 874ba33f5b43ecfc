//! Compares JPEG decoding with djpeg 2.1.5 of libjpeg-turbo. `samples.txt` lists the digests for
//! complete files, `damaged.txt` for damaged files, and `smoothed.txt` for files with missing
//! coefficients.
//!
//! The vectors are a synthetic picture with 21x35 pixels, written by cjpeg 2.1.5. A vector's name
//! contains the kind of scans, the sampling factors and the restart interval in units. `make
//! jpeg-oracle` compares more files.

use std::path::PathBuf;

use everytab_icon::{IconError, Pixels, decode::decode};
use sha2::{Digest, Sha256};

const WIDTH: usize = 21;
const HEIGHT: usize = 35;

fn vector(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.jpg"))).unwrap()
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/jpeg"))
}

fn listed(name: &str) -> Vec<(String, String)> {
    let list = std::fs::read_to_string(folder().join(name)).unwrap();
    let lines = list.lines().map(|line| line.rsplit_once(' ').unwrap());
    lines.map(|(name, digest)| (name.to_owned(), digest.to_owned())).collect()
}

fn pixels(bytes: &[u8]) -> Pixels {
    decode(bytes).unwrap().1
}

fn digest(pixels: &Pixels) -> String {
    assert!(pixels.iter().all(|pixel| pixel[3] == 255));
    let rgb: Vec<u8> = pixels.iter().flat_map(|[red, green, blue, _]| [red, green, blue]).collect();
    hex::encode(Sha256::digest(rgb))[..16].to_owned()
}

fn position(bytes: &[u8], marker: u8) -> usize {
    bytes.windows(2).position(|pair| pair == [0xFF, marker]).unwrap()
}

fn before(bytes: &[u8], marker: u8, inserted: &[u8]) -> Vec<u8> {
    let at = position(bytes, marker);
    [&bytes[..at], inserted, &bytes[at..]].concat()
}

#[test]
fn samples_of_any_scans_and_sampling_equal_those_of_libjpeg() {
    let listed = listed("samples.txt");
    assert!(listed.len() >= 30);
    for (name, expected) in listed {
        assert_eq!(digest(&pixels(&vector(&name))), expected, "{name}");
    }
}

#[test]
fn missing_coefficients_are_estimated_as_in_libjpeg() {
    let listed = listed("smoothed.txt");
    assert_eq!(listed.len(), 3);
    for (name, expected) in listed {
        assert_eq!(digest(&pixels(&vector(&name))), expected, "{name}");
    }
}

#[test]
fn decoding_continues_at_restart_markers_as_libjpeg_does() {
    for (name, expected) in listed("damaged.txt") {
        let words: Vec<&str> = name.split(' ').collect();
        let whole = vector(words[0]);
        let (first, second) = (position(&whole, 0xD0), position(&whole, 0xD1));
        let interval = &whole[first + 2..second];
        let middle = match words[1] {
            "lacks" => [interval, &[]].concat(),
            "renames" => [interval, &[0xFF, 0xD0 + words[2].parse::<u8>().unwrap()]].concat(),
            "drops" => vec![0xFF, 0xD1],
            "zeroes" => [vec![0; interval.len()].as_slice(), &[0xFF, 0xD1]].concat(),
            _ => [interval, interval, &[0xFF, 0xD1]].concat(),
        };
        let damaged = [&whole[..first + 2], &middle, &whole[second + 2..]].concat();
        assert_eq!(digest(&pixels(&damaged)), expected, "{name}");
    }
}

#[test]
fn the_rows_after_a_damaged_interval_are_whole() {
    let whole = vector("one_2x1_1b");
    let (first, second) = (position(&whole, 0xD0), position(&whole, 0xD1));
    let cut = [&whole[..first + 2], &whole[second..]].concat();
    let (whole, cut) = (pixels(&whole), pixels(&cut));
    let row = |pixels: &Pixels, y: usize| pixels.rgba()[y * WIDTH * 4..][..WIDTH * 4].to_vec();
    let unlike: Vec<usize> = (0..HEIGHT).filter(|&y| row(&whole, y) != row(&cut, y)).collect();
    assert_eq!(unlike, (0..8).collect::<Vec<_>>());
}

#[test]
fn segments_that_browsers_skip_change_nothing() {
    let whole = vector("one_2x2_3b");
    let shown = pixels(&whole);
    let heads: [&[u8]; 9] = [
        b"\xff\xee\0\x02",
        b"\xff\xee\0\x07Adobe",
        b"\xff\xee\0\x0dAdobe\0\x64\0\0\0\0",
        b"\xff\xe5\0\0",
        b"\xff\xe5\0\x01",
        b"\xff\xfe\0\0",
        b"\xff\xfe\0\x04hi",
        b"\xff\xdc\0\x04\0\x07",
        b"\xff\xfe\0\x02ab\xff\xff\xff",
    ];
    for head in heads {
        for marker in [0xDB, 0xC0, 0xC4, 0xDA, 0xD9] {
            assert_eq!(pixels(&before(&whole, marker, head)), shown, "{head:x?} {marker:x}");
        }
    }
    assert_eq!(pixels(&before(&whole, 0xD9, b"\xff\xdc\0\x05\0\x23\0")), shown, "a longer one");
    for after in [&b"\xff\x02"[..], b"\xff\xd8", b"\xff\xdd\0\x05\0\0\0", b"\xff\xc4\0\x02junk"] {
        assert_eq!(pixels(&before(&whole, 0xD9, after)), shown, "after the only scan: {after:x?}");
    }
}

#[test]
fn an_adobe_segment_decides_the_colours_only_without_jfif() {
    let whole = vector("one_1x1");
    let adobe = |transform: u8| [&b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0"[..], &[transform]].concat();
    let shown = pixels(&whole);
    let as_rgb = pixels(&before(&whole, 0xDB, &adobe(0)));
    assert_ne!(as_rgb, shown);
    for transform in [1, 2, 255] {
        assert_eq!(pixels(&before(&whole, 0xDB, &adobe(transform))), shown);
    }
    let jfif = b"\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0";
    assert_eq!(pixels(&before(&whole, 0xDB, &[jfif.as_slice(), &adobe(0)].concat())), shown);
}

#[test]
fn components_may_have_equal_ids() {
    for name in ["one_2x2_3b", "one_1x1_2x2_2x1"] {
        let whole = vector(name);
        let (frame, scan) = (position(&whole, 0xC0), position(&whole, 0xDA));
        for names in [[1, 1, 1], [1, 2, 2], [7, 8, 7], [0, 0, 0]] {
            let mut renamed = whole.clone();
            for (index, name) in names.into_iter().enumerate() {
                renamed[frame + 10 + index * 3] = name;
                renamed[scan + 5 + index * 2] = name;
            }
            assert_eq!(pixels(&renamed), pixels(&whole), "{names:?}");
        }
        let mut unnamed = whole.clone();
        unnamed[scan + 5] = 9;
        assert!(decode(&unnamed).is_err());
    }
}

#[test]
fn faults_that_browsers_reject_are_named_errors() {
    let reason = |bytes: &[u8]| match decode(bytes) {
        Err(IconError::Corrupt { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let whole = vector("each_2x2");
    let with = |at: usize, bytes: &[u8]| {
        let mut file = whole.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let (frame, scan) = (position(&whole, 0xC0), position(&whole, 0xDA));
    let huffman = position(&whole, 0xC4);
    for length in [2, 3, 5, 6] {
        let interval = [&[0xFF, 0xDD, 0, length], &vec![0; usize::from(length) - 2][..]].concat();
        assert_eq!(reason(&before(&whole, 0xDA, &interval)), "bad restart interval");
    }
    assert_eq!(reason(&before(&whole, 0xDA, b"\xff\x02")), "unknown marker");
    assert_eq!(reason(&before(&whole, 0xDA, b"\xff\xd8")), "unknown marker");
    assert_eq!(reason(&before(&whole, 0xD9, b"\xff\x02")), "unknown marker");
    assert_eq!(reason(&with(huffman + 4, &[0x77])), "bad Huffman table");
    assert_eq!(reason(&with(scan + 4, &[0])), "bad scan header");
    let tables = position(&whole, 0xDB);
    let no_table = [&whole[..tables], &whole[tables + 69..]].concat();
    assert_eq!(reason(&no_table), "no quantisation table");
    for file in [
        with(frame + 1, &[0xC3]),
        with(frame + 4, &[12]),
        with(frame + 5, &[0, 0]),
        with(frame + 11, &[0x50]),
        with(frame + 9, &[2]),
    ] {
        assert_eq!(reason(&file), "unreadable header");
    }
    assert_eq!(reason(&with(frame + 11, &[0x32, 1, 2, 0x21])), "unsupported subsampling");
    let progressive = vector("prog_2x2");
    let mut bad = progressive.clone();
    let last = bad.windows(2).rposition(|pair| pair == [0xFF, 0xDA]).unwrap();
    bad[last + 8] = 64;
    assert_eq!(reason(&bad), "bad progression");
    // All the scans' data were read, so this fault is not treated as the file's end.
    assert_eq!(reason(&before(&progressive, 0xD9, b"\xff\x02")), "unknown marker");
}

fn shown_rows(cut: &[u8], whole: &Pixels, exact: bool) -> usize {
    let Ok((_, cut)) = decode(cut) else { return 0 };
    let row_bytes = WIDTH * 4;
    let rows = cut.rgba().chunks(row_bytes).zip(whole.rgba().chunks(row_bytes));
    let shown = rows.clone().take_while(|(cut, _)| cut[3] == 255).count();
    assert!(rows.clone().skip(shown).all(|(cut, _)| cut.iter().all(|&byte| byte == 0)));
    assert!(!exact || rows.take(shown).all(|(cut, whole)| cut == whole));
    shown
}

#[test]
fn received_unit_rows_are_shown() {
    for (name, expected) in [
        ("one_1x1", vec![0, 8, 16, 24, 32, 35]),
        ("one_2x1_1b", vec![0, 8, 16, 24, 32, 35]),
        // A unit row has 16 pixel rows, but the last two depend on the next unit row.
        ("one_1x2", vec![0, 14, 30, 35]),
        ("one_2x2_3b", vec![0, 14, 30, 35]),
        ("grey_2x2", vec![0, 16, 32, 35]),
        // If a sequential file has several scans, it is shown only if all are complete.
        ("each_2x2", vec![0, 35]),
        ("two_one_2x2", vec![0, 35]),
    ] {
        let file = vector(name);
        let whole = pixels(&file);
        let mut seen: Vec<usize> =
            (0..=file.len()).map(|cut| shown_rows(&file[..cut], &whole, true)).collect();
        assert!(seen.is_sorted(), "{name}");
        seen.dedup();
        assert_eq!(seen, expected, "{name}");
    }
}

#[test]
fn a_progressive_file_is_shown_from_its_second_scan_on_or_its_received_rows() {
    let file = vector("prog_2x2");
    let whole = pixels(&file);
    let scans: Vec<usize> =
        (0..file.len()).filter(|&at| file[at..].starts_with(b"\xff\xda")).collect();
    let rows = |cut: usize| shown_rows(&file[..cut], &whole, false);
    assert_eq!(rows(scans[0] + 20), 0);
    assert_eq!(rows(scans[1]), 14, "libjpeg is two unit rows ahead");
    for &scan in &scans[1..] {
        assert_eq!(rows(scan + 10), HEIGHT);
    }
    // A fault after missing data is treated as the file's end.
    let gap = [&file[..scans[2] + 11], b"\xff\x02"].concat();
    assert_eq!(shown_rows(&gap, &whole, false), HEIGHT);
}

#[test]
fn typical_codes_replace_missing_ones() {
    let film = vector("film");
    let whole = vector("film_codes");
    assert!(!film.windows(2).any(|pair| pair == [0xFF, 0xC4]));
    assert_eq!(pixels(&film), pixels(&whole));
}

#[test]
fn damage_anywhere_gives_a_picture_or_an_error() {
    for (name, _) in [listed("samples.txt"), listed("smoothed.txt")].concat() {
        let file = vector(&name);
        for at in 2..file.len() {
            for byte in [0xFF, file[at] ^ 0x10] {
                let mut damaged = file.clone();
                damaged[at] = byte;
                if let Err(error) = decode(&damaged) {
                    assert_ne!(error.kind(), "decoder_panicked", "{name} {at} {byte}");
                }
            }
        }
    }
}
