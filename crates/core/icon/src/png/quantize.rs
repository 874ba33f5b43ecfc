//! Merges similar colours: repeatedly splits the box with the largest error until there are enough
//! boxes (as in median cut), then runs two rounds of k-means.
//!
//! The result is the same on every machine, because float computations are exact or rounded as IEEE
//! 754 prescribes. We do not dither, because dithering looks like dirt at 32 pixels.

use multiversion::multiversion;

use super::{
    census::Census,
    difference::{Coordinates, Difference, WEIGHT_SUM, WEIGHTS, distance, premultiplied},
};
use crate::pixels::Pixels;

/// Maximum visible colours after merging. With the fully transparent colour there are at most 64.
const MAX_COLOURS: usize = 63;
/// Maximum pixels in a picture whose colours are merged, so that sums fit into 32 bits. A picture
/// beyond this limit keeps all its colours. A tab icon has at most 1,024 pixels.
const MAX_PIXELS: usize = 1 << 15;
/// Number of k-means rounds. Further rounds would change few pixels.
const ROUNDS: usize = 2;
/// Boxes are not split further if the mean difference, in hundredths, is at most this: a fifth of
/// the maximum invisible difference.
pub(super) const ENOUGH_MEAN: i64 = 200;

pub(super) struct Merged {
    pub(super) pixels: Pixels,
    pub(super) difference: Difference,
}

/// Reduces `pixels` to at most 64 colours, or fewer if the mean difference then is at most
/// `enough`, in hundredths. `None` if the picture has at most 63 visible colours already, or if it
/// is too large.
pub(super) fn merged(pixels: &Pixels, census: &Census, enough: i64) -> Option<Merged> {
    if census.of_pixel.len() > MAX_PIXELS {
        return None;
    }
    let colours = visible(census);
    if colours.len() <= MAX_COLOURS {
        return None;
    }
    let (width, height) = (pixels.width() as usize, pixels.height() as usize);
    let enough = enough * (width * height) as i64 * i64::from(2 * WEIGHT_SUM) / 100;
    let blocks: Vec<SearchBlock> = colours.chunks(BLOCK).map(SearchBlock::of).collect();
    let mut palette = Palette::of(&split(&colours, enough));
    let mut nearest = vec![0; blocks.len() * BLOCK];
    for _ in 0..ROUNDS {
        find_nearest(&palette.entries, &blocks, &mut nearest);
        palette = Palette::of(&gathered(&colours, &nearest, palette.rgba.len()));
    }
    find_nearest(&palette.entries, &blocks, &mut nearest);
    let mut replacements: Vec<_> = census.colours.iter().map(|&colour| (colour, 0)).collect();
    for (colour, &entry) in colours.iter().zip(&nearest) {
        let rgba = palette.rgba[entry as usize];
        replacements[colour.index] = (rgba, distance(colour.at, premultiplied(rgba)));
    }
    let each = census.of_pixel.iter().map(|&index| replacements[index as usize]);
    let difference = Difference::of(width, height, each.clone().map(|(_, far)| far));
    let rgba = each.flat_map(|(rgba, _)| rgba).collect();
    Pixels::new(pixels.width(), pixels.height(), rgba).map(|pixels| Merged { pixels, difference })
}

struct Colour {
    index: usize,
    rgba: [u8; 4],
    at: Coordinates,
    sums: Sums,
}

fn visible(census: &Census) -> Vec<Colour> {
    let mut counts = vec![0; census.colours.len()];
    for &index in &census.of_pixel {
        counts[index as usize] += 1;
    }
    let mut colours = Vec::with_capacity(census.colours.len());
    for (index, (&rgba, count)) in census.colours.iter().zip(counts).enumerate() {
        if rgba[3] > 0 {
            let at = premultiplied(rgba);
            colours.push(Colour { index, rgba, at, sums: Sums::of(at, count) });
        }
    }
    colours
}

