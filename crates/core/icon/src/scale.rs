//! Scales pictures down in linear light with premultiplied alpha. The result is the same on every
//! machine, because the arithmetic uses integers.
//!
//! The filter is Catmull-Rom (Keys 1981, a = -1/2), stretched by the scaling ratio. If a picture is
//! at least four times as large as its target, we first average cells of whole pixels and then
//! filter the cells. Sums use wrapping addition, because the compiler does not vectorise checked
//! additions. Their bounds exclude an overflow.

mod srgb;

pub(crate) use self::srgb::{LINEAR, to_srgb};
use crate::pixels::Pixels;

const WEIGHT_ONE: i32 = 1 << 14;
/// A sample's value with full light and alpha before filtering: 15 bits.
const SAMPLE_ONE: i32 = i16::MAX as i32;
/// A sample's value with full light and alpha after the vertical pass: 14 bits, so that the
/// filter's overshoot also fits into an `i16`.
const ROW_ONE: i32 = 1 << 14;
const ROW_SHIFT: u32 = 15;
const SUM_ONE: i64 = ROW_ONE as i64 * WEIGHT_ONE as i64;
/// Averaging leaves at least this many cells per target pixel, so that the filter has enough data.
const MIN_RATIO: u32 = 2;

const BLOCK: usize = 32;

type Samples = [i16; 4];

/// Returns the dimensions of a picture that is scaled to fit a square of `target` x `target`
/// pixels. A picture that already fits keeps its dimensions unless `enlarge` is true.
#[must_use]
pub fn fit(width: u32, height: u32, target: u32, enlarge: bool) -> (u32, u32) {
    let longest = width.max(height).max(1);
    if longest <= target && !enlarge {
        return (width, height);
    }
    let scaled = |side: u32| {
        let (side, longest) = (u64::from(side), u64::from(longest));
        // The result is at most `target`, because `side` is at most `longest`.
        ((side * u64::from(target) * 2 + longest) / (longest * 2)).max(1) as u32
    };
    (scaled(width), scaled(height))
}

/// Scales `pixels` down to fit a square of `target` x `target` pixels.
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
    // Filter vertically first, because the compiler can vectorise this pass along the row.
    let mut sums = vec![0i32; cells_across * 4];
    let mut row = vec![0i16; cells_across * 4];
    let columns = across.taps();
    // A square picture, which is the most common case, has equal weights in both directions.
    let own_rows = (across != down).then(|| down.taps());
    for taps in own_rows.as_ref().unwrap_or(&columns) {
        sums.fill(0);
        for (&weight, y) in taps.weights.iter().zip(taps.first..) {
            let cells = cells[y * cells_across..][..cells_across].as_flattened();
            add_weighted(&mut sums, cells, weight);
        }
        for (sample, sum) in row.iter_mut().zip(&sums) {
            // The weights' absolute values add up to at most 1.3, so a sample is at most 21,300.
            *sample = (sum.wrapping_add(1 << (ROW_SHIFT - 1)) >> ROW_SHIFT) as i16;
        }
        let row = row.as_chunks::<4>().0;
        for taps in &columns {
            let mut sum = [0i32; 4];
            for (&weight, sample) in taps.weights.iter().zip(&row[taps.first..]) {
                for (sum, &channel) in sum.iter_mut().zip(sample) {
                    *sum = sum.wrapping_add(i32::from(weight) * i32::from(channel));
                }
            }
            rgba.extend(straight(sum.map(i64::from)));
        }
    }
    Pixels::new(width, height, rgba).unwrap_or(pixels)
}

