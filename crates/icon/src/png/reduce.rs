//! The ways to store the same pixels: palette, grey, RGB, RGBA, at the least bit depth.
//!
//! Invariant: every candidate decodes to exactly the given pixels (where alpha is 0, to any
//! colour). Orders are total, so the candidates don't depend on chance.

use super::census::{Alpha, Census, MOST};
use super::filter::{least_sums, unfiltered};
use crate::pixels::Pixels;

const GREY: u8 = 0;
const RGB: u8 = 2;
pub(crate) const INDEXED: u8 = 3;
const GREY_ALPHA: u8 = 4;
const RGBA: u8 = 6;

/// Pixels packed for one colour type and bit depth.
#[derive(Debug, Clone)]
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
    /// Rows of whole bytes, `sample` giving those of a pixel.
    fn of_bytes<const N: usize>(
        pixels: &Pixels,
        colour_type: u8,
        transparency: Vec<u8>,
        sample: impl Fn([u8; 4]) -> [u8; N],
    ) -> Self {
        let mut rows = vec![0; pixels.rgba().len() / 4 * N];
        for (target, pixel) in rows.as_chunks_mut::<N>().0.iter_mut().zip(pixels.iter()) {
            *target = sample(pixel);
        }
        Self {
            colour_type,
            bit_depth: 8,
            palette: Vec::new(),
            transparency,
            rows,
            row_bytes: pixels.width() as usize * N,
            pixel_bytes: N,
        }
    }

    /// Rows of `depth` bits a sample.
    fn of_bits(width: usize, colour_type: u8, depth: u8, samples: Vec<u8>) -> Self {
        let per_byte = usize::from(8 / depth);
        let pack = |part: &[u8]| {
            let mut byte = 0u8;
            for (place, sample) in part.iter().enumerate() {
                byte |= sample << (8 - usize::from(depth) * (place + 1));
            }
            byte
        };
        let rows = if depth == 8 {
            samples
        } else {
            samples.chunks(width).flat_map(|row| row.chunks(per_byte).map(pack)).collect()
        };
        Self {
            colour_type,
            bit_depth: depth,
            palette: Vec::new(),
            transparency: Vec::new(),
            rows,
            row_bytes: width.div_ceil(per_byte),
            pixel_bytes: 1,
        }
    }
}

/// The ways worth trying: the one that should be smallest by what the picture is like, and where
/// two are near each other both. The constants are fitted to 3,590 icons, each stored in every way
/// (docs/decisions/0020); what is left out would save half a percent of the bytes.
pub(super) fn candidates(pixels: &Pixels) -> Vec<(Reduced, Vec<u8>)> {
    let census = Census::of(pixels);
    let mut found = Vec::with_capacity(2);
    let gain = palette_gain(pixels, &census);
    if let Some(indices) = census.indices.as_ref().filter(|_| gain > -MARGIN) {
        let palette = indexed(pixels, &census, indices);
        let rows = unfiltered(&palette);
        found.push((palette, rows));
    }
    if gain < MARGIN {
        let coloured = coloured(pixels, &census);
        let colours = census.colours.len() as i64;
        let filtered = (colours > FEW && coloured.bit_depth == 8).then(|| least_sums(&coloured));
        // Filters pay where neighbours are alike and few colours come twice.
        let gain = filtered.as_ref().map_or(-FILTER_MARGIN, |(_, sum)| {
            (1_305 * colours - 46_000 - 13 * i64::from(*sum)) / 1_000
        });
        if gain < FILTER_MARGIN {
            let rows = unfiltered(&coloured);
            found.push((coloured.clone(), rows));
        }
        if let Some((rows, _)) = filtered.filter(|_| gain > -FILTER_MARGIN) {
            found.push((coloured, rows));
        }
    }
    found
}

/// Bytes by which two ways may differ for both to be tried.
const MARGIN: i64 = 20;
const FILTER_MARGIN: i64 = 80;
/// Up to here filters never pay.
const FEW: i64 = 64;

/// Bytes that a palette should save over the colours themselves. Its entries are not compressed:
/// it pays where colours come again apart from each other.
fn palette_gain(pixels: &Pixels, census: &Census) -> i64 {
    let colours = census.colours.len() as i64;
    match (census.grey, colours) {
        _ if census.indices.is_none() => -MARGIN,
        (_, 0..=2) => MARGIN,
        // Grey is as short as an index.
        (true, 3..=16) => 0,
        (true, _) => -MARGIN,
        (false, _) => (46 * new_pixels(pixels) - 164 * colours - 376) / 100,
    }
}

