//! Tests files that end early or are damaged. We must show the same parts as Chromium
//! (docs/decisions/0018).

use everytab_icon::{Pixels, decode::decode};

fn colour(x: usize, y: usize) -> [u8; 4] {
    [(x * 16) as u8, (y * 16) as u8, (x * y) as u8, 255]
}

fn shown(file: &[u8]) -> Option<Pixels> {
    decode(file).map(|(_, pixels)| pixels).ok()
}

/// Returns how many rows are as expected, and how many are fully transparent.
fn rows(pixels: &Pixels, expected: impl Fn(usize, usize) -> [u8; 4]) -> (usize, usize) {
    let width = pixels.width() as usize;
    let pixel_rows: Vec<Vec<[u8; 4]>> =
        pixels.iter().collect::<Vec<_>>().chunks(width).map(<[_]>::to_vec).collect();
    let whole = |(y, row): (usize, &Vec<[u8; 4]>)| {
        row.iter().enumerate().all(|(x, pixel)| *pixel == expected(x, y))
    };
    let came = pixel_rows.iter().enumerate().filter(|row| whole(*row)).count();
    let absent = pixel_rows.iter().filter(|row| row.iter().all(|pixel| pixel[3] == 0)).count();
    (came, absent)
}

fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let named = [name, data].concat();
    let sum = libdeflater::crc32(&named);
    [&(data.len() as u32).to_be_bytes(), named.as_slice(), &sum.to_be_bytes()].concat()
}

