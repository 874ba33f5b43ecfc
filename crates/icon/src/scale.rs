//! Scaling down in linear light with premultiplied alpha, in integers alone.
//!
//! Invariants: never up; aspect kept, each side at least 1 pixel; the same result on every
//! machine, for there is no float, no SIMD and no library in it: the weights are exact rationals
//! rounded once, the sRGB curve is a table. A picture that fits already is returned untouched.
//! The filter is Catmull-Rom (Keys 1981, a = -1/2), stretched by the ratio; pictures of four times
//! the target and more are first averaged in cells of whole pixels.

mod srgb;

use crate::pixels::Pixels;
use srgb::{LINEAR, to_srgb};

/// Weights of a target pixel add up to this.
const WEIGHT_ONE: i32 = 1 << 14;
/// Linear light times alpha where both are full, before any weight: 15 bits.
const SAMPLE_ONE: i32 = i16::MAX as i32;
/// The same after the rows: 14 bits, so that what the filter overshoots fits too.
const ROW_ONE: i32 = 1 << 14;
const ROW_SHIFT: u32 = 15;
/// The same after rows and columns.
const SUM_ONE: i64 = ROW_ONE as i64 * WEIGHT_ONE as i64;
/// Source pixels that are averaged first leave at least twice the target's.
const LEAST_RATIO: u32 = 2;

/// Channels that are weighted in one go.
const BLOCK: usize = 32;

/// Four channels: red, green and blue times alpha, and alpha.
type Samples = [i16; 4];

/// Sides of a picture of `width`x`height` that fits `target`x`target`, aspect kept and rounded
/// to nearest, at least 1. Never larger than the source unless `enlarge`.
#[must_use]
pub fn fit(width: u32, height: u32, target: u32, enlarge: bool) -> (u32, u32) {
    let longest = width.max(height).max(1);
    if longest <= target && !enlarge {
        return (width, height);
    }
    let scaled = |side: u32| {
        let (side, longest) = (u64::from(side), u64::from(longest));
        // At most target, for side is at most longest.
        ((side * u64::from(target) * 2 + longest) / (longest * 2)).max(1) as u32
    };
    (scaled(width), scaled(height))
}

/// Scales `pixels` down to fit `target`x`target`.
#[must_use]
pub fn scale_down(pixels: Pixels, target: u32) -> Pixels {
    let (width, height) = fit(pixels.width(), pixels.height(), target, false);
    if (width, height) == (pixels.width(), pixels.height()) {
        return pixels;
    }
    let across = Axis::new(pixels.width(), width);
    let down = Axis::new(pixels.height(), height);
    let cells = averaged(&pixels, across.cell, down.cell);
    let cells_across = across.cells();
    let mut rgba = Vec::with_capacity(width as usize * height as usize * 4);
    // Rows first: there a vector of processor words goes along the row.
    let mut sums = vec![0i32; cells_across * 4];
    let mut row = vec![0i16; cells_across * 4];
    let columns = across.taps();
    // Square pictures, which most are, have the same in both directions.
    let own_rows = (across != down).then(|| down.taps());
    for taps in own_rows.as_ref().unwrap_or(&columns) {
        sums.fill(0);
        for (&weight, y) in taps.weights.iter().zip(taps.first..) {
            let cells = cells[y * cells_across..][..cells_across].as_flattened();
            add_weighted(&mut sums, cells, weight);
        }
        for (sample, sum) in row.iter_mut().zip(&sums) {
            // Weights reach 1.3 in all: 21,300 at most.
            *sample = ((sum + (1 << (ROW_SHIFT - 1))) >> ROW_SHIFT) as i16;
        }
        let row = row.as_chunks::<4>().0;
        for taps in &columns {
            let mut sum = [0i32; 4];
            for (&weight, sample) in taps.weights.iter().zip(&row[taps.first..]) {
                for (sum, &channel) in sum.iter_mut().zip(sample) {
                    *sum += i32::from(weight) * i32::from(channel);
                }
            }
            rgba.extend(straight(sum.map(i64::from)));
        }
    }
    // The sides are at least 1 and no larger than a valid source's.
    Pixels::new(width, height, rgba).unwrap_or(pixels)
}

