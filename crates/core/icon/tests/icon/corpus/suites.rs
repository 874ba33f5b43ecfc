//! Tests PngSuite and bmpsuite in the corpus. A PNG must decode as in Pillow. A bitmap must look as
//! in the suite's pictures, which show how browsers draw it.

use std::{collections::BTreeMap, path::Path};

use everytab_icon::{IconError, Pixels, decode::decode};

use super::{corpus, expected, rgba_sha256};

/// Returns a suite's files by their name in the suite (`g/pal1.bmp`), each with its name in the
/// corpus and its content.
#[allow(clippy::disallowed_methods, reason = "tests read the corpus; the crate reads nothing")]
fn suite(folder: &Path, mark: &str) -> BTreeMap<String, (String, Vec<u8>)> {
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut files = BTreeMap::new();
    for line in manifest.lines() {
        let [path, _, _, source, ..] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        if let Some((_, name)) = source.split_once(mark) {
            let bytes = std::fs::read(folder.join(path)).unwrap();
            files.insert(name.to_owned(), (path.to_owned(), bytes));
        }
    }
    files
}

fn pixels(bytes: &[u8]) -> Pixels {
    decode(bytes).unwrap().1
}

#[test]
fn each_valid_pngsuite_file_decodes_correctly() {
    let Some(folder) = corpus() else { return };
    let suite = suite(&folder, "/pngsuite-");
    let expected = expected(&folder);
    let mut grey_16 = Vec::new();
    for (name, (path, bytes)) in &suite {
        let pillow = &expected[path]["pillow"];
        let ours = rgba_sha256(&pixels(bytes));
        match pillow["mode"].as_str() {
            // Pillow clips 16-bit grey, so we compare these files with each other below.
            Some("I;16") => grey_16.push((name, ours)),
            _ => assert_eq!(pillow["rgba_sha256"], ours.as_str(), "{name}"),
        }
    }
    // These files contain the same picture: interlaced, in one data chunk, and in many data chunks.
    let same = ["basic-i/basi0g16.png", "chunkorder/oi1n0g16.png", "chunkorder/oi9n0g16.png"];
    let found: Vec<_> = grey_16.iter().filter(|(name, _)| same.contains(&name.as_str())).collect();
    assert!(found.iter().all(|(_, ours)| *ours == found[0].1), "{found:?}");
    assert_eq!((suite.len(), found.len()), (134, same.len()));
}

#[test]
fn each_kind_of_pngsuite_damage_is_rejected() {
    let Some(folder) = corpus() else { return };
    let suite = suite(&folder, "/pngsuite-");
    let (_, good) = &suite["basic-n/basn0g04.png"];
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    // Write a valid CRC, so that only the chunk's content is wrong.
    let header = |at: usize, byte: u8| {
        let mut bytes = with(at, byte);
        let sum = libdeflater::crc32(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&sum.to_be_bytes());
        bytes
    };
    let data = good.windows(4).position(|name| name == b"IDAT").unwrap();
    let end = data + good[data..].windows(4).position(|name| name == b"IEND").unwrap() - 4;
    let replaced = |from: &[u8], to: &[u8]| {
        let mut bytes = good.clone();
        let at = bytes.windows(from.len()).position(|part| part == from).unwrap();
        bytes.splice(at..at + from.len(), to.iter().copied());
        bytes
    };
    let damaged = [
        ("xs1: first byte of the signature", with(0, 0)),
        ("xs2: second byte of the signature", with(1, 0)),
        ("xs4: fourth byte of the signature", with(3, 0)),
        ("xs7: seventh byte of the signature", with(6, 0)),
        ("xcr: line feeds added", replaced(b"\x0d\x0a\x1a\x0a", b"\x0d\x0d\x0a\x1a\x0d\x0a")),
        ("xlf: line feeds only", replaced(b"\x0d\x0a\x1a\x0a", b"\x0a\x1a\x0a")),
        ("xc1: colour type 1", header(25, 1)),
        ("xc9: colour type 9", header(25, 9)),
        ("xd0: bit depth 0", header(24, 0)),
        ("xd3: bit depth 3", header(24, 3)),
        ("xd9: bit depth 99", header(24, 99)),
        ("xhd: the header's sum", with(29, 0)),
        ("xdt: no data", [&good[..data - 4], &good[end..]].concat()),
    ];
    assert!(decode(good).is_ok() && decode(&header(25, 0)).is_ok());
    // Browsers ignore a wrong data CRC (xcs), because all rows precede it.
    assert_eq!(decode(&with(end - 1, !good[end - 1])), decode(good));
    for (damage, bytes) in damaged {
        let refused = decode(&bytes).unwrap_err();
        let panicked = matches!(refused, IconError::DecoderPanicked { .. });
        assert!(!panicked, "{damage}: {refused}");
    }
}

