//! Tests that a JPEG's EXIF orientation is applied.

use everytab_icon::{Pixels, decode::decode};

const UPRIGHT: &[u8] = include_bytes!("../../vectors/gradient.jpg");

fn turned(orientation: u8) -> Vec<u8> {
    let exif = [
        b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".as_slice(),
        &[orientation, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
    [&UPRIGHT[..2], b"\xff\xe1", &length, &exif, &UPRIGHT[2..]].concat()
}

#[test]
fn the_first_exif_segment_before_the_first_scan_decides() {
    let segment = |orientation: u8| {
        let file = turned(orientation);
        file[2..file.len() - UPRIGHT.len() + 2].to_vec()
    };
    let with = |segments: &[u8]| pixels(&[&UPRIGHT[..2], segments, &UPRIGHT[2..]].concat());
    let (plain, turned) = (pixels(UPRIGHT), pixels(&turned(6)));
    assert_eq!(with(&[segment(6), segment(1)].concat()), turned);
    assert_eq!(with(&[segment(1), segment(6)].concat()), plain);
    let before: [&[u8]; 3] =
        [b"\xff\xfe\0\x06abcd", b"\xff\xe1\0\x08Exif\0\0", b"\xff\xe1\0\x06http"];
    for before in before {
        assert_eq!(with(&[before, &segment(6)].concat()), turned, "{before:x?}");
    }
    let end = UPRIGHT.len() - 2;
    assert_eq!(pixels(&[&UPRIGHT[..end], &segment(6), b"\xff\xd9"].concat()), plain);
}

fn pixels(bytes: &[u8]) -> Pixels {
    decode(bytes).unwrap().1
}

#[test]
fn a_jpeg_is_rotated_by_its_exif_orientation() {
    let plain = pixels(UPRIGHT);
    let (width, height) = (plain.width(), plain.height());
    let at = |pixels: &Pixels, x: u32, y: u32| {
        pixels.iter().nth((y * pixels.width() + x) as usize).unwrap()
    };
    assert_eq!(pixels(&turned(1)), plain);
    let over = pixels(&turned(3));
    assert_eq!(at(&over, 0, 0), at(&plain, width - 1, height - 1));
    let right = pixels(&turned(6));
    assert_eq!((right.width(), right.height()), (height, width));
    assert_eq!(at(&right, 0, 0), at(&plain, 0, height - 1));
    assert_eq!(at(&right, height - 1, 0), at(&plain, 0, 0));
    assert_eq!(pixels(&turned(9)), plain);
}
