//! Tests raster files whose headers announce missing data or omit data that the file contains. The
//! expected results are from Chromium 156.

use everytab_icon::{Pixels, decode::decode, measure::measure};
use image_webp::{ColorType, WebPEncoder};

const SIDES: (u32, u32) = (5, 3);

fn colour(x: u32, y: u32) -> [u8; 4] {
    [x as u8 * 40, y as u8 * 70, 200, 255 - (x * 3 + y) as u8 * 15]
}

fn rgba() -> Vec<u8> {
    let (width, height) = SIDES;
    (0..height).flat_map(|y| (0..width).flat_map(move |x| colour(x, y))).collect()
}

fn shown(file: &[u8]) -> Option<Pixels> {
    let (measured, pixels) = decode(file).ok()?;
    assert_eq!((measured.width, measured.height), (pixels.width(), pixels.height()));
    assert_eq!(measure(file), Ok(measured));
    Some(pixels)
}

fn alphas(pixels: &Pixels) -> Vec<u8> {
    pixels.iter().map(|pixel| pixel[3]).collect()
}

/// If a WebP does not declare its alpha, Chromium treats the colours as premultiplied.
fn divided() -> Vec<u8> {
    let pixels = rgba();
    let divided = |pixel: &[u8]| {
        let alpha = f64::from(pixel[3]) / 255.0;
        let colour = |value: u8| (f64::from(value) / alpha).round().min(255.0) as u8;
        [colour(pixel[0]), colour(pixel[1]), colour(pixel[2]), pixel[3]]
    };
    pixels.chunks(4).flat_map(divided).collect()
}

