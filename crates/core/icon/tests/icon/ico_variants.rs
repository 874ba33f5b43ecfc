//! Tests generated ICO files.

use everytab_icon::{IconError, Pixels, decode::decode, png::encode};

#[derive(Clone)]
struct Picture {
    payload: Vec<u8>,
    /// Width, height and bit depth in the directory.
    claims: (u8, u8, u16),
    claimed_length: Option<u32>,
}

fn ico(pictures: &[Picture]) -> Vec<u8> {
    let mut file = vec![0, 0, 1, 0];
    file.extend((pictures.len() as u16).to_le_bytes());
    let mut offset = 6 + 16 * pictures.len() as u32;
    for picture in pictures {
        let (width, height, bits) = picture.claims;
        file.extend([width, height, 0, 0, 1, 0]);
        file.extend(bits.to_le_bytes());
        let length = picture.payload.len() as u32;
        file.extend(picture.claimed_length.unwrap_or(length).to_le_bytes());
        file.extend(offset.to_le_bytes());
        offset += length;
    }
    pictures.iter().for_each(|picture| file.extend(&picture.payload));
    file
}

/// Returns a pixel's stored value, and the RGB values that it should show.
fn sample(bits: u16, x: u32, y: u32) -> (u32, [u8; 3]) {
    let value = x * 7 + y * 3;
    match bits {
        1 | 4 | 8 => {
            let index = value % (1 << bits);
            (index, palette_colour(index))
        }
        16 => {
            let five = [value % 32, (value / 2) % 32, (value / 3) % 32];
            let shown = five.map(|c| ((c * 255 + 15) / 31) as u8);
            (five[0] << 10 | five[1] << 5 | five[2], shown)
        }
        _ => {
            let shown = [value as u8, (value * 5) as u8, (value * 11) as u8];
            let [red, green, blue] = shown.map(u32::from);
            (red << 16 | green << 8 | blue, shown)
        }
    }
}

fn palette_colour(index: u32) -> [u8; 3] {
    [(index * 13) as u8, (255 - index) as u8, (index * 31) as u8]
}

fn dib(
    width: u32,
    height: u32,
    bits: u16,
    alpha: u8,
    masked: impl Fn(u32, u32) -> bool,
) -> Vec<u8> {
    let mut dib = 40u32.to_le_bytes().to_vec();
    dib.extend(width.to_le_bytes());
    dib.extend((height * 2).to_le_bytes());
    dib.extend([1, 0]);
    dib.extend(bits.to_le_bytes());
    dib.extend([0; 24]);
    if bits <= 8 {
        for index in 0..1u32 << bits {
            let [red, green, blue] = palette_colour(index);
            dib.extend([blue, green, red, 0]);
        }
    }
    for y in (0..height).rev() {
        let mut row = Vec::new();
        let mut packed = (0u32, 0);
        for x in 0..width {
            let (value, _) = sample(bits, x, y);
            match bits {
                1 | 4 | 8 => {
                    packed = (packed.0 << bits | value, packed.1 + bits);
                    if packed.1 == 8 {
                        row.push(packed.0 as u8);
                        packed = (0, 0);
                    }
                }
                16 => row.extend((value as u16).to_le_bytes()),
                24 => row.extend(&value.to_le_bytes()[..3]),
                _ => row.extend((value | u32::from(alpha) << 24).to_le_bytes()),
            }
        }
        if packed.1 > 0 {
            row.push((packed.0 << (8 - packed.1)) as u8);
        }
        row.resize(row.len().next_multiple_of(4), 0);
        dib.extend(row);
    }
    for y in (0..height).rev() {
        let mut row = vec![0u8; width.div_ceil(32) as usize * 4];
        for x in (0..width).filter(|&x| masked(x, y)) {
            row[x as usize / 8] |= 0x80 >> (x % 8);
        }
        dib.extend(row);
    }
    dib
}

fn picture(payload: Vec<u8>, side: u8, bits: u16) -> Picture {
    Picture { payload, claims: (side, side, bits), claimed_length: None }
}

fn expected(width: u32, height: u32, bits: u16, alpha: impl Fn(u32, u32) -> u8) -> Pixels {
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let rgba = places.flat_map(|(x, y)| {
        let (_, [red, green, blue]) = sample(bits, x, y);
        [red, green, blue, alpha(x, y)]
    });
    Pixels::new(width, height, rgba.collect()).unwrap()
}

fn decoded(file: &[u8]) -> Pixels {
    decode(file).unwrap_or_else(|error| panic!("{error}")).1
}

const DEPTHS: [u16; 6] = [1, 4, 8, 16, 24, 32];

#[test]
fn every_depth_decodes_with_its_mask_at_even_and_odd_dimensions() {
    let corner = |x: u32, y: u32| x < 3 && y < 2;
    for bits in DEPTHS {
        for (width, height) in [(16, 16), (17, 5), (33, 31), (1, 7), (32, 32)] {
            let file = ico(&[picture(dib(width, height, bits, 0, corner), 9, 77)]);
            let wanted = expected(width, height, bits, |x, y| if corner(x, y) { 0 } else { 255 });
            assert_eq!(decoded(&file), wanted, "{bits} bits, {width}x{height}");
        }
    }
}