/// Sums over all pixels in a set of colours. The sums are in one array, so that vector instructions
/// can add them:
/// - 0: number of pixels
/// - 1 to 4: red, green, blue, alpha
/// - 5 to 7: squares of red, green and blue, for the picture on black
/// - 8 to 10: squares of red, green and blue minus alpha, for the picture on white
/// - 11: squares of alpha
#[derive(Clone, Copy, Default)]
struct Sums([i32; 12]);

// The largest possible sum of squares fits into an `i32`.
const _: () = assert!(MAX_PIXELS as u64 * 255 * 255 <= i32::MAX as u64);

impl Sums {
    fn of(at: Coordinates, count: i32) -> Self {
        let [red, green, blue, alpha] = at;
        let [white_red, white_green, white_blue] = [red, green, blue].map(|value| value - alpha);
        let squares = [red, green, blue, white_red, white_green, white_blue, alpha];
        let mut sums = [count; 12];
        for (sum, value) in sums[1..5].iter_mut().zip(at) {
            *sum *= value;
        }
        for (sum, value) in sums[5..].iter_mut().zip(squares) {
            *sum *= value * value;
        }
        Self(sums)
    }

    /// Adds `other` if `mask` is -1, and nothing if `mask` is 0. [`MAX_PIXELS`] excludes overflows.
    fn add(&mut self, other: &Self, mask: i32) {
        for (sum, other) in self.0.iter_mut().zip(other.0) {
            *sum = sum.wrapping_add(other & mask);
        }
    }

    fn without(mut self, part: &Self) -> Self {
        for (sum, part) in self.0.iter_mut().zip(part.0) {
            *sum = sum.wrapping_sub(part);
        }
        self
    }

    fn count(&self) -> i64 {
        i64::from(self.0[0])
    }

    fn channels(&self) -> [i64; 4] {
        [self.0[1], self.0[2], self.0[3], self.0[4]].map(i64::from)
    }

    /// Returns the sum of squared differences from the mean, for each value whose squares are
    /// summed.
    fn spreads(&self) -> [i64; 7] {
        let [red, green, blue, alpha] = self.channels();
        let sums = [red, green, blue, red - alpha, green - alpha, blue - alpha, alpha];
        let mut spreads = [0; 7];
        for ((spread, sum), &square) in spreads.iter_mut().zip(sums).zip(&self.0[5..]) {
            *spread = i64::from(square) - quotient(sum * sum, self.count());
        }
        spreads
    }

    fn rgba(&self) -> [u8; 4] {
        let channels = self.channels();
        let alpha = channels[3].max(1);
        let straight = |sum: i64| quotient(sum * 255 + alpha / 2, alpha).clamp(0, 255) as u8;
        let [red, green, blue, _] = channels.map(straight);
        let mean = quotient(channels[3] + self.count() / 2, self.count());
        [red, green, blue, mean.clamp(1, 255) as u8]
    }
}

/// Float division is faster than integer division. The truncated result is exact, because all
/// numbers are below 2^53.
fn quotient(number: i64, divisor: i64) -> i64 {
    (number as f64 / divisor.max(1) as f64) as i64
}

struct Group {
    sums: Sums,
    only: Option<[u8; 4]>,
}

/// A box of similar colours: a range of the list that `split` reorders.
struct ColourBox {
    range: std::ops::Range<usize>,
    sums: Sums,
    error: i64,
    widest: usize,
}

impl ColourBox {
    fn of(range: std::ops::Range<usize>, sums: Sums) -> Self {
        let spreads = sums.spreads();
        let error =
            |index: usize| i64::from(WEIGHTS[index]) * (spreads[index] + spreads[index + 3]);
        let along = |index: usize| match index {
            3 => i64::from(WEIGHT_SUM) * spreads[6],
            _ => i64::from(2 * WEIGHTS[index]) * spreads[index],
        };
        let widest = (0..4).rev().max_by_key(|&index| along(index)).unwrap_or(1);
        Self { range, sums, error: error(0) + error(1) + error(2), widest }
    }
}

