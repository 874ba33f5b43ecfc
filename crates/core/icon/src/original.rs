//! Keeps a website's PNG file, without its metadata, if it is smaller than the file that we encode.
//! Many websites compress their icons with programs that spend seconds on one file.
//!
//! In a file that we keep, fully transparent pixels are black, except for the one colour that a
//! tRNS chunk may declare as transparent.

use crate::{
    decoders::png_fast::{self, PngParts},
    pixels::Pixels,
    png::format::{INDEXED, SIGNATURE, push_chunk},
};

/// Declares deflate with a window of 32 KiB. It replaces the original's header, because some files
/// declare a smaller window than they use, and not every decoder accepts such a file.
const ZLIB_HEADER: [u8; 2] = [0x78, 0xda];

/// `None` if the PNG without its metadata is not shorter than `limit_bytes`, or does not show
/// exactly `pixels`.
pub(crate) fn kept(bytes: &[u8], pixels: &Pixels, limit_bytes: usize) -> Option<Vec<u8>> {
    let parts = PngParts::read(bytes)?;
    let transparency = parts.transparency.unwrap_or_default();
    // Check this before copying anything, because the file that we encode is usually smaller.
    if parts.data().len() >= limit_bytes {
        return None;
    }
    let mut file = SIGNATURE.to_vec();
    push_chunk(&mut file, *b"IHDR", parts.header);
    // With any other colour type, the palette is only a hint for displays with few colours.
    let is_indexed = parts.colour_type == INDEXED;
    let mut palette = if is_indexed { parts.palette.to_vec() } else { Vec::new() };
    for (entry, alpha) in palette.as_chunks_mut::<3>().0.iter_mut().zip(transparency) {
        if *alpha == 0 {
            *entry = [0; 3];
        }
    }
    for (name, table) in [(*b"PLTE", palette.as_slice()), (*b"tRNS", transparency)] {
        if !table.is_empty() {
            push_chunk(&mut file, name, table);
        }
    }
    let deflated = parts.data().get(ZLIB_HEADER.len()..)?;
    push_chunk(&mut file, *b"IDAT", &[&ZLIB_HEADER, deflated].concat());
    push_chunk(&mut file, *b"IEND", &[]);
    if file.len() >= limit_bytes {
        return None;
    }
    let read = png_fast::decode(&PngParts::read(&file)?)?;
    let hides_colour = |pixel: [u8; 4]| pixel[3] == 0 && pixel != [0; 4];
    if parts.transparency.is_none() && read.iter().any(hides_colour) {
        return None;
    }
    let same = read.with_clean_transparency() == pixels.clone().with_clean_transparency();
    same.then_some(file)
}

#[cfg(test)]
mod tests {
    use libdeflater::{CompressionLvl, Compressor};

    use super::*;
    use crate::{
        decode::decode,
        png::{
            Colours, encode, encode_by,
            format::{CHUNK_BYTES, HEADER_BYTES},
        },
    };

    fn picture(alpha: impl Fn(usize) -> u8) -> Pixels {
        let colour = |i: usize| {
            let (x, y) = (i % 32, i / 32);
            let wave = (x * x / 3 + y * 5 % 11) as u8;
            [wave, wave.wrapping_mul(3) ^ y as u8, (x * y / 7) as u8, alpha(i)]
        };
        Pixels::new(32, 32, (0..1024).flat_map(colour).collect()).unwrap()
    }

    fn hard(pixels: &Pixels) -> Vec<u8> {
        let mut compressor = Compressor::new(CompressionLvl::best());
        encode_by(&mut compressor, pixels, Colours::Lossless)
    }

    fn with_chunk(file: &[u8], name: [u8; 4], data: &[u8]) -> Vec<u8> {
        let (before, after) = file.split_at(SIGNATURE.len() + CHUNK_BYTES + HEADER_BYTES);
        let mut longer = before.to_vec();
        push_chunk(&mut longer, name, data);
        longer.extend_from_slice(after);
        longer
    }