/// Returns the maximum difference in a channel, on a black and on a white background. If `painted`
/// is true, only pixels that are visible in `shown` count.
fn max_difference(shown: &Pixels, other: &Pixels, painted: bool) -> Option<u8> {
    let same_sides = (shown.width(), shown.height()) == (other.width(), other.height());
    let over = |[red, green, blue, alpha]: [u8; 4], ground: u16| {
        let alpha = u16::from(alpha);
        [red, green, blue]
            .map(|channel| ((u16::from(channel) * alpha + ground * (255 - alpha)) / 255) as u8)
    };
    let differs = |(one, other): ([u8; 4], [u8; 4])| {
        [0, 255].into_iter().flat_map(move |ground| {
            let pairs = over(one, ground).into_iter().zip(over(other, ground));
            pairs.map(|(one, other)| one.abs_diff(other))
        })
    };
    let pairs = shown.iter().zip(other.iter()).filter(|(one, _)| !painted || one[3] > 0);
    same_sides.then(|| pairs.flat_map(differs).max().unwrap_or(0))
}

const REFUSED: [(&str, &str); 8] = [
    ("b/badbitcount.bmp", "unreadable header"),
    ("b/badwidth.bmp", "unreadable header"),
    ("b/reallybig.bmp", "2048x2048"),
    ("q/pal1huff.bmp", "unreadable header"),
    ("q/rgb24jpeg.bmp", "unreadable header"),
    ("q/rgb24png.bmp", "unreadable header"),
    ("q/rgb24rle24.bmp", "unreadable header"),
    ("x/ba-bm.bmp", "not a known image format"),
];
/// We show missing pixels as transparent, not as black.
const BROKEN_OFF: [&str; 1] = ["b/shortfile.bmp"];
/// The suite contains no picture for these files, or browsers differ because runs extend beyond the
/// picture (`badrle`) or do not cover it (`rlecut`, `rletrns`).
const UNJUDGED: [&str; 13] = [
    "b/badrle.bmp",
    "b/badrle4.bmp",
    "b/badrle4bis.bmp",
    "b/badrle4ter.bmp",
    "b/badrlebis.bmp",
    "b/badrleter.bmp",
    "q/pal2.bmp",
    "q/pal2color.bmp",
    "q/pal4rlecut.bmp",
    "q/pal4rletrns.bmp",
    "q/pal8rlecut.bmp",
    "q/pal8rletrns.bmp",
    "q/rgb24prof2.bmp",
];

#[test]
fn each_bmpsuite_file_looks_as_in_a_browser_or_is_rejected() {
    let Some(folder) = corpus() else { return };
    let suite = suite(&folder, "/bmpsuite/");
    let pictures: BTreeMap<&str, Pixels> = suite
        .iter()
        .filter_map(|(name, (_, bytes))| Some((name.strip_suffix(".png")?, pixels(bytes))))
        .collect();
    let (mut right, mut all) = (0, 0);
    for (name, (_, bytes)) in suite.iter().filter(|(name, _)| name.ends_with(".bmp")) {
        all += 1;
        if let Some((_, reason)) = REFUSED.iter().find(|(refused, _)| refused == name) {
            let refused = decode(bytes).unwrap_err().to_string();
            assert!(refused.contains(reason), "{name}: {refused}");
            continue;
        }
        let shown = pixels(bytes);
        if UNJUDGED.contains(&name.as_str()) {
            continue;
        }
        let own = pictures.get(name.strip_suffix(".bmp").unwrap());
        let candidates: Vec<&Pixels> =
            own.map_or_else(|| pictures.values().collect(), |own| vec![own]);
        let broken_off = BROKEN_OFF.contains(&name.as_str());
        let difference = candidates
            .into_iter()
            .filter_map(|picture| max_difference(&shown, picture, broken_off))
            .min();
        assert!(difference.is_some_and(|most| most <= 1), "{name}: {difference:?}");
        right += 1;
    }
    assert_eq!((right, all), (69, 90));
}