#[test]
fn alpha_of_32_bits_wins_over_the_mask_unless_it_is_all_zero() {
    let all = |_, _| true;
    let file = ico(&[picture(dib(16, 16, 32, 77, all), 16, 32)]);
    assert_eq!(decoded(&file), expected(16, 16, 32, |_, _| 77));
    let file = ico(&[picture(dib(16, 16, 32, 0, |x, _| x == 4), 16, 32)]);
    assert_eq!(decoded(&file), expected(16, 16, 32, |x, _| if x == 4 { 0 } else { 255 }));
}

#[test]
fn a_truncated_mask_is_opaque_beyond_its_end() {
    for bits in DEPTHS {
        let whole = dib(16, 16, bits, 0, |_, _| true);
        // The file contains half the mask, so only the picture's lower half is masked.
        let file = ico(&[picture(whole[..whole.len() - 32].to_vec(), 16, bits)]);
        let wanted = expected(16, 16, bits, |_, y| if y >= 8 { 0 } else { 255 });
        assert_eq!(decoded(&file), wanted, "{bits} bits");
        let file = ico(&[picture(whole[..whole.len() - 64].to_vec(), 16, bits)]);
        assert_eq!(decoded(&file), expected(16, 16, bits, |_, _| 255), "{bits} bits");
    }
}

#[test]
fn a_missing_mask_is_not_read_from_the_next_picture() {
    let whole = dib(16, 16, 24, 0, |_, _| false);
    let bare = picture(whole[..whole.len() - 64].to_vec(), 16, 24);
    let white = Picture { payload: vec![0xFF; 4096], ..bare.clone() };
    assert_eq!(decoded(&ico(&[bare, white])), expected(16, 16, 24, |_, _| 255));
}

#[test]
fn the_directory_is_never_trusted() {
    let wanted = expected(32, 32, 8, |_, _| 255);
    let honest = picture(dib(32, 32, 8, 0, |_, _| false), 32, 8);
    for length in [0, 1, 40, u32::MAX] {
        let liar = Picture { claims: (255, 1, 1), claimed_length: Some(length), ..honest.clone() };
        assert_eq!(decoded(&ico(&[liar])), wanted, "claimed length {length}");
    }
    let mut more_entries = ico(std::slice::from_ref(&honest));
    more_entries[4..6].copy_from_slice(&u16::MAX.to_le_bytes());
    assert_eq!(decoded(&more_entries), wanted);
}

#[test]
fn the_entry_nearest_to_32_from_above_is_chosen_then_the_deepest() {
    let entry = |side: u32, bits| picture(dib(side, side, bits, 255, |_, _| false), 1, 1);
    let chosen = |entries: &[Picture]| {
        let pixels = decoded(&ico(entries));
        let (measured, _) = decode(&ico(entries)).unwrap();
        assert_eq!((measured.width, measured.height), (pixels.width(), pixels.height()));
        pixels
    };
    let sides = |entries: &[Picture]| chosen(entries).width();
    assert_eq!(sides(&[entry(16, 32), entry(48, 4), entry(64, 32)]), 48);
    assert_eq!(sides(&[entry(16, 32), entry(24, 4), entry(8, 32)]), 24);
    let deepest = [entry(32, 4), entry(32, 24), entry(32, 8)];
    assert_eq!(chosen(&deepest), expected(32, 32, 24, |_, _| 255));
    let thin = picture(dib(16, 48, 32, 255, |_, _| false), 16, 32);
    assert_eq!(sides(&[thin, entry(32, 32)]), 32);
}

#[test]
fn the_next_best_entry_replaces_a_broken_one() {
    let entry = |side: u32, bits| picture(dib(side, side, bits, 255, |_, _| false), 1, 1);
    let mut cut_png = encode(&expected(32, 32, 24, |_, _| 255));
    cut_png.truncate(cut_png.len() / 2);
    let file = ico(&[entry(16, 8), picture(cut_png.clone(), 32, 32), entry(48, 24)]);
    assert_eq!(decoded(&file).width(), 48);
    let error = decode(&ico(&[picture(cut_png, 32, 32)])).unwrap_err();
    assert!(matches!(error, IconError::Corrupt { .. }));
    assert_eq!(decode(&ico(&[])).unwrap_err().kind(), "image_corrupt");
}

#[test]
fn png_entries_of_every_colour_type_decode() {
    let shades: [fn(u32) -> [u8; 4]; 4] = [
        |i| [(i * 3) as u8, (i * 7) as u8, i as u8, 255],
        |i| [(i * 3) as u8, (i * 7) as u8, i as u8, i as u8 | 1],
        |i| [i as u8, i as u8, i as u8, 255],
        |i| if i % 2 == 0 { [9, 8, 7, 255] } else { [200, 0, 0, 255] },
    ];
    for shade in shades {
        let pixels = Pixels::new(40, 40, (0..1600).flat_map(shade).collect()).unwrap();
        let file = ico(&[picture(encode(&pixels), 0, 32)]);
        assert_eq!(decoded(&file), pixels);
    }
}

#[test]
fn only_64_entries_are_read() {
    let broken = picture(vec![1, 2, 3, 4], 32, 32);
    let good = picture(dib(32, 32, 24, 0, |_, _| false), 32, 24);
    let with = |count| [vec![broken.clone(); count], vec![good.clone()]].concat();
    assert!(decode(&ico(&with(63))).is_ok());
    assert!(decode(&ico(&with(64))).is_err());
}