type Chunk = (&'static [u8; 4], Vec<u8>);

fn riff(chunks: &[Chunk]) -> Vec<u8> {
    let mut body = b"WEBP".to_vec();
    for (name, data) in chunks {
        body.extend_from_slice(name.as_slice());
        body.extend((data.len() as u32).to_le_bytes());
        body.extend(data);
        body.resize(body.len().next_multiple_of(2), 0);
    }
    [b"RIFF".as_slice(), &(body.len() as u32).to_le_bytes(), &body].concat()
}

fn bitstream(file: &[u8]) -> Vec<u8> {
    let length = u32::from_le_bytes(*file[16..].first_chunk().unwrap()) as usize;
    file[20..20 + length].to_vec()
}

fn extended(flags: u8, (width, height): (u32, u32)) -> Chunk {
    let sides = [(width - 1).to_le_bytes(), (height - 1).to_le_bytes()];
    (b"VP8X", [&[flags, 0, 0, 0], &sides[0][..3], &sides[1][..3]].concat())
}

fn lossless(is_used: bool) -> Chunk {
    let mut file = Vec::new();
    WebPEncoder::new(&mut file).encode(&rgba(), SIDES.0, SIDES.1, ColorType::Rgba8).unwrap();
    let mut data = bitstream(&file);
    assert_eq!(data[4] & 0x10, 0x10, "the encoder sets the bit");
    if !is_used {
        data[4] &= !0x10;
    }
    (b"VP8L", data)
}

#[test]
fn flags_of_a_webp_need_no_chunks_and_lossless_pixels_keep_their_alpha() {
    for is_used in [true, false] {
        let expected = if is_used { rgba() } else { divided() };
        assert_eq!(shown(&riff(&[lossless(is_used)])).unwrap().rgba(), expected, "{is_used}");
        for flags in [0, 0x04, 0x08, 0x10, 0x20, 0x3C] {
            let file = riff(&[extended(flags, SIDES), lossless(is_used)]);
            let expected = if flags & 0x10 == 0 { divided() } else { rgba() };
            assert_eq!(shown(&file).unwrap().rgba(), expected, "{is_used} {flags}");
        }
    }
}

#[test]
fn a_lossy_webp_uses_its_alpha_chunk_if_the_flag_is_set() {
    let file = include_bytes!("../../vectors/gradient.webp");
    let plain = shown(file).unwrap();
    let sides = (plain.width(), plain.height());
    let colours: Chunk = (b"VP8 ", bitstream(file));
    let opacity: Vec<u8> = (0..sides.0 * sides.1).map(|index| index as u8).collect();
    let alpha: Chunk = (b"ALPH", [&[0], opacity.as_slice()].concat());
    for flags in [0, 0x04, 0x08, 0x10, 0x3C] {
        let without = riff(&[extended(flags, sides), colours.clone()]);
        assert_eq!(shown(&without), Some(plain.clone()), "{flags}");
        let with = riff(&[extended(flags, sides), alpha.clone(), colours.clone()]);
        let expected = if flags & 0x10 == 0 { alphas(&plain) } else { opacity.clone() };
        assert_eq!(alphas(&shown(&with).unwrap()), expected, "{flags}");
    }
    let other = riff(&[extended(0x10, sides), alpha, lossless(true)]);
    assert_eq!(shown(&other), None, "alpha chunk without lossy colours");
}

#[test]
fn the_first_webp_frame_keeps_its_alpha_and_position() {
    let frame = |left: u8, top: u8| -> Chunk {
        let (name, data) = lossless(false);
        let place = [left, 0, 0, top, 0, 0, SIDES.0 as u8 - 1, 0, 0, SIDES.1 as u8 - 1, 0, 0];
        let length = (data.len() as u32).to_le_bytes();
        (b"ANMF", [place.as_slice(), &[9, 0, 0, 0], name, &length, &data].concat())
    };
    let start: Chunk = (b"ANIM", vec![255, 255, 255, 255, 0, 0]);
    let canvas = (12, 9);
    for flags in [0x02, 0x12, 0x0E] {
        let chunks = [extended(flags, canvas), start.clone(), frame(2, 1), frame(0, 0)];
        let pixels = shown(&riff(&chunks)).unwrap();
        assert_eq!((pixels.width(), pixels.height()), canvas);
        for (at, pixel) in (0..).zip(pixels.iter()) {
            let (x, y) = (at % canvas.0, at / canvas.0);
            let is_inside = (4..4 + SIDES.0).contains(&x) && (2..2 + SIDES.1).contains(&y);
            let frame = if flags & 0x10 == 0 { divided() } else { rgba() };
            let expected = if is_inside {
                frame.as_chunks().0[((y - 2) * SIDES.0 + x - 4) as usize]
            } else {
                [0; 4]
            };
            assert_eq!(pixel, expected, "{x} {y}");
        }
    }
    let outside = [extended(0x12, canvas), start, frame(4, 0)];
    assert_eq!(shown(&riff(&outside)), None, "a frame outside the canvas");
    assert_eq!(shown(&riff(&[extended(0x12, canvas)])), None, "no frame");
}

fn png_chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let named = [name, data].concat();
    let sum = libdeflater::crc32(&named);
    [&(data.len() as u32).to_be_bytes(), named.as_slice(), &sum.to_be_bytes()].concat()
}

fn rows(red: u8) -> Vec<u8> {
    let mut rows = Vec::new();
    for row in rgba().chunks(SIDES.0 as usize * 4) {
        rows.push(0);
        rows.extend(row.chunks(4).flat_map(|pixel| [pixel[0] ^ red, pixel[1], pixel[2], pixel[3]]));
    }
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut data = vec![0; compressor.zlib_compress_bound(rows.len())];
    let length = compressor.zlib_compress(&rows, &mut data).unwrap();
    data[..length].to_vec()
}

fn png(chunks: &[Vec<u8>]) -> Vec<u8> {
    let sides = [SIDES.0.to_be_bytes(), SIDES.1.to_be_bytes()].concat();
    let header = png_chunk(b"IHDR", &[sides.as_slice(), &[8, 6, 0, 0, 0]].concat());
    [b"\x89PNG\r\n\x1a\n".to_vec(), header, chunks.concat(), png_chunk(b"IEND", &[])].concat()
}

fn exif(orientation: u8) -> Vec<u8> {
    let entry = [1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0];
    png_chunk(b"eXIf", &[b"II*\0\x08\0\0\0".as_slice(), &entry].concat())
}

fn damaged(mut chunk: Vec<u8>) -> Vec<u8> {
    *chunk.last_mut().unwrap() ^= 1;
    chunk
}