/// Pixels that are like neither the one before nor the one above.
fn new_pixels(pixels: &Pixels) -> i64 {
    let all = pixels.rgba().as_chunks::<4>().0;
    let width = pixels.width() as usize;
    let mut before = [0; 4];
    let mut count = 0;
    for (place, &pixel) in all.iter().enumerate() {
        let above = place.checked_sub(width).map_or(before, |above| all[above]);
        count += i64::from(pixel != before && pixel != above);
        before = pixel;
    }
    count
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

fn indexed(pixels: &Pixels, census: &Census, indices: &[u8]) -> Reduced {
    // Entries that are not opaque come first, so that tRNS is short; else as they appear.
    let opaque = |colour: &[u8; 4]| colour[3] == 255;
    let see_through = census.colours.iter().filter(|colour| !opaque(colour));
    let entries = see_through.clone().chain(census.colours.iter().filter(|colour| opaque(colour)));
    let (mut front, mut back) = (0u8, see_through.clone().count() as u8);
    let mut place = [0u8; MOST];
    for (colour, place) in census.colours.iter().zip(&mut place) {
        let next = if opaque(colour) { &mut back } else { &mut front };
        *place = *next;
        // 256 entries are the most, and the last needs no next.
        *next = next.wrapping_add(1);
    }
    let samples = indices.iter().map(|&index| place[usize::from(index)]).collect();
    let (width, depth) = (pixels.width() as usize, depth_for(census.colours.len()));
    let mut reduced = Reduced::of_bits(width, INDEXED, depth, samples);
    reduced.transparency = see_through.map(|colour| colour[3]).collect();
    reduced.palette = entries.flat_map(|&[red, green, blue, _]| [red, green, blue]).collect();
    reduced
}

/// Grey or true colour, whichever holds the pixels.
fn coloured(pixels: &Pixels, census: &Census) -> Reduced {
    if census.grey { greyscale(pixels, census) } else { true_colour(pixels, census.alpha) }
}

/// A grey that no opaque pixel has. A picture of 2^22 pixels may use all 256.
fn unused_grey(pixels: &Pixels) -> Option<u8> {
    let mut used = [false; 256];
    for [red, green, blue, alpha] in pixels.iter() {
        used[usize::from(red)] |= red == green && green == blue && alpha == 255;
    }
    (0..=255).find(|&grey| !used[usize::from(grey)])
}

fn greyscale(pixels: &Pixels, census: &Census) -> Reduced {
    match (census.alpha, unused_grey(pixels)) {
        (Alpha::Opaque, _) => {
            let fits = |depth: &u8| {
                let step = 255 / ((1u16 << depth) - 1) as u8;
                census.indices.is_some() && census.colours.iter().all(|c| c[0] % step == 0)
            };
            let depth = [1, 2, 4].into_iter().find(fits).unwrap_or(8);
            let step = 255 / ((1u16 << depth) - 1) as u8;
            let samples = pixels.iter().map(|pixel| pixel[0] / step).collect();
            Reduced::of_bits(pixels.width() as usize, GREY, depth, samples)
        }
        (Alpha::OnOff, Some(key)) => {
            let sample = |pixel: [u8; 4]| [if pixel[3] == 0 { key } else { pixel[0] }];
            Reduced::of_bytes(pixels, GREY, vec![0, key], sample)
        }
        _ => Reduced::of_bytes(pixels, GREY_ALPHA, Vec::new(), |pixel| [pixel[0], pixel[3]]),
    }
}

fn true_colour(pixels: &Pixels, alpha: Alpha) -> Reduced {
    let rgb = |[red, green, blue, _]: [u8; 4]| [red, green, blue];
    match (alpha, unused_grey(pixels)) {
        (Alpha::Opaque, _) => Reduced::of_bytes(pixels, RGB, Vec::new(), rgb),
        (Alpha::OnOff, Some(key)) => {
            let keyed = |pixel: [u8; 4]| if pixel[3] == 0 { [key; 3] } else { rgb(pixel) };
            Reduced::of_bytes(pixels, RGB, vec![0, key, 0, key, 0, key], keyed)
        }
        _ => Reduced::of_bytes(pixels, RGBA, Vec::new(), |pixel| pixel),
    }
}
