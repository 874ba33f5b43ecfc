//! Tests the counted work for files that are constructed to be expensive.

use everytab_icon::{
    decode::decode_counted,
    work::{MAX_FILE_PIXELS, MAX_PICTURE_PIXELS, Work},
};

const SIDE: u32 = 2048;

fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let named = [name, data].concat();
    let sum = libdeflater::crc32(&named);
    [&(data.len() as u32).to_be_bytes(), named.as_slice(), &sum.to_be_bytes()].concat()
}

/// Returns a PNG that declares 2048x2048 pixels and contains `rows` rows of zeros. `filter` is the
/// last row's filter byte.
fn png(depth: u8, colour_type: u8, row_bytes: usize, rows: usize, filter: u8) -> Vec<u8> {
    let sides = [SIDE.to_be_bytes(), SIDE.to_be_bytes()].concat();
    let header = [sides.as_slice(), &[depth, colour_type, 0, 0, 0]].concat();
    let mut pixels = vec![0; (row_bytes + 1) * rows];
    if let Some(last) = pixels.len().checked_sub(row_bytes + 1) {
        pixels[last] = filter;
    }
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::best());
    let mut data = vec![0; compressor.zlib_compress_bound(pixels.len())];
    let length = compressor.zlib_compress(&pixels, &mut data).unwrap();
    let chunks = [chunk(b"IHDR", &header), chunk(b"IDAT", &data[..length]), chunk(b"IEND", &[])];
    [b"\x89PNG\r\n\x1a\n", chunks.concat().as_slice()].concat()
}

/// If `apart` is true, each entry has its own copy of the payload.
fn ico(payload: &[u8], count: u16, apart: bool) -> Vec<u8> {
    let mut file = vec![0, 0, 1, 0];
    file.extend(count.to_le_bytes());
    let first = 6 + 16 * u32::from(count);
    for index in 0..u32::from(count) {
        file.extend([0, 0, 0, 0, 1, 0, 32, 0]);
        file.extend((payload.len() as u32).to_le_bytes());
        let offset = if apart { first + index * payload.len() as u32 } else { first };
        file.extend(offset.to_le_bytes());
    }
    file.extend(payload.repeat(if apart { usize::from(count) } else { 1 }));
    file
}

fn work(file: &[u8]) -> Work {
    decode_counted(file).1
}

#[test]
fn the_largest_plain_png_costs_its_pixels_once() {
    let file = png(16, 6, 8 * SIDE as usize, SIDE as usize, 0);
    let (result, work) = decode_counted(&file);
    assert_eq!(result.unwrap().1.width(), SIDE);
    assert_eq!(work, Work { pixels: MAX_PICTURE_PIXELS, bytes: file.len() as u64 });
}

#[test]
fn a_broken_picture_shared_by_entries_counts_once() {
    let broken = png(16, 6, 8 * SIDE as usize, 1, 9);
    let (result, once) = decode_counted(&ico(&broken, 64, false));
    assert_eq!(result.unwrap_err().kind(), "image_corrupt");
    assert_eq!(once.pixels, MAX_PICTURE_PIXELS);
    let short = png(16, 6, 8 * SIDE as usize, SIDE as usize - 1, 0);
    let (result, once) = decode_counted(&ico(&short, 64, false));
    assert_eq!((result.unwrap().1.width(), once.pixels), (SIDE, MAX_PICTURE_PIXELS));
}

#[test]
fn no_file_costs_more_than_three_times_the_largest_plain_png() {
    // For the first file only the `png` crate runs and fails. For the second, both PNG decoders run
    // and fail.
    let once = png(16, 6, 8 * SIDE as usize, 1, 9);
    let twice = png(8, 6, 4 * SIDE as usize, 1, 9);
    for payload in [once, twice] {
        for count in [1, 2, 3, 64] {
            let spent = work(&ico(&payload, count, true));
            assert!(spent.pixels <= MAX_FILE_PIXELS, "{count} entries: {spent:?}");
            assert!(spent.bytes <= 6 * (64 * payload.len() as u64 + 2048), "{spent:?}");
        }
        assert_eq!(work(&ico(&payload, 64, true)).pixels, MAX_FILE_PIXELS);
    }
}

#[test]
fn data_after_the_last_row_of_a_png_are_not_decompressed() {
    let rows = png(8, 6, 4 * SIDE as usize, 2 * SIDE as usize, 0);
    let (result, work) = decode_counted(&rows);
    assert!(result.is_ok());
    assert_eq!(work.pixels, 2 * MAX_PICTURE_PIXELS);
}
