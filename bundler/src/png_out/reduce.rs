//! The ways to store the same pixels: palette, grey, RGB, RGBA, at the least bit depth.
//!
//! Invariant: every candidate decodes to exactly the given pixels (where alpha is 0, to any
//! colour). Orders are total, so the candidates don't depend on chance.

use crate::pixels::Pixels;

const GREY: u8 = 0;
const RGB: u8 = 2;
const INDEXED: u8 = 3;
const GREY_ALPHA: u8 = 4;
const RGBA: u8 = 6;
/// Up to here a palette always won on the measured icons.
const SURELY_PALETTE: usize = 16;

/// Pixels packed for one colour type and bit depth.
#[derive(Debug)]
pub(super) struct Reduced {
    pub(super) colour_type: u8,
    pub(super) bit_depth: u8,
    /// PLTE, 3 bytes an entry.
    pub(super) palette: Vec<u8>,
    /// tRNS: alpha of the first palette entries, or the one transparent colour.
    pub(super) transparency: Vec<u8>,
    /// Packed rows, `row_bytes` each.
    pub(super) rows: Vec<u8>,
    pub(super) row_bytes: usize,
    /// Bytes from a byte to the same one of the pixel to the left.
    pub(super) pixel_bytes: usize,
}

impl Reduced {
    pub(super) fn is_palette(&self) -> bool {
        self.colour_type == INDEXED
    }

    /// Rows of whole bytes, `sample` giving those of a pixel.
    fn of_bytes<const N: usize>(
        pixels: &Pixels,
        colour_type: u8,
        transparency: Vec<u8>,
        sample: impl Fn([u8; 4]) -> [u8; N],
    ) -> Self {
        Self {
            colour_type,
            bit_depth: 8,
            palette: Vec::new(),
            transparency,
            rows: pixels.iter().flat_map(sample).collect(),
            row_bytes: pixels.width() as usize * N,
            pixel_bytes: N,
        }
    }

    /// Rows of `depth` bits a pixel, `sample` giving them.
    fn of_bits(
        pixels: &Pixels,
        colour_type: u8,
        depth: u8,
        sample: impl Fn([u8; 4]) -> u8,
    ) -> Self {
        let per_byte = usize::from(8 / depth);
        let samples: Vec<u8> = pixels.iter().map(sample).collect();
        let pack = |part: &[u8]| {
            let mut byte = 0u8;
            for (place, sample) in part.iter().enumerate() {
                byte |= sample << (8 - usize::from(depth) * (place + 1));
            }
            byte
        };
        let width = pixels.width() as usize;
        Self {
            colour_type,
            bit_depth: depth,
            palette: Vec::new(),
            transparency: Vec::new(),
            rows: samples.chunks(width).flat_map(|row| row.chunks(per_byte).map(pack)).collect(),
            row_bytes: width.div_ceil(per_byte),
            pixel_bytes: 1,
        }
    }
}

/// The ways worth trying.
pub(super) fn candidates(pixels: &Pixels) -> Vec<Reduced> {
    let mut colours: Vec<[u8; 4]> = pixels.iter().collect();
    colours.sort_unstable();
    colours.dedup();
    let mut found = Vec::new();
    if colours.len() <= 256 {
        found.push(indexed(pixels, colours.clone()));
    }
    let grey = colours.iter().all(|&[red, green, blue, _]| red == green && green == blue);
    if grey {
        found.push(greyscale(pixels, &colours));
    } else if colours.len() > SURELY_PALETTE {
        found.push(true_colour(pixels, &colours));
    }
    found
}

/// Bits that hold `count` different values.
fn depth_for(count: usize) -> u8 {
    match count {
        0..=2 => 1,
        3..=4 => 2,
        5..=16 => 4,
        _ => 8,
    }
}

fn indexed(pixels: &Pixels, mut colours: Vec<[u8; 4]>) -> Reduced {
    // Entries that are not opaque come first, so that tRNS is short; then by lightness, so that
    // neighbours in a shade are neighbours in the palette.
    let lightness = |c: &[u8; 4]| 2 * u32::from(c[0]) + 4 * u32::from(c[1]) + u32::from(c[2]);
    colours.sort_unstable_by_key(|colour| (colour[3] == 255, lightness(colour), *colour));
    let mut by_colour: Vec<([u8; 4], u8)> = colours.iter().copied().zip(0..=255u8).collect();
    by_colour.sort_unstable();
    let index = |pixel: [u8; 4]| {
        // Every pixel's colour is in the palette.
        let at = by_colour.binary_search_by_key(&pixel, |entry| entry.0).unwrap_or(0);
        by_colour[at].1
    };
    let alphas = colours.iter().map(|colour| colour[3]);
    let mut reduced = Reduced::of_bits(pixels, INDEXED, depth_for(colours.len()), index);
    reduced.transparency = alphas.take_while(|&alpha| alpha < 255).collect();
    reduced.palette =
        colours.iter().flat_map(|&[red, green, blue, _]| [red, green, blue]).collect();
    reduced
}

/// Alpha is 255 everywhere, or 255 and 0 only: `Some` of whether any is 0.
fn plain_alpha(colours: &[[u8; 4]]) -> Option<bool> {
    let plain = colours.iter().all(|colour| matches!(colour[3], 0 | 255));
    plain.then(|| colours.iter().any(|colour| colour[3] == 0))
}

fn greyscale(pixels: &Pixels, colours: &[[u8; 4]]) -> Reduced {
    let used = |grey: u8| colours.contains(&[grey, grey, grey, 255]);
    match plain_alpha(colours) {
        Some(false) => {
            let fits = |depth: &u8| {
                let step = 255 / ((1u16 << depth) - 1) as u8;
                colours.iter().all(|colour| colour[0] % step == 0)
            };
            let depth = [1, 2, 4].into_iter().find(fits).unwrap_or(8);
            let step = 255 / ((1u16 << depth) - 1) as u8;
            Reduced::of_bits(pixels, GREY, depth, |pixel| pixel[0] / step)
        }
        Some(true) if (0..=255).any(|grey| !used(grey)) => {
            let key = (0..=255).find(|&grey| !used(grey)).unwrap_or(0);
            let sample = |pixel: [u8; 4]| [if pixel[3] == 0 { key } else { pixel[0] }];
            Reduced::of_bytes(pixels, GREY, vec![0, key], sample)
        }
        _ => Reduced::of_bytes(pixels, GREY_ALPHA, Vec::new(), |pixel| [pixel[0], pixel[3]]),
    }
}

fn true_colour(pixels: &Pixels, colours: &[[u8; 4]]) -> Reduced {
    let rgb = |[red, green, blue, _]: [u8; 4]| [red, green, blue];
    match plain_alpha(colours) {
        Some(false) => Reduced::of_bytes(pixels, RGB, Vec::new(), rgb),
        Some(true) => {
            // The first unused grey stands for transparent; 2^20 pixels may use all 256.
            let used = |grey: u8| colours.binary_search(&[grey, grey, grey, 255]).is_ok();
            let Some(key) = (0..=255).find(|&grey| !used(grey)) else {
                return Reduced::of_bytes(pixels, RGBA, Vec::new(), |pixel| pixel);
            };
            let keyed = |pixel: [u8; 4]| if pixel[3] == 0 { [key; 3] } else { rgb(pixel) };
            Reduced::of_bytes(pixels, RGB, vec![0, key, 0, key, 0, key], keyed)
        }
        None => Reduced::of_bytes(pixels, RGBA, Vec::new(), |pixel| pixel),
    }
}