/// Adds `weight` times each channel of whole samples to its sum.
fn add_weighted(sums: &mut [i32], channels: &[i16], weight: i16) {
    // Code without a loop around it: there the compiler knows that the weight has 16 bits, and
    // multiplies words, four to a machine's oldest vector instruction, instead of double words.
    #[inline(never)]
    fn block<const N: usize>(sums: &mut [i32; N], channels: &[i16; N], weight: i16) {
        for (sum, &channel) in sums.iter_mut().zip(channels) {
            *sum += i32::from(weight) * i32::from(channel);
        }
    }
    let (sum_blocks, sums) = sums.as_chunks_mut::<BLOCK>();
    let (channel_blocks, channels) = channels.as_chunks::<BLOCK>();
    for (sums, channels) in sum_blocks.iter_mut().zip(channel_blocks) {
        block(sums, channels, weight);
    }
    for (sums, channels) in sums.as_chunks_mut::<4>().0.iter_mut().zip(channels.as_chunks().0) {
        block(sums, channels, weight);
    }
}

/// Linear light times alpha, and alpha.
fn premultiplied(pixel: [u8; 4]) -> Samples {
    let light = |byte: u8| i32::from(LINEAR[usize::from(byte)]);
    let [red, green, blue, alpha] = pixel;
    let most = 65535 * 255;
    let channel = |light: i32| {
        let product = i64::from(light) * i64::from(alpha) * i64::from(SAMPLE_ONE);
        // At most SAMPLE_ONE.
        ((product + most / 2) / most) as i16
    };
    [light(red), light(green), light(blue), 65535].map(channel)
}

/// [`premultiplied`] of a byte under full alpha.
static OPAQUE: [u64; 256] = {
    let (mut table, mut byte) = ([0; 256], 0);
    while byte < 256 {
        // At most SAMPLE_ONE.
        table[byte] = (LINEAR[byte] as u64 * SAMPLE_ONE as u64 + 65535 / 2) / 65535;
        byte += 1;
    }
    table
};

/// [`premultiplied`], two channels a word: red and green, blue and alpha. Sums of them are made
/// in two additions, faster than in a vector that is put together first.
#[inline(always)]
fn paired(pixel: [u8; 4]) -> [u64; 2] {
    match pixel[3] {
        255 => {
            let [red, green, blue, _] = pixel.map(|byte| OPAQUE[usize::from(byte)]);
            [red | green << 32, blue | (SAMPLE_ONE as u64) << 32]
        }
        0 => [0; 2],
        _ => {
            // None is negative.
            let [red, green, blue, alpha] = premultiplied(pixel).map(|sample| sample as u64);
            [red | green << 32, blue | alpha << 32]
        }
    }
}

fn channels([first, second]: [u64; 2]) -> [u32; 4] {
    [first as u32, (first >> 32) as u32, second as u32, (second >> 32) as u32]
}

/// Means of cells of `across` by `down` pixels; those at the right and bottom may be of fewer.
fn averaged(pixels: &Pixels, across: u32, down: u32) -> Vec<Samples> {
    if (across, down) == (1, 1) {
        // 15 bits a channel.
        let samples = |pixel| channels(paired(pixel)).map(|sample| sample as i16);
        return pixels.iter().map(samples).collect();
    }
    let (across, down) = (across as usize, down as usize);
    let width = pixels.width() as usize;
    let mut cells = Vec::with_capacity(width.div_ceil(across));
    let mut sums = vec![[0u64; 2]; width.div_ceil(across)];
    for rows in pixels.rgba().chunks(width * 4 * down) {
        sums.fill([0; 2]);
        for row in rows.chunks_exact(width * 4) {
            for (sum, cell) in sums.iter_mut().zip(row.chunks(across * 4)) {
                let [mut first, mut second] = *sum;
                for &pixel in cell.as_chunks::<4>().0 {
                    // 32 pixels a side and 15 bits at most: 2^25, so no channel reaches the next.
                    let pair = paired(pixel);
                    (first, second) = (first + pair[0], second + pair[1]);
                }
                *sum = [first, second];
            }
        }
        let high = rows.len() / 4 / width;
        let (whole, part) = sums.split_at(width / across);
        for (sums, wide) in [(whole, across), (part, width % across)] {
            let mean = Mean::of(wide * high);
            cells.extend(sums.iter().map(|&sum| channels(sum).map(|sum| mean.round(sum))));
        }
    }
    cells
}

/// Division of sums below 2^26 by a count of at most 2^10, by its reciprocal; exact all the same
/// (Granlund and Montgomery 1994, theorem 4.2).
struct Mean {
    half: u64,
    reciprocal: u64,
}