#[test]
fn a_png_is_rotated_by_the_first_valid_exif_before_its_data() {
    let data = png_chunk(b"IDAT", &rows(0));
    let plain = shown(&png(std::slice::from_ref(&data))).unwrap();
    let turned = |chunks: &[Vec<u8>]| {
        let pixels = shown(&png(chunks)).unwrap();
        let at = |x: u32, y: u32| pixels.iter().nth((y * pixels.width() + x) as usize).unwrap();
        let (width, height) = (pixels.width(), pixels.height());
        let corners = [at(0, 0), at(width - 1, 0), at(0, height - 1), at(width - 1, height - 1)];
        let (right, bottom) = (SIDES.0 - 1, SIDES.1 - 1);
        let stored = [colour(0, 0), colour(right, 0), colour(0, bottom), colour(right, bottom)];
        ((width, height), corners.map(|corner| stored.iter().position(|c| *c == corner).unwrap()))
    };
    let lying = (SIDES.1, SIDES.0);
    let expected = [
        (1, SIDES, [0, 1, 2, 3]),
        (2, SIDES, [1, 0, 3, 2]),
        (3, SIDES, [3, 2, 1, 0]),
        (4, SIDES, [2, 3, 0, 1]),
        (5, lying, [0, 2, 1, 3]),
        (6, lying, [2, 0, 3, 1]),
        (7, lying, [3, 1, 2, 0]),
        (8, lying, [1, 3, 0, 2]),
    ];
    for (orientation, sides, corners) in expected {
        let got = turned(&[exif(orientation), data.clone()]);
        assert_eq!(got, (sides, corners), "{orientation}");
    }
    let by_three = turned(&[exif(3), data.clone()]);
    assert_eq!(turned(&[exif(3), exif(6), data.clone()]), by_three, "the first");
    assert_eq!(turned(&[damaged(exif(6)), exif(3), data.clone()]), by_three, "a wrong CRC");
    let named = png_chunk(b"eXIf", &[b"Exif\0\0".as_slice(), &exif(6)[8..]].concat());
    for chunks in [vec![data.clone(), exif(6)], vec![named, data]] {
        assert_eq!(shown(&png(&chunks)), Some(plain.clone()));
    }
}