    #[test]
    fn a_file_that_was_compressed_harder_is_kept_without_its_metadata() {
        let pixels = picture(|_| 255);
        let (ours, theirs) = (encode(&pixels), hard(&pixels));
        assert!(theirs.len() < ours.len(), "{} {}", theirs.len(), ours.len());
        let commented = with_chunk(&theirs, *b"tEXt", b"Comment\0a secret");
        assert_eq!(kept(&commented, &pixels, ours.len()), Some(theirs.clone()));
        assert_eq!(kept(&commented, &pixels, theirs.len()), None, "not smaller");
        assert_eq!(kept(&commented, &picture(|_| 254), ours.len()), None, "other pixels");
    }

    #[test]
    fn colours_hidden_under_alpha_0_are_not_kept() {
        let half = |i: usize| if i % 32 < 16 { 255 } else { 128 * u8::from(i.is_multiple_of(2)) };
        let hiding = picture(half);
        let clean = hiding.clone().with_clean_transparency();
        let file = hard(&clean);
        let header = SIGNATURE.len() + 8;
        assert_eq!(file[header + 9], 6, "colours with alpha");
        assert!(kept(&file, &clean, usize::MAX).is_some());
        // These are the same rows, but unfiltered, and pixels with alpha 0 keep their colours.
        let rows: Vec<u8> =
            hiding.rgba().chunks(128).flat_map(|row| [&[0], row].concat()).collect();
        let mut data = vec![0; 10_000];
        let mut compressor = Compressor::new(CompressionLvl::best());
        let length = compressor.zlib_compress(&rows, &mut data).unwrap();
        let mut file = file[..header + 13 + 4].to_vec();
        push_chunk(&mut file, *b"IDAT", &data[..length]);
        push_chunk(&mut file, *b"IEND", &[]);
        assert_eq!(decode(&file).unwrap().1, hiding);
        assert_eq!(kept(&file, &hiding, usize::MAX), None);
    }

    #[test]
    fn transparent_palette_entries_lose_their_colour() {
        let mut file = SIGNATURE.to_vec();
        push_chunk(&mut file, *b"IHDR", &[0, 0, 0, 8, 0, 0, 0, 1, 1, INDEXED, 0, 0, 0]);
        push_chunk(&mut file, *b"PLTE", &[255, 255, 255, 9, 8, 7]);
        push_chunk(&mut file, *b"tRNS", &[0]);
        let mut data = vec![0; 100];
        let mut compressor = Compressor::new(CompressionLvl::best());
        let length = compressor.zlib_compress(&[0, 0b0101_0101], &mut data).unwrap();
        push_chunk(&mut file, *b"IDAT", &data[..length]);
        push_chunk(&mut file, *b"IEND", &[]);
        let (_, pixels) = decode(&file).unwrap();
        assert_eq!(pixels.rgba()[..8], [255, 255, 255, 0, 9, 8, 7, 255]);
        let kept = kept(&file, &pixels, usize::MAX).unwrap();
        assert_eq!(decode(&kept).unwrap().1.rgba()[..8], [0, 0, 0, 0, 9, 8, 7, 255]);
    }

    #[test]
    fn a_stream_that_declares_a_smaller_window_gets_the_full_one() {
        let pixels = picture(|_| 255);
        let whole = hard(&pixels);
        let mut file = whole.clone();
        let data = file.windows(4).position(|name| name == b"IDAT").unwrap();
        // zlib requires the two header bytes, read as one number, to be a multiple of 31.
        file[data + 4..data + 6].copy_from_slice(&[0x08, 0x1d]);
        let end = file.len() - CHUNK_BYTES - 4;
        let sum = libdeflater::crc32(&file[data..end]);
        file[end..end + 4].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(decode(&file).unwrap().1, pixels, "the decoder accepts the file");
        assert_eq!(kept(&file, &pixels, usize::MAX), Some(whole));
    }
}