impl Mean {
    const SHIFT: u32 = 26 + 10;

    /// Nothing is divided by a `count` of 0.
    fn of(count: usize) -> Self {
        let count = count.max(1) as u64;
        Self { half: count / 2, reciprocal: (1_u64 << Self::SHIFT).div_ceil(count) }
    }

    /// The mean of what adds up to `sum`, rounded to nearest; samples have 15 bits.
    fn round(&self, sum: u32) -> i16 {
        (((u64::from(sum) + self.half) * self.reciprocal) >> Self::SHIFT) as i16
    }
}

/// Weighted sums -> a straight sRGB pixel.
fn straight(sums: [i64; 4]) -> [u8; 4] {
    // The filter overshoots at edges: light is clamped to what the alpha can carry.
    let [red, green, blue, alpha] = sums;
    let alpha = alpha.clamp(0, SUM_ONE);
    let alpha_byte = ((alpha * 255 + SUM_ONE / 2) / SUM_ONE) as u8;
    if alpha_byte == 0 {
        return [0; 4];
    }
    let channel = |light: i64| {
        let light = light.clamp(0, alpha) * 65535;
        // At most 65535, for light is at most alpha.
        let linear = if alpha == SUM_ONE {
            (light + SUM_ONE / 2) / SUM_ONE
        } else {
            (light + alpha / 2) / alpha
        };
        to_srgb(linear as u16)
    };
    [channel(red), channel(green), channel(blue), alpha_byte]
}

/// One direction: `from` source pixels, averaged by `cell`, then weighted to `to` target pixels.
#[derive(PartialEq, Eq)]
struct Axis {
    from: u32,
    to: u32,
    cell: u32,
}

/// The cells of a target pixel: from `first` on, one weight each.
struct Taps {
    first: usize,
    weights: Vec<i16>,
}

impl Axis {
    fn new(from: u32, to: u32) -> Self {
        Self { from, to, cell: (from / to / LEAST_RATIO).max(1) }
    }

    fn cells(&self) -> usize {
        self.from.div_ceil(self.cell) as usize
    }

    /// Weights for each target pixel, `to <= from <= 2048`.
    fn taps(&self) -> Vec<Taps> {
        let [from, to, cell] = [self.from, self.to, self.cell].map(i64::from);
        if from == to {
            let one = |first| Taps { first, weights: vec![WEIGHT_ONE as i16] };
            return (0..self.cells()).map(one).collect();
        }
        let cells = self.cells() as i64;
        let tap = |target: i64| {
            // Distances from the target's centre, in units of 1/(2*from) target pixels: the
            // centre of cell j lies at (2j+1)*cell*to, that of target pixel i at (2i+1)*from.
            let one = 2 * from;
            let centre = (2 * target + 1) * from;
            let distance = |source: i64| (2 * source + 1) * cell * to - centre;
            let reach = |source: &i64| distance(*source).abs() < 2 * one;
            let near = centre / (2 * to * cell);
            let span = 2 * from / (to * cell) + 2;
            let inside = (near - span).max(0)..(near + span + 1).min(cells);
            let sources: Vec<i64> = inside.filter(reach).collect();
            let exact: Vec<i64> =
                sources.iter().map(|&s| catmull_rom(distance(s).abs(), one)).collect();
            let first = sources.first().map_or(0, |&source| source as usize);
            Taps { first, weights: normalised(&exact) }
        };
        (0..to).map(tap).collect()
    }
}

/// The kernel at `distance / one`, times `2 * one^3`: below 2^38 for `one <= 4096`.
fn catmull_rom(distance: i64, one: i64) -> i64 {
    let (d, o) = (distance, one);
    if d < o {
        3 * d * d * d - 5 * d * d * o + 2 * o * o * o
    } else {
        -d * d * d + 5 * d * d * o - 8 * d * o * o + 4 * o * o * o
    }
}