fn header(interlaced: u8) -> Vec<u8> {
    let data = [0, 0, 0, 16, 0, 0, 0, 16, 8, 6, 0, 0, interlaced];
    [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", &data).as_slice()].concat()
}

fn stored(rows: &[u8]) -> Vec<u8> {
    let length = rows.len() as u16;
    let mut adler = (1u32, 0u32);
    for &byte in rows {
        adler.0 = (adler.0 + u32::from(byte)) % 65_521;
        adler.1 = (adler.1 + adler.0) % 65_521;
    }
    let mut stream = vec![0x78, 1, 1];
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    stream.extend(rows);
    stream.extend((adler.1 << 16 | adler.0).to_be_bytes());
    stream
}

/// `columns` and `lines` are the first index and the distance of the columns and rows to include.
fn filtered(columns: (usize, usize), lines: (usize, usize)) -> Vec<u8> {
    let lines = (lines.0..16).step_by(lines.1);
    lines
        .flat_map(|y| {
            let pixels = (columns.0..16).step_by(columns.1).flat_map(move |x| colour(x, y));
            std::iter::once(0).chain(pixels).collect::<Vec<_>>()
        })
        .collect()
}

const ROW_BYTES: usize = 1 + 16 * 4;
/// Signature, header chunk, length and name of the data chunk, zlib header and block header.
const BEFORE_ROWS: usize = 8 + 25 + 8 + 7;

fn png() -> Vec<u8> {
    let data = stored(&filtered((0, 1), (0, 1)));
    [header(0), chunk(b"IDAT", &data), chunk(b"IEND", &[])].concat()
}

#[test]
fn a_truncated_png_shows_complete_rows_and_leaves_others_transparent() {
    let file = png();
    for came in [1, 7, 15, 16] {
        for more in [0, 1, ROW_BYTES - 1] {
            let cut = &file[..BEFORE_ROWS + came * ROW_BYTES + if came < 16 { more } else { 0 }];
            let pixels = shown(cut).unwrap();
            assert_eq!(rows(&pixels, colour), (came, 16 - came), "{came} rows and {more} bytes");
        }
    }
    for length in [30, BEFORE_ROWS, BEFORE_ROWS + ROW_BYTES - 1] {
        assert_eq!(decode(&file[..length]).unwrap_err().kind(), "image_corrupt", "{length} bytes");
    }
}

#[test]
fn damage_after_the_rows_of_a_png_is_ignored() {
    let file = png();
    let whole = shown(&file);
    let with = |at: usize| {
        let mut file = file.clone();
        file[at] ^= 0xFF;
        shown(&file)
    };
    let end = file.len();
    assert_eq!(shown(&file[..end - 12]), whole, "without IEND");
    assert_eq!(with(end - 13), whole, "wrong CRC of the data");
    assert_eq!(with(end - 17), whole, "wrong Adler-32 of the rows");
    assert_eq!(with(29), None, "wrong CRC of the header");
    // At a row with an unknown filter, decoding stops.
    assert_eq!(rows(&with(BEFORE_ROWS + 8 * ROW_BYTES).unwrap(), colour), (8, 8));
}

#[test]
fn received_passes_of_an_interlaced_png_fill_the_gaps_of_missing_ones() {
    let passes = [
        ((0, 8), (0, 8)),
        ((4, 8), (0, 8)),
        ((0, 4), (4, 8)),
        ((2, 4), (0, 4)),
        ((0, 2), (2, 4)),
        ((1, 2), (0, 2)),
        ((0, 1), (1, 2)),
    ];
    let data: Vec<Vec<u8>> = passes.map(|(columns, lines)| filtered(columns, lines)).to_vec();
    let file = [header(1), chunk(b"IDAT", &stored(&data.concat()))].concat();
    assert_eq!(shown(&file), shown(&png()));
    let first = BEFORE_ROWS + data[0].len();
    let pixels = shown(&file[..first]).unwrap();
    assert_eq!(rows(&pixels, |x, y| colour(x / 8 * 8, y / 8 * 8)), (16, 0));
    let half_of_first = shown(&file[..BEFORE_ROWS + data[0].len() / 2]).unwrap();
    assert_eq!(rows(&half_of_first, |x, _| colour(x / 8 * 8, 0)), (8, 8));
    let six = shown(&file[..first + data[1..6].concat().len()]).unwrap();
    assert_eq!(rows(&six, |x, y| colour(x, y / 2 * 2)), (16, 0));
}

fn animation(frames: u32, sides: [u32; 2], offset: [u32; 2]) -> Vec<u8> {
    let rows = |colour: [u8; 4], [width, height]: [u32; 2]| {
        let row = [&[0], colour.repeat(width as usize).as_slice()].concat();
        stored(&row.repeat(height as usize))
    };
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
    let control = [words(&[0]), words(&sides), words(&offset), vec![0, 1, 0, 10, 0, 0]].concat();
    let frame = [words(&[1]), rows([0, 0, 255, 255], sides)].concat();
    [
        header(0),
        chunk(b"acTL", &words(&[frames, 0])),
        chunk(b"IDAT", &rows([255, 0, 0, 255], [16, 16])),
        chunk(b"fcTL", &control),
        chunk(b"fdAT", &frame),
        chunk(b"IEND", &[]),
    ]
    .concat()
}

#[test]
fn an_animated_png_gives_its_first_frame_not_a_separate_default_image() {
    let blue = |_, _| [0, 0, 255, 255];
    assert_eq!(rows(&shown(&animation(1, [16, 16], [0, 0])).unwrap(), blue), (16, 0));
    let small = shown(&animation(1, [8, 8], [4, 2])).unwrap();
    let inside = |x: usize, y: usize| {
        let visible = (4..12).contains(&x) && (2..10).contains(&y);
        if visible { [0, 0, 255, 255] } else { [0; 4] }
    };
    assert_eq!(rows(&small, inside).0, 16);
    assert_eq!(shown(&animation(1, [16, 16], [1, 0])), None, "outside the canvas");
    let red = |_, _| [255, 0, 0, 255];
    assert_eq!(rows(&shown(&animation(0, [16, 16], [0, 0])).unwrap(), red), (16, 0));
    let whole = animation(1, [16, 16], [0, 0]);
    let frame_at = whole.windows(4).position(|name| name == b"fdAT").unwrap();
    assert_eq!(shown(&whole[..frame_at]), None, "the frame is missing");
}

/// Creates a GIF whose codes always have 9 bits, because it contains enough clear codes.
fn gif(flags: u8, interlaced: bool, before: &[u8]) -> Vec<u8> {
    let mut file = b"GIF89a\x10\0\x10\0".to_vec();
    file.extend([flags, 0, 0]);
    if flags & 0x80 != 0 {
        file.extend((0..=255u8).flat_map(|index| [index, 255 - index, index / 2]));
    }
    file.extend(before);
    file.extend([0x2C, 0, 0, 0, 0, 16, 0, 16, 0, if interlaced { 0x40 } else { 0 }, 8]);
    let order = [(0, 8), (4, 8), (2, 4), (1, 2)];
    let lines: Vec<usize> = if interlaced {
        order.iter().flat_map(|&(first, step)| (first..16).step_by(step)).collect()
    } else {
        (0..16).collect()
    };
    let mut codes = vec![256];
    for (index, y) in lines.iter().enumerate() {
        codes.extend((0..16).map(|x| (y * 16 + x) as u32));
        if index % 8 == 7 {
            codes.push(256);
        }
    }
    codes.push(257);
    let bits: Vec<u8> =
        codes.iter().flat_map(|code| (0..9).map(move |bit| (code >> bit & 1) as u8)).collect();
    let bytes: Vec<u8> = bits
        .chunks(8)
        .map(|bits| bits.iter().enumerate().map(|(at, bit)| bit << at).sum())
        .collect();
    for block in bytes.chunks(255) {
        file.push(block.len() as u8);
        file.extend(block);
    }
    file.extend([0, 0x3B]);
    file
}

fn indexed(x: usize, y: usize) -> [u8; 4] {
    let index = (y * 16 + x) as u8;
    [index, 255 - index, index / 2, 255]
}

const CODES_AT: usize = 13 + 768 + 12;

#[test]
fn a_truncated_gif_shows_its_received_pixels() {
    let file = gif(0xF7, false, &[]);
    assert_eq!(rows(&shown(&file).unwrap(), indexed), (16, 0));
    assert_eq!(shown(&file[..file.len() - 1]), shown(&file), "without trailer");
    // This keeps the clear code and 40 pixels.
    let cut = shown(&file[..CODES_AT + (41 * 9usize).div_ceil(8)]).unwrap();
    assert_eq!(rows(&cut, indexed), (2, 13));
    let pixels: Vec<[u8; 4]> = cut.iter().collect();
    assert_eq!((pixels[39], pixels[40]), (indexed(7, 2), [0; 4]));
    for length in [13, CODES_AT - 12, CODES_AT] {
        assert_eq!(shown(&file[..length]), None, "{length} bytes");
    }
}

#[test]
fn rows_of_an_interlaced_gif_fill_the_gaps_unless_a_colour_is_transparent() {
    // This keeps the clear code and the two rows of the first pass.
    let length = (33 * 9usize).div_ceil(8);
    let file = gif(0xF7, true, &[]);
    assert_eq!(shown(&file), shown(&gif(0xF7, false, &[])));
    let cut = shown(&file[..CODES_AT + length]).unwrap();
    assert_eq!(rows(&cut, |x, y| indexed(x, y / 8 * 8)), (16, 0));
    let control = [0x21, 0xF9, 4, 1, 0, 0, 255, 0];
    let file = gif(0xF7, true, &control);
    let cut = shown(&file[..CODES_AT + control.len() + length]).unwrap();
    assert_eq!(rows(&cut, indexed), (2, 14));
}

#[test]
fn a_gif_without_colour_table_is_black_and_unknown_extensions_are_skipped() {
    assert_eq!(rows(&shown(&gif(0x70, false, &[])).unwrap(), |_, _| [0, 0, 0, 255]), (16, 0));
    let extended = gif(0xF7, false, &[0x21, 0x77, 3, 1, 2, 3, 0]);
    assert_eq!(shown(&extended), shown(&gif(0xF7, false, &[])));
    assert_eq!(shown(&gif(0xF7, false, &[0x99])), None, "an unknown block");
}

#[test]
fn a_truncated_bmp_shows_its_complete_rows_from_the_bottom() {
    let mut file =
        b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x10\0\0\0\x10\0\0\0\x01\0\x18\0".to_vec();
    file.resize(54, 0);
    for y in (0..16).rev() {
        let row = (0..16).flat_map(|x| colour(x, y)[..3].iter().rev().copied().collect::<Vec<_>>());
        file.extend(row);
    }
    for (came, more) in [(16, 0), (15, 47), (9, 0), (1, 5)] {
        let pixels = shown(&file[..54 + came * 48 + more]).unwrap();
        assert_eq!(rows(&pixels, colour), (came, 16 - came));
        assert_eq!(pixels.iter().last().unwrap(), colour(15, 15));
    }
    assert_eq!(shown(&file[..54 + 47]), None);
}
