//! A photograph that was taken with the camera on its side is upright in its tab.

use everytab_icon::{Pixels, decode::decode};

const UPRIGHT: &[u8] = include_bytes!("../../vectors/gradient.jpg");

/// Returns `UPRIGHT` with an EXIF segment that declares an orientation.
fn turned(orientation: u8) -> Vec<u8> {
    let exif = [
        b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".as_slice(),
        &[orientation, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
    [&UPRIGHT[..2], b"\xff\xe1", &length, &exif, &UPRIGHT[2..]].concat()
}

fn pixels(bytes: &[u8]) -> Pixels {
    decode(bytes).unwrap().1
}

#[test]
fn a_jpeg_is_turned_as_its_exif_says() {
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
    // The first stored column is the top row, from right to left.
    assert_eq!(at(&right, 0, 0), at(&plain, 0, height - 1));
    assert_eq!(at(&right, height - 1, 0), at(&plain, 0, 0));
    assert_eq!(pixels(&turned(9)), plain);
}