fn add_weighted(sums: &mut [i32], channels: &[i16], weight: i16) {
    // This must not be inlined into the loops below. Only in a separate function does the compiler
    // know that the weight has 16 bits, so that it multiplies 16-bit instead of 32-bit lanes.
    #[inline(never)]
    fn block<const N: usize>(sums: &mut [i32; N], channels: &[i16; N], weight: i16) {
        for (sum, &channel) in sums.iter_mut().zip(channels) {
            *sum = sum.wrapping_add(i32::from(weight) * i32::from(channel));
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

const FULL_LIGHT: u64 = 65535 * 255;

#[inline(always)]
fn premultiplied([red, green, blue, alpha]: [u8; 4]) -> [u64; 4] {
    let factor = u64::from(alpha).wrapping_mul(SAMPLE_ONE as u64);
    // The product is below 2^40, and the result is at most SAMPLE_ONE.
    let channel = |light: u16| {
        u64::from(light).wrapping_mul(factor).wrapping_add(FULL_LIGHT / 2) / FULL_LIGHT
    };
    let light = |byte: u8| channel(LINEAR[usize::from(byte)]);
    [light(red), light(green), light(blue), channel(u16::MAX)]
}

/// Equals the results of [`premultiplied`] for opaque pixels.
static OPAQUE: [u64; 256] = {
    let (mut table, mut byte) = ([0; 256], 0);
    while byte < 256 {
        table[byte] = (LINEAR[byte] as u64 * SAMPLE_ONE as u64 + 65535 / 2) / 65535;
        byte += 1;
    }
    table
};

/// Like [`premultiplied`], but returns two channels per 64-bit word: red and green, then blue and
/// alpha. Two additions can then sum four channels, which is faster than filling a vector register.
#[inline(always)]
fn paired(pixel: [u8; 4]) -> [u64; 2] {
    match pixel[3] {
        255 => opaque(pixel),
        0 => [0; 2],
        _ => {
            let [red, green, blue, alpha] = premultiplied(pixel);
            [red | green << 32, blue | alpha << 32]
        }
    }
}

#[inline(always)]
fn opaque(pixel: [u8; 4]) -> [u64; 2] {
    let [red, green, blue, _] = pixel.map(|byte| OPAQUE[usize::from(byte)]);
    [red | green << 32, blue | (SAMPLE_ONE as u64) << 32]
}

fn channels([first, second]: [u64; 2]) -> [u32; 4] {
    [first as u32, (first >> 32) as u32, second as u32, (second >> 32) as u32]
}

/// Cells at the right and bottom edges may be smaller.
fn averaged(pixels: &Pixels, across: u32, down: u32) -> Vec<Samples> {
    if (across, down) == (1, 1) {
        let samples = |pixel| channels(paired(pixel)).map(|sample| sample as i16);
        return pixels.iter().map(samples).collect();
    }
    // It is faster to convert an opaque pixel without checking its alpha.
    let alphas = pixels.iter().fold(u8::MAX, |all, [.., alpha]| all & alpha);
    if alphas == u8::MAX {
        means(pixels, across as usize, down as usize, opaque)
    } else {
        means(pixels, across as usize, down as usize, paired)
    }
}

fn means(
    pixels: &Pixels,
    across: usize,
    down: usize,
    convert: impl Fn([u8; 4]) -> [u64; 2],
) -> Vec<Samples> {
    let width = pixels.width() as usize;
    let mut cells = Vec::with_capacity(width.div_ceil(across));
    let mut sums = vec![[0u64; 2]; width.div_ceil(across)];
    for rows in pixels.rgba().chunks(width * 4 * down) {
        sums.fill([0; 2]);
        for row in rows.chunks_exact(width * 4) {
            for (sum, cell) in sums.iter_mut().zip(row.chunks(across * 4)) {
                let [mut first, mut second] = *sum;
                for &pixel in cell.as_chunks::<4>().0 {
                    // For a target of 32 pixels, a cell has at most 32 x 47 pixels (if 2048 x 95
                    // pixels become 32 x 1), and a channel has 15 bits. The sum is below 2^26, so
                    // it never overflows into the other channel of its word.
                    let pair = convert(pixel);
                    first = first.wrapping_add(pair[0]);
                    second = second.wrapping_add(pair[1]);
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

/// Divides sums below 2^26 by a count below 2^11. Multiplying by the reciprocal gives an exact
/// result (Granlund and Montgomery 1994, theorem 4.2).
struct Mean {
    half: u64,
    reciprocal: u64,
}

impl Mean {
    const SHIFT: u32 = 26 + 11;

    fn of(count: usize) -> Self {
        let count = count.max(1) as u64;
        Self { half: count / 2, reciprocal: (1_u64 << Self::SHIFT).div_ceil(count) }
    }

    /// Divides a sum of 15-bit samples by the count, rounded to nearest.
    fn round(&self, sum: u32) -> i16 {
        let sum = u64::from(sum).wrapping_add(self.half);
        (sum.wrapping_mul(self.reciprocal) >> Self::SHIFT) as i16
    }
}

fn straight(sums: [i64; 4]) -> [u8; 4] {
    // The filter overshoots at edges, so premultiplied light is clamped to at most alpha.
    let [red, green, blue, alpha] = sums;
    let alpha = alpha.clamp(0, SUM_ONE);
    let alpha_byte = ((alpha * 255 + SUM_ONE / 2) / SUM_ONE) as u8;
    if alpha_byte == 0 {
        return [0; 4];
    }
    let channel = |light: i64| {
        let light = light.clamp(0, alpha) * 65535;
        // The result is at most 65535, because light is at most alpha.
        let linear = if alpha == SUM_ONE {
            (light + SUM_ONE / 2) / SUM_ONE
        } else {
            (light + alpha / 2) / alpha
        };
        to_srgb(linear as u16)
    };
    [channel(red), channel(green), channel(blue), alpha_byte]
}

/// One direction of the scaling: `from` source pixels are averaged in cells of `cell` pixels, and
/// these cells are filtered to `to` target pixels.
#[derive(PartialEq, Eq)]
struct Axis {
    from: u32,
    to: u32,
    cell: u32,
}

/// The weights of the cells that contribute to one target pixel, from index `first` on.
struct Taps {
    first: usize,
    weights: Vec<i16>,
}

impl Axis {
    fn new(from: u32, to: u32) -> Self {
        Self { from, to, cell: (from / to / MIN_RATIO).max(1) }
    }

    fn cells(&self) -> usize {
        self.from.div_ceil(self.cell) as usize
    }

    /// Requires `to <= from <= 2048`.
    fn taps(&self) -> Vec<Taps> {
        let [from, to, cell] = [self.from, self.to, self.cell].map(i64::from);
        if from == to {
            let one = |first| Taps { first, weights: vec![WEIGHT_ONE as i16] };
            return (0..self.cells()).map(one).collect();
        }
        let cells = self.cells() as i64;
        let tap = |target: i64| {
            // Distances from the target pixel's centre, in units of 1/(2*from) target pixels. Cell
            // j has its centre at (2j+1)*cell*to, target pixel i at (2i+1)*from.
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

/// Returns the Catmull-Rom kernel at `distance / one`, times `2 * one^3`. The result is below 2^38
/// for `one <= 4096`.
fn catmull_rom(distance: i64, one: i64) -> i64 {
    let (d, o) = (distance, one);
    if d < o {
        3 * d * d * d - 5 * d * d * o + 2 * o * o * o
    } else {
        -d * d * d + 5 * d * d * o - 8 * d * o * o + 4 * o * o * o
    }
}

/// Scales and rounds weights so that they add up to exactly `WEIGHT_ONE`. The largest weight gets
/// the remainder.
fn normalised(exact: &[i64]) -> Vec<i16> {
    let total: i64 = exact.iter().sum::<i64>().max(1);
    let one = i64::from(WEIGHT_ONE);
    // A weight exceeds `one` only slightly, so it fits into an `i16`.
    let round = |weight: &i64| (weight * one + total / 2).div_euclid(total) as i16;
    let mut weights: Vec<i16> = exact.iter().map(round).collect();
    let remainder = one - weights.iter().map(|&weight| i64::from(weight)).sum::<i64>();
    if let Some(largest) = weights.iter_mut().max_by_key(|weight| **weight) {
        *largest += remainder as i16;
    }
    weights
}

#[cfg(test)]
mod tests;
