//! Tests of map tiles, which also compare them with an independent decoder.

use proptest::prelude::*;
use zune_jpeg::JpegDecoder;

use super::*;

fn picture(across: usize, down: usize, seed: u32) -> Vec<u8> {
    let mut state = seed | 1;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let (width, height) = (across * SIDE, down * SIDE);
    let mut rgb = vec![0; width * height * 3];
    for block in 0..across * down {
        let style = noise() % 3;
        let colour = noise().to_be_bytes();
        for i in 0..64 {
            let (x, y) = (block % across * SIDE + i % SIDE, block / across * SIDE + i / SIDE);
            let at = (y * width + x) * 3;
            let pixel = match style {
                0 => [colour[0], colour[1], colour[2]],
                1 => [colour[0] / 2 + i as u8, colour[1], (i * 4) as u8],
                _ => [noise() as u8, noise() as u8, noise() as u8],
            };
            rgb[at..at + 3].copy_from_slice(&pixel);
        }
    }
    rgb
}

fn decoded_by_another(file: &[u8]) -> Vec<u8> {
    JpegDecoder::new(std::io::Cursor::new(file)).decode().unwrap()
}

#[test]
fn another_decoder_shows_the_same_picture() {
    let rgb = picture(9, 5, 7);
    let mosaic = Mosaic::from_rgb(72, 40, &rgb).unwrap();
    let ours = mosaic.rgb();
    let theirs = decoded_by_another(&mosaic.write());
    assert_eq!(ours.len(), theirs.len());
    let apart = ours.iter().zip(&theirs).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(apart.unwrap() <= 4, "{apart:?}");
}

#[test]
fn reading_and_writing_a_file_keeps_its_bytes() {
    for (seed, (across, down)) in [(1, 1), (3, 2), (16, 16)].into_iter().enumerate() {
        let rgb = picture(across, down, seed as u32 + 1);
        let mosaic = Mosaic::from_rgb(across * SIDE, down * SIDE, &rgb).unwrap();
        let file = mosaic.write();
        let read = Mosaic::read(&file).unwrap();
        assert_eq!((&read, read.write()), (&mosaic, file));
    }
}

#[test]
fn painting_a_whole_block_equals_encoding_the_painted_picture() {
    let before = picture(4, 4, 3);
    let mut after = before.clone();
    let colour = [219, 219, 219];
    for (x, y) in (8..16).flat_map(|x| (16..24).map(move |y| (x, y))) {
        after[(y * 32 + x) * 3..][..3].copy_from_slice(&colour);
    }
    let mut painted = Mosaic::read(&Mosaic::from_rgb(32, 32, &before).unwrap().write()).unwrap();
    let rect = Rect { left: 8, top: 16, width: 8, height: 8 };
    painted.paint(rect, &colour.repeat(64));
    assert_eq!(painted.write(), Mosaic::from_rgb(32, 32, &after).unwrap().write());
}

#[test]
fn painting_part_of_a_block_does_not_change_other_blocks() {
    let before = Mosaic::from_rgb(32, 32, &picture(4, 4, 5)).unwrap();
    let mut painted = before.clone();
    let rect = Rect { left: 6, top: 10, width: 4, height: 3 };
    painted.paint(rect, &[90, 90, 90].repeat(12));
    let changed: Vec<usize> = (0..16).filter(|i| painted.blocks[*i] != before.blocks[*i]).collect();
    assert_eq!(changed, [4, 5]);
    let far = Rect { left: 40, top: 0, width: usize::MAX, height: 1 };
    painted.paint(far, &[0, 0, 0]);
    let edge = Rect { left: 30, top: 30, width: 9, height: 9 };
    painted.paint(edge, &[0, 0, 0].repeat(81));
}

#[test]
fn sides_that_are_not_multiples_of_8_and_too_few_pixels_are_rejected() {
    for (width, height, pixels) in [(8, 8, 63), (7, 8, 56), (0, 8, 0), (8, 4104, 8 * 4104)] {
        assert_eq!(Mosaic::from_rgb(width, height, &vec![0; pixels * 3]), None);
    }
}

#[test]
fn truncated_files_and_other_jpegs_are_rejected() {
    let file = Mosaic::from_rgb(24, 16, &picture(3, 2, 11)).unwrap().write();
    assert!((0..file.len()).all(|length| Mosaic::read(&file[..length]).is_err()));
    let frame = file.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    // These bytes make the file progressive, set its width to 23 pixels, change the sampling of
    // luma, and set a quantization divisor to zero.
    for (at, byte) in [(frame + 1, 0xc2), (frame + 8, 23), (frame + 11, 0x21), (7, 0)] {
        let mut other = file.clone();
        other[at] = byte;
        assert!(Mosaic::read(&other).is_err(), "{byte} at {at}");
    }
}

#[test]
fn one_rare_symbol_among_many_gets_a_code_of_at_most_16_bits() {
    let mut counts = huffman::Counts::default();
    let (mut one, mut two) = (1u32, 1u32);
    for symbol in 0..30 {
        (0..one).for_each(|_| counts.add(symbol));
        (one, two) = (two, one + two);
    }
    let table = counts.table();
    assert_eq!(table.symbols.len(), 30);
    let used: f64 = (1..).zip(table.lengths).map(|(l, n)| f64::from(n) * 0.5f64.powi(l)).sum();
    assert!(used < 1.0, "the code with only 1-bits is unused");
}

proptest! {
    #[test]
    fn malformed_files_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        at in 0usize..2_000,
        seed in 1u32..50,
    ) {
        prop_assert!(Mosaic::read(&bytes).is_err());
        let mut file = Mosaic::from_rgb(32, 24, &picture(4, 3, seed)).unwrap().write();
        let at = at % file.len();
        for (byte, other) in file[at..].iter_mut().zip(&bytes) {
            *byte = *other;
        }
        if let Ok(mut mosaic) = Mosaic::read(&file) {
            prop_assert_eq!(mosaic.rgb().len(), mosaic.width() * mosaic.height() * 3);
            mosaic.paint(Rect { left: 3, top: 3, width: 9, height: 9 }, &[7; 243]);
            prop_assert!(mosaic.write().len() > 100);
        }
    }
}