/// Rounds weights so that they add up to `WEIGHT_ONE` exactly; the largest takes the remainder.
fn normalised(exact: &[i64]) -> Vec<i16> {
    let total: i64 = exact.iter().sum::<i64>().max(1);
    let one = i64::from(WEIGHT_ONE);
    // Not above one by more than a fraction, so below i16::MAX.
    let round = |weight: &i64| (weight * one + total / 2).div_euclid(total) as i16;
    let mut weights: Vec<i16> = exact.iter().map(round).collect();
    let remainder = one - weights.iter().map(|&weight| i64::from(weight)).sum::<i64>();
    if let Some(largest) = weights.iter_mut().max_by_key(|weight| **weight) {
        *largest += remainder as i16;
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(width: u32, height: u32, pixel: [u8; 4]) -> Pixels {
        Pixels::new(width, height, pixel.repeat((width * height) as usize)).unwrap()
    }

    #[test]
    fn sides_keep_their_aspect_and_never_grow() {
        assert_eq!(fit(16, 16, 32, false), (16, 16));
        assert_eq!(fit(16, 8, 32, true), (32, 16));
        assert_eq!(fit(64, 48, 32, false), (32, 24));
        assert_eq!(fit(2000, 3, 32, false), (32, 1));
        assert_eq!(fit(3, 2000, 32, false), (1, 32));
        assert_eq!(fit(33, 32, 32, false), (32, 31));
        assert_eq!(fit(u32::MAX, u32::MAX, 32, true), (32, 32));
    }

    #[test]
    fn a_plain_picture_keeps_its_colour_at_every_size() {
        for (width, height) in [(33, 33), (64, 40), (257, 1000), (2048, 2)] {
            for pixel in [[255, 255, 255, 255], [1, 128, 254, 255], [200, 9, 77, 3], [0; 4]] {
                let small = scale_down(plain(width, height, pixel), 32);
                // What is nearly transparent keeps its colour as far as it shows.
                let shown = |byte: u8| u32::from(byte) * u32::from(pixel[3]) / 255;
                let near =
                    |a: u8, b: u8| a == b || pixel[3] < 255 && shown(a).abs_diff(shown(b)) <= 1;
                let same =
                    |p: [u8; 4]| p[3] == pixel[3] && p.iter().zip(pixel).all(|(&a, b)| near(a, b));
                assert!(small.iter().all(same), "{width}x{height} {pixel:?}");
            }
        }
    }

    #[test]
    fn black_and_white_mix_in_light_not_in_bytes() {
        let columns: Vec<u8> =
            (0..64 * 64).flat_map(|i| if i % 2 == 0 { [0, 0, 0, 255] } else { [255; 4] }).collect();
        let small = scale_down(Pixels::new(64, 64, columns).unwrap(), 32);
        // Half the light of white is 188 in sRGB, not 128.
        let middle = small.rgba()[(16 * 32 + 16) * 4];
        assert!(middle.abs_diff(188) <= 1, "{middle}");
    }

    #[test]
    fn colour_under_transparency_never_bleeds() {
        let rgba: Vec<u8> = (0..64 * 64)
            .flat_map(|i| if i % 64 < 31 { [0, 255, 0, 0] } else { [255, 0, 0, 255] })
            .collect();
        let small = scale_down(Pixels::new(64, 64, rgba).unwrap(), 32);
        assert!(small.iter().all(|pixel| pixel[1] == 0));
        assert!(small.iter().any(|pixel| (1..255).contains(&pixel[3])));
    }

    #[test]
    fn a_mean_by_the_reciprocal_is_that_by_division() {
        for count in 1..=1024 {
            let mean = Mean::of(count);
            let count = count as i32;
            for quotient in (0..=i32::from(i16::MAX)).step_by(89).chain([i32::from(i16::MAX)]) {
                // Around each place where the quotient changes.
                for sum in [-1, 0, 1].map(|by| quotient * count - count / 2 + by) {
                    if (0..=count * i32::from(i16::MAX)).contains(&sum) {
                        let rounded = (sum + count / 2) / count;
                        assert_eq!(i32::from(mean.round(sum as u32)), rounded);
                    }
                }
            }
        }
    }

    #[test]
    fn all_weights_add_up_to_one_and_stay_inside() {
        for from in (33..=2048).step_by(31) {
            for to in [1, 2, 7, 31, 32] {
                let axis = Axis::new(from, to);
                for taps in axis.taps() {
                    let weights = || taps.weights.iter().map(|&weight| i32::from(weight));
                    assert_eq!(weights().sum::<i32>(), WEIGHT_ONE);
                    // What the sums and their 16 bits have room for.
                    assert!(weights().map(i32::abs).sum::<i32>() * SAMPLE_ONE < 1 << 30);
                    assert!(taps.first + taps.weights.len() <= axis.cells());
                }
            }
        }
    }
}