/// Splits the colours into boxes until the total error is at most `enough` or there are
/// [`MAX_COLOURS`] boxes.
fn split(colours: &[Colour], enough: i64) -> Vec<Group> {
    let mut order: Vec<u32> = (0..colours.len() as u32).collect();
    let mut whole = Sums::default();
    colours.iter().for_each(|colour| whole.add(&colour.sums, -1));
    let mut boxes = vec![ColourBox::of(0..colours.len(), whole)];
    let mut total = boxes[0].error;
    while boxes.len() < MAX_COLOURS && total > enough {
        let worst = (0..boxes.len()).rev().max_by_key(|&index| boxes[index].error).unwrap_or(0);
        let ColourBox { ref range, sums, error, widest } = boxes[worst];
        let mean = quotient(sums.channels()[widest], sums.count()) as i32;
        // Move the colours that are at most the mean to the front. We use a mask instead of a
        // branch, because the processor would mispredict half the branches.
        let mut low = Sums::default();
        let mut cut = 0;
        let part = &mut order[range.clone()];
        for place in 0..part.len() {
            let (index, first_high) = (part[place], part[cut]);
            let colour = &colours[index as usize];
            let mask = (colour.at[widest] - mean - 1) >> 31;
            low.add(&colour.sums, mask);
            let swapped = (index ^ first_high) & mask.cast_unsigned();
            part[place] = index ^ swapped;
            part[cut] = first_high ^ swapped;
            cut += (mask & 1) as usize;
        }
        let cut = range.start + cut;
        total -= error;
        if cut == range.start || cut == range.end {
            boxes[worst].error = 0;
            continue;
        }
        let second = ColourBox::of(cut..range.end, sums.without(&low));
        let first = ColourBox::of(range.start..cut, low);
        total += first.error + second.error;
        boxes[worst] = first;
        boxes.push(second);
    }
    let group = |ColourBox { range, sums, .. }: ColourBox| Group {
        sums,
        only: (range.len() == 1).then(|| colours[order[range.start] as usize].rgba),
    };
    boxes.into_iter().map(group).collect()
}

fn gathered(colours: &[Colour], nearest: &[u32], entries: usize) -> Vec<Group> {
    let mut groups: Vec<Group> =
        (0..entries).map(|_| Group { sums: Sums::default(), only: None }).collect();
    for (colour, &entry) in colours.iter().zip(nearest) {
        let group = &mut groups[entry as usize];
        group.only = (group.sums.count() == 0).then_some(colour.rgba);
        group.sums.add(&colour.sums, -1);
    }
    groups.retain(|group| group.sums.count() > 0);
    groups
}

/// We search the nearest entries for a block of colours together, so that the compiler vectorises
/// the search.
const BLOCK: usize = 64;

/// A block of colours, prepared for the search. The distance between a colour x and an entry e is
/// |x|² - 2<x,e> + |e|², where the products are weighted sums over black and white. We omit |x|²,
/// because it is equal for all entries. The factors are the coefficients of e's coordinates in
/// -2<x,e>, one row per coordinate.
struct SearchBlock([[f32; BLOCK]; 4]);

impl SearchBlock {
    fn of(colours: &[Colour]) -> Self {
        let mut factors = [[0.0; BLOCK]; 4];
        for (lane, colour) in colours.iter().enumerate().take(BLOCK) {
            let [.., alpha] = colour.at;
            let mut over_white = WEIGHT_SUM * alpha;
            for (row, (weight, value)) in WEIGHTS.iter().zip(colour.at).enumerate() {
                factors[row][lane] = (-2 * weight * (2 * value - alpha)) as f32;
                over_white -= weight * value;
            }
            factors[3][lane] = (-2 * over_white) as f32;
        }
        Self(factors)
    }
}

struct Entry {
    at: [f32; 4],
    square: f32,
}

struct Palette {
    rgba: Vec<[u8; 4]>,
    entries: Vec<Entry>,
}

impl Palette {
    fn of(groups: &[Group]) -> Self {
        let rgba: Vec<[u8; 4]> =
            groups.iter().map(|group| group.only.unwrap_or_else(|| group.sums.rgba())).collect();
        let entry = |&rgba: &[u8; 4]| {
            let at = premultiplied(rgba);
            Entry { at: at.map(|value| value as f32), square: distance(at, [0; 4]) as f32 }
        };
        let entries = rgba.iter().map(entry).collect();
        Self { rgba, entries }
    }
}

