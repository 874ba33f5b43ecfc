//! Tests an AVIF's cost, which is counted before decoding.

use everytab_icon::{
    decode::{decode, decode_counted},
    limits::TAB_ICON_PIXELS,
    scale::scale_down,
    work::Work,
};

use super::avif::{Container, GRID, PLAIN, SIDES, at, clap, ispe, kind, stream};

#[test]
fn dimensions_are_checked_before_pixels_are_decoded() {
    let with_sides = |width, height| {
        let file = Container { ispe: ispe(width, height), ..Container::default() }.file();
        decode_counted(&file)
    };
    assert_eq!(with_sides(2049, 9).0.unwrap_err().kind(), "image_too_big");
    // Cropping does not make a picture small enough, because the whole picture must be decoded.
    let corner = clap([20, 1, 10, 1, -2029_i32 as u32, 2, 11_u32.wrapping_neg(), 2]);
    let large =
        Container { ispe: ispe(2049, 21), properties: vec![corner], ..Container::default() };
    assert_eq!(kind(&large.file()), "image_too_big");
    let (result, work) = with_sides(1455, 1455);
    assert_eq!((result.unwrap_err().kind(), work), ("image_corrupt", Work::default()));
    for (width, height) in [(27, 20), (26, 21), (28, 21), (21, 27), (1430, 1430)] {
        let (result, work) = with_sides(width, height);
        assert_eq!(result.unwrap_err().kind(), "image_corrupt");
        let cost = if width * height > 256 * 256 { 6 } else { 40 };
        assert_eq!(work.pixels, priced(in_blocks(width, height) * cost, work.bytes));
    }
}

fn in_blocks(width: u32, height: u32) -> u64 {
    u64::from(width.next_multiple_of(8)) * u64::from(height.next_multiple_of(8))
}

fn priced(pixels: u64, bytes: u64) -> u64 {
    30_000 + pixels + 16 * bytes
}

#[test]
fn frames_bytes_and_the_alpha_plane_are_counted() {
    let pixels = in_blocks(SIDES.0, SIDES.1);
    let work_of = |frames: usize| {
        let file = Container { stream: stream().repeat(frames), ..Container::default() }.file();
        decode_counted(&file)
    };
    for frames in 1..=4 {
        let (result, work) = work_of(frames);
        assert!(result.is_ok());
        let bytes = (stream().len() * frames) as u64;
        // If there are several frames, they may be smaller than a block in one direction, and they
        // are not filtered. The vector encodes width and height with 5 bits.
        let several = frames as u64 * 6 * (pixels + 7 * (32 + 32));
        let cost = if frames > 1 { several } else { 40 * pixels };
        assert_eq!(work, Work { pixels: priced(cost, bytes), bytes });
    }
    let (result, work) = work_of(5);
    assert_eq!((result.unwrap_err().kind(), work), ("image_corrupt", Work::default()));
    let opacity = include_bytes!("../../vectors/avif/opacity-420.avif");
    let (_, work) = decode_counted(opacity);
    assert_eq!(work.pixels, 30_000 + priced((40 + 40) * pixels, work.bytes));
    // Padding after the frames counts, because it could belong to a frame.
    let padding = [&[0x7A, 0x80, 0x80, 0x80, 0x01][..], &vec![0; 2 << 20]].concat();
    let longer = [stream(), padding].concat();
    let (result, work) =
        decode_counted(&Container { stream: longer, ..Container::default() }.file());
    assert_eq!((result.unwrap_err().kind(), work), ("image_corrupt", Work::default()));
}

#[test]
fn frames_with_only_redundant_headers_are_counted() {
    // The hidden frames' headers are redundant frame headers without an original header, which
    // decoders accept.
    let two = include_bytes!("../../vectors/avif_hidden/two.avif");
    let (result, work) = decode_counted(two);
    assert_eq!(result.unwrap().1.width(), 64);
    assert_eq!(work.pixels, priced(3 * 10 * (64 * 64 + 7 * (64 + 64)), work.bytes));
    let five = include_bytes!("../../vectors/avif_hidden/five.avif");
    let (result, work) = decode_counted(five);
    assert_eq!((result.unwrap_err().kind(), work), ("image_corrupt", Work::default()));
}

#[test]
fn the_cost_of_a_large_picture_depends_on_its_chroma() {
    let flat: &[u8] = include_bytes!("../../vectors/avif_large/flat.avif");
    let (result, work) = decode_counted(flat);
    assert_eq!(at(&result.unwrap().1, 799, 799), [201, 29, 59, 255]);
    assert_eq!(work.pixels, priced(10 * 800 * 800, work.bytes));
    let unfiltered = include_bytes!("../../vectors/avif_large/filtered.avif");
    let (result, work) = decode_counted(unfiltered);
    assert_eq!(work.pixels, priced(10 * 264 * 264, work.bytes));
    // The reference is libavif's result with all filters, scaled down.
    let reference = include_bytes!("../../vectors/avif_large/filtered-32.png");
    let reference = decode(reference).unwrap().1;
    let ours = scale_down(result.unwrap().1, TAB_ICON_PIXELS);
    let pairs = ours.rgba().iter().zip(reference.rgba());
    let most = pairs.map(|(ours, reference)| ours.abs_diff(*reference)).max();
    assert!(most <= Some(3), "{most:?}");
    for (vector, cost) in [
        (PLAIN, 6),
        (include_bytes!("../../vectors/avif/grey-limited.avif"), 3),
        (include_bytes!("../../vectors/avif/yuv422-bt2020.avif"), 10),
        (include_bytes!("../../vectors/avif/twelve-bits-420-limited.avif"), 6),
    ] {
        let mut file = vector.to_vec();
        let at = file.windows(8).position(|sides| sides == [0, 0, 0, 27, 0, 0, 0, 21]).unwrap();
        file[at..at + 8].copy_from_slice(&[0, 0, 3, 0, 0, 0, 3, 0]);
        let work = decode_counted(&file).1;
        assert_eq!(work.pixels, priced(cost * 768 * 768, work.bytes));
    }
}

#[test]
fn each_tile_is_counted_before_it_is_decoded() {
    let (_, work) = decode_counted(GRID);
    assert_eq!(work.pixels, 5 * 30_000 + priced(40 * 192 * 128, work.bytes));
}