#[test]
fn a_png_in_an_ico_is_not_rotated() {
    let file = png(&[exif(6), png_chunk(b"IDAT", &rows(0))]);
    let length = (file.len() as u32).to_le_bytes();
    let entry = [&[5, 3, 0, 0, 1, 0, 32, 0], length.as_slice(), &[22, 0, 0, 0]].concat();
    let ico = [&[0, 0, 1, 0, 1, 0], entry.as_slice(), &file].concat();
    assert_eq!(shown(&ico).unwrap().rgba(), rgba());
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn control(sequence: u32, disposal: u8, blending: u8) -> Vec<u8> {
    let numbers = words(&[sequence, SIDES.0, SIDES.1, 0, 0]);
    png_chunk(b"fcTL", &[numbers, vec![0, 1, 0, 9, disposal, blending]].concat())
}

fn frame_data(sequence: u32, data: &[u8]) -> Vec<u8> {
    png_chunk(b"fdAT", &[words(&[sequence]), data.to_vec()].concat())
}

#[test]
fn broken_chunks_of_an_animated_png_are_ignored_or_end_it_as_in_chromium() {
    let count = |numbers: &[u32]| png_chunk(b"acTL", &words(numbers));
    let still = png_chunk(b"IDAT", &rows(0));
    let (start, frame) = (control(0, 0, 0), frame_data(1, &rows(1)));
    let red = |chunks: &[Vec<u8>]| shown(&png(chunks)).map(|pixels| pixels.rgba()[0]);
    let after = |first: Vec<u8>| red(&[first, still.clone(), start.clone(), frame.clone()]);
    assert_eq!(after(count(&[2, 0])), Some(1));
    assert_eq!(after(count(&[(1 << 31) - 1, 0])), Some(1));
    for first in [
        count(&[0, 0]),
        count(&[1 << 31, 0]),
        count(&[2, 1 << 31]),
        count(&[2]),
        count(&[2, 0, 0]),
        damaged(count(&[2, 0])),
    ] {
        assert_eq!(after(first), Some(0));
    }
    let animated = count(&[2, 0]);
    let ends = |chunks: &[Vec<u8>]| red(&[&[animated.clone(), still.clone()], chunks].concat());
    assert_eq!(ends(&[start.clone(), control(1, 0, 0), frame_data(2, &rows(1))]), Some(1));
    let (half, rest) = (&rows(1)[..9], &rows(1)[9..]);
    assert_eq!(ends(&[start.clone(), frame_data(1, half), frame_data(2, rest)]), Some(1));
    let short = png_chunk(b"fcTL", &words(&[0, SIDES.0, SIDES.1, 0, 0, 0]));
    let broken = [
        vec![],
        vec![start.clone()],
        vec![damaged(start.clone()), frame.clone()],
        vec![short, frame.clone()],
        vec![control(1, 0, 0), frame_data(2, &rows(1))],
        vec![control(0, 3, 0), frame.clone()],
        vec![control(0, 0, 2), frame.clone()],
        vec![start.clone(), frame_data(0, &rows(1))],
        vec![start.clone(), frame_data(1, half), frame_data(3, rest)],
        vec![start.clone(), png_chunk(b"fdAT", &[]), frame.clone()],
        vec![start.clone(), frame_data(1, half), png_chunk(b"tEXt", b"a\0b"), frame_data(2, rest)],
        vec![png_chunk(b"ABCD", &[]), start.clone(), frame.clone()],
    ];
    for (number, chunks) in broken.iter().enumerate() {
        assert_eq!(ends(chunks), None, "{number}");
    }
    assert_eq!(red(&[animated, damaged(still.clone()), start, frame.clone()]), None);
    assert_eq!(red(&[frame, still]), None);
}

#[test]
fn a_truncated_apng_shows_the_received_rows_of_its_first_frame() {
    let chunks = [
        png_chunk(b"acTL", &words(&[1, 0])),
        png_chunk(b"IDAT", &rows(0)),
        control(0, 0, 0),
        frame_data(1, &rows(1)),
    ];
    let file = png(&chunks);
    let whole = shown(&file).unwrap();
    for less in [12, 16] {
        assert_eq!(shown(&file[..file.len() - less]), Some(whole.clone()), "{less}");
    }
}

fn bitmap_header(bytes: u32, rows: u32, bits: u8, compression: u8, masks: [u32; 4]) -> Vec<u8> {
    let mut header = [bytes, SIDES.0, rows].map(u32::to_le_bytes).concat();
    header.extend([1, 0, bits, 0, compression, 0, 0, 0]);
    header.resize(40, 0);
    header.extend(masks.map(u32::to_le_bytes).concat());
    header.resize(bytes as usize, 0);
    header
}

fn bitmap_rows() -> Vec<u8> {
    let rows = rgba();
    let rows = rows.rchunks(SIDES.0 as usize * 4);
    rows.flat_map(|row| row.chunks(4).flat_map(|p| [p[2], p[1], p[0], p[3]])).collect()
}

const COLOUR_MASKS: [u32; 3] = [0xFF_0000, 0xFF00, 0xFF];

#[test]
fn the_alpha_mask_of_a_bitmap_counts_as_in_chromium() {
    let [red, green, blue] = COLOUR_MASKS;
    let bmp = |bytes, compression, alpha| {
        let header = bitmap_header(bytes, SIDES.1, 32, compression, [red, green, blue, alpha]);
        let at = (14 + bytes).to_le_bytes();
        let file = [b"BM\0\0\0\0\0\0\0\0".as_slice(), &at, &header, &bitmap_rows()].concat();
        alphas(&shown(&file).unwrap())
    };
    let own: Vec<u8> = rgba().chunks(4).map(|pixel| pixel[3]).collect();
    let opaque = vec![255; own.len()];
    let top = 0xFF00_0000;
    for (bytes, alpha, expected) in [
        (40, top, &opaque),
        (56, top, &opaque),
        (108, top, &own),
        (124, top, &own),
        (124, 0x80, &own),
        (124, 0, &opaque),
    ] {
        assert_eq!(&bmp(bytes, 0, alpha), expected, "{bytes} {alpha:x}");
    }
    for (bytes, alpha, expected) in [(56, top, &own), (124, top, &own), (124, 0, &opaque)] {
        assert_eq!(&bmp(bytes, 3, alpha), expected, "{bytes} {alpha:x}");
    }
    let header = bitmap_header(64, SIDES.1, 32, 3, [red, green, blue, 0]);
    let file = [b"BM\0\0\0\0\0\0\0\0\x4e\0\0\0".as_slice(), &header, &bitmap_rows()].concat();
    assert_eq!(shown(&file), None);
}

#[test]
fn bmp_pixels_start_at_the_offset_in_the_header() {
    // If the offset is below 118, the pixels are bytes of the headers or of the palette.
    let file = |at: u32| {
        let mut header = [40, 4, 1].map(u32::to_le_bytes).concat();
        header.extend([1, 0, 8, 0]);
        header.resize(32, 0);
        header.extend([16, 0, 0, 0, 0, 0, 0, 0]);
        let palette: Vec<u8> = (0..16).flat_map(|it| [it, 15 - it, it * 3 % 16, 0]).collect();
        [b"BM\0\0\0\0\0\0\0\0", &at.to_le_bytes()[..], &header, &palette, &[1, 2, 3, 4]].concat()
    };
    let whole = file(118);
    for at in [118, 117, 116, 114, 60, 58, 55, 54, 53, 30, 14, 4, 0] {
        let file = file(at);
        let colour = |byte: u8| match byte {
            0..16 => [byte * 3 % 16, 15 - byte, byte, 255],
            _ => [0, 0, 0, 255],
        };
        let bytes = &file[at as usize..];
        let expected: Vec<u8> = bytes.iter().take(4).flat_map(|byte| colour(*byte)).collect();
        let shown = shown(&file).unwrap();
        assert_eq!(&shown.rgba()[..expected.len()], expected, "{at}");
    }
    assert_eq!(shown(&file(1_000)), shown(&whole));
}

#[test]
fn the_alpha_mask_of_an_ico_entry_counts_as_in_chromium() {
    let [red, green, blue] = COLOUR_MASKS;
    let masked: Vec<u8> = (0..15).map(|index| if index % 5 == 0 { 0 } else { 255 }).collect();
    let own: Vec<u8> = rgba().chunks(4).map(|pixel| pixel[3]).collect();
    let ico = |bytes, compression, alpha| {
        let mut dib = bitmap_header(bytes, 2 * SIDES.1, 32, compression, [red, green, blue, alpha]);
        if compression == 3 && bytes == 40 {
            dib.extend(COLOUR_MASKS.map(u32::to_le_bytes).concat());
        }
        dib.extend(bitmap_rows());
        dib.extend([0x80, 0, 0, 0].repeat(SIDES.1 as usize));
        let length = (dib.len() as u32).to_le_bytes();
        let entry = [&[5, 3, 0, 0, 1, 0, 32, 0], length.as_slice(), &[22, 0, 0, 0]].concat();
        let file = [&[0, 0, 1, 0, 1, 0], entry.as_slice(), &dib].concat();
        shown(&file).map(|pixels| alphas(&pixels))
    };
    let top = 0xFF00_0000;
    assert_eq!(ico(40, 0, 0), Some(own.clone()));
    for bytes in [56, 108, 124] {
        for compression in [0, 3] {
            assert_eq!(ico(bytes, compression, top), Some(own.clone()), "{bytes} {compression}");
            assert_eq!(ico(bytes, compression, 0), Some(masked.clone()), "{bytes} {compression}");
        }
        assert_eq!(ico(bytes, 0, 0xFF), None, "{bytes}: alpha in the bits of blue");
    }
    assert_eq!(ico(40, 3, 0), Some(masked.clone()));
    let halves = |alpha: &u8| if *alpha > 127 { 255 } else { 0 };
    assert_eq!(ico(124, 0, 1 << 31), Some(own.iter().map(halves).collect()));
}
