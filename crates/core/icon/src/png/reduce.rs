//! Chooses how to store pixels: as palette indices, grey, RGB or RGBA, at the lowest bit depth.
//!
//! Invariant: every candidate decodes to exactly the given pixels, except that pixels with alpha 0
//! may get any colour.

use super::{
    census::{Alpha, Census, MAX_PALETTE_COLOURS},
    filter::{least_sums, unfiltered},
    format::{GREY, GREY_ALPHA, INDEXED, RGB, RGBA},
    packed::PackedPixels,
};
use crate::pixels::Pixels;

/// Returns the variants to compress, as packed pixels and filtered rows: the one with the smallest
/// expected size, and one or two others if their expected sizes are close. The constants are fitted
/// to 3,590 icons, each stored in every way (docs/decisions/0020).
pub(super) fn candidates(pixels: &Pixels, census: &Census) -> Vec<(PackedPixels, Vec<u8>)> {
    let mut found = Vec::with_capacity(2);
    let gain = palette_gain(pixels, census);
    if gain > -MARGIN && census.fits_palette() {
        let palette = indexed(pixels, census);
        let rows = unfiltered(&palette);
        found.push((palette, rows));
    }
    if gain < MARGIN {
        let coloured = coloured(pixels, census);
        let colours = census.colours.len() as i64;
        let filtered = (colours > FEW && coloured.bit_depth == 8).then(|| least_sums(&coloured));
        // Filters help if neighbouring pixels are similar and few colours repeat.
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

/// Try both a palette and direct colours if their expected sizes differ by less than this many
/// bytes.
const MARGIN: i64 = 20;
/// Try both filtered and unfiltered rows if their expected sizes differ by less than this many
/// bytes.
const FILTER_MARGIN: i64 = 80;
/// With at most this many colours, filters never made a measured file smaller.
const FEW: i64 = 64;

/// Returns how many bytes a palette should save. Palette entries are not compressed, so a palette
/// helps if colours recur far from each other.
fn palette_gain(pixels: &Pixels, census: &Census) -> i64 {
    let colours = census.colours.len() as i64;
    match (census.grey, colours) {
        _ if !census.fits_palette() => -MARGIN,
        (_, 0..=2) => MARGIN,
        // A grey sample may have as few bits as an index, so try both.
        (true, 3..=16) => 0,
        (true, _) => -MARGIN,
        (false, _) => (46 * new_pixels(pixels) - 164 * colours - 376) / 100,
    }
}

fn new_pixels(pixels: &Pixels) -> i64 {
    let all = pixels.rgba().as_chunks::<4>().0;
    let width = pixels.width() as usize;
    let mut previous = [0; 4];
    let mut count = 0;
    for (index, &pixel) in all.iter().enumerate() {
        let above = index.checked_sub(width).map_or(previous, |above| all[above]);
        count += i64::from(pixel != previous && pixel != above);
        previous = pixel;
    }
    count
}

fn depth_for(count: usize) -> u8 {
    match count {
        0..=2 => 1,
        3..=4 => 2,
        5..=16 => 4,
        _ => 8,
    }
}

fn indexed(pixels: &Pixels, census: &Census) -> PackedPixels {
    // Place entries that are not opaque first, so that the tRNS chunk is short.
    let opaque = |colour: &[u8; 4]| colour[3] == 255;
    let see_through = census.colours.iter().filter(|colour| !opaque(colour));
    let entries = see_through.clone().chain(census.colours.iter().filter(|colour| opaque(colour)));
    let (mut front, mut back) = (0u8, see_through.clone().count() as u8);
    let mut entry_of = [0u8; MAX_PALETTE_COLOURS];
    for (colour, entry) in census.colours.iter().zip(&mut entry_of) {
        let next = if opaque(colour) { &mut back } else { &mut front };
        *entry = *next;
        // This wraps only after entry 255, which is the last possible entry.
        *next = next.wrapping_add(1);
    }
    let samples = census.of_pixel.iter().map(|&index| entry_of[index as usize]).collect();
    let width = pixels.width() as usize;
    let depth = depth_for(census.colours.len());
    let mut packed = PackedPixels::of_bits(width, INDEXED, depth, samples);
    packed.transparency = see_through.map(|colour| colour[3]).collect();
    packed.palette = entries.flat_map(|&[red, green, blue, _]| [red, green, blue]).collect();
    packed
}

fn coloured(pixels: &Pixels, census: &Census) -> PackedPixels {
    if census.grey { greyscale(pixels, census) } else { true_colour(pixels, census.alpha) }
}

/// `None` if the picture uses all 256 levels.
fn unused_grey(pixels: &Pixels) -> Option<u8> {
    let mut used = [false; 256];
    for [red, green, blue, alpha] in pixels.iter() {
        used[usize::from(red)] |= red == green && green == blue && alpha == 255;
    }
    (0..=255).find(|&grey| !used[usize::from(grey)])
}

fn greyscale(pixels: &Pixels, census: &Census) -> PackedPixels {
    match (census.alpha, unused_grey(pixels)) {
        (Alpha::Opaque, _) => {
            let fits = |depth: &u8| {
                let step = 255 / ((1u16 << depth) - 1) as u8;
                census.fits_palette() && census.colours.iter().all(|c| c[0] % step == 0)
            };
            let depth = [1, 2, 4].into_iter().find(fits).unwrap_or(8);
            let step = 255 / ((1u16 << depth) - 1) as u8;
            let samples = pixels.iter().map(|pixel| pixel[0] / step).collect();
            PackedPixels::of_bits(pixels.width() as usize, GREY, depth, samples)
        }
        (Alpha::OnOff, Some(key)) => {
            let sample = |pixel: [u8; 4]| [if pixel[3] == 0 { key } else { pixel[0] }];
            PackedPixels::of_bytes(pixels, GREY, vec![0, key], sample)
        }
        _ => PackedPixels::of_bytes(pixels, GREY_ALPHA, Vec::new(), |pixel| [pixel[0], pixel[3]]),
    }
}

fn true_colour(pixels: &Pixels, alpha: Alpha) -> PackedPixels {
    let rgb = |[red, green, blue, _]: [u8; 4]| [red, green, blue];
    match (alpha, unused_grey(pixels)) {
        (Alpha::Opaque, _) => PackedPixels::of_bytes(pixels, RGB, Vec::new(), rgb),
        (Alpha::OnOff, Some(key)) => {
            let keyed = |pixel: [u8; 4]| if pixel[3] == 0 { [key; 3] } else { rgb(pixel) };
            PackedPixels::of_bytes(pixels, RGB, vec![0, key, 0, key, 0, key], keyed)
        }
        _ => PackedPixels::of_bytes(pixels, RGBA, Vec::new(), |pixel| pixel),
    }
}