// A distance is the sum of |e|² and four products. `f32` represents all partial sums exactly,
// because they are integers below this bound.
const _: () = assert!(3 * 2 * WEIGHT_SUM * 255 * 255 < 1 << 24);

/// Writes each colour's nearest entry, by index, to `nearest`. If several are equally near, the
/// first one counts. AVX2 does not change the result, because `f32` represents all these integers
/// exactly.
#[multiversion(targets("x86_64+avx2"))]
fn find_nearest(entries: &[Entry], colours: &[SearchBlock], nearest: &mut [u32]) {
    for (SearchBlock(factors), nearest) in colours.iter().zip(nearest.as_chunks_mut::<BLOCK>().0) {
        let mut least = [f32::MAX; BLOCK];
        for (index, entry) in (0u32..).zip(entries) {
            for lane in 0..BLOCK {
                let far = entry.square
                    + factors[0][lane] * entry.at[0]
                    + factors[1][lane] * entry.at[1]
                    + factors[2][lane] * entry.at[2]
                    + factors[3][lane] * entry.at[3];
                let is_nearer = far < least[lane];
                nearest[lane] = if is_nearer { index } else { nearest[lane] };
                least[lane] = if is_nearer { far } else { least[lane] };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_of_the_largest_picture_are_merged_and_those_of_a_larger_one_kept() {
        // Most pixels are white, so that the sums of squares are as large as possible.
        let colour = |i: u32| if i < 300 { [255, 255, (i % 200) as u8, 255] } else { [255; 4] };
        let picture = |width: u32| {
            let pixels = Pixels::new(width, 128, (0..width * 128).flat_map(colour).collect());
            let pixels = pixels.unwrap();
            let census = Census::of(&pixels);
            (pixels, census)
        };
        let (pixels, census) = picture(256);
        assert_eq!(census.of_pixel.len(), MAX_PIXELS);
        let merged_colours = merged(&pixels, &census, 0).map(|merged| Census::of(&merged.pixels));
        assert!((2..=MAX_COLOURS).contains(&merged_colours.unwrap().colours.len()));
        let (pixels, census) = picture(257);
        assert!(merged(&pixels, &census, 0).is_none());
    }

    proptest! {
        #[test]
        fn the_entry_found_in_floats_is_the_first_nearest_in_integers(
            entries in proptest::collection::vec(any::<[u8; 4]>(), 1..=MAX_COLOURS),
            colours in proptest::collection::vec(any::<[u8; 4]>(), 1..100),
        ) {
            let colour = |(index, &rgba): (usize, &[u8; 4])| {
                let at = premultiplied(rgba);
                Colour { index, rgba, at, sums: Sums::of(at, 1) }
            };
            let colours: Vec<Colour> = colours.iter().enumerate().map(colour).collect();
            let group = |&rgba: &[u8; 4]| {
                Group { sums: Sums::of(premultiplied(rgba), 1), only: Some(rgba) }
            };
            let palette = Palette::of(&entries.iter().map(group).collect::<Vec<_>>());
            let blocks: Vec<SearchBlock> = colours.chunks(BLOCK).map(SearchBlock::of).collect();
            let mut found = vec![0; blocks.len() * BLOCK];
            find_nearest(&palette.entries, &blocks, &mut found);
            for (colour, found) in colours.iter().zip(found) {
                let far = |entry: &usize| distance(colour.at, premultiplied(entries[*entry]));
                let first = (0..entries.len()).min_by_key(far);
                prop_assert_eq!(first, Some(found as usize));
            }
        }

        #[test]
        fn a_quotient_is_rounded_down(number in 0..1i64 << 46, divisor in 1..1i64 << 11) {
            prop_assert_eq!(quotient(number, divisor), number / divisor);
            let below = number / divisor * divisor - 1;
            prop_assume!(below >= 0);
            prop_assert_eq!(quotient(below, divisor), below / divisor);
        }
    }
}
