//! Scaling down in linear light with premultiplied alpha, in integers alone.
//!
//! Invariants: never up; aspect kept, each side at least 1 pixel; the same result on every
//! machine, for there is no float, no SIMD and no library in it: the weights are exact rationals
//! rounded once, the sRGB curve is a table. A picture that fits already is returned untouched.
//! The filter is Catmull-Rom (Keys 1981, a = -1/2), stretched by the ratio.

mod srgb;

use crate::pixels::Pixels;
use srgb::{LINEAR, to_srgb};

/// Weights of a target pixel add up to this.
const WEIGHT_ONE: i64 = 1 << 14;
/// Premultiplied samples are linear light (0..=65535) times alpha (0..=255).
const SAMPLE_MAX: i64 = 65535 * 255;

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
    let columns = weights(pixels.width(), width);
    let rows = weights(pixels.height(), height);
    let source_width = pixels.width() as usize;
    // Columns first, row by row: the intermediate has few columns, all rows.
    let mut narrow: Vec<[i64; 4]> = Vec::with_capacity(width as usize * pixels.height() as usize);
    for row in pixels.rgba().chunks_exact(source_width * 4) {
        let linear: Vec<[i32; 4]> = row.as_chunks::<4>().0.iter().map(premultiplied).collect();
        for taps in &columns {
            let mut sum = [0i64; 4];
            for (weight, sample) in taps.weights.iter().zip(&linear[taps.first..]) {
                for (sum, &channel) in sum.iter_mut().zip(sample) {
                    *sum += i64::from(*weight) * i64::from(channel);
                }
            }
            narrow.push(sum);
        }
    }
    let mut rgba = Vec::with_capacity(width as usize * height as usize * 4);
    for taps in &rows {
        for column in 0..width as usize {
            let mut sum = [0i64; 4];
            for (weight, y) in taps.weights.iter().zip(taps.first..) {
                let sample = &narrow[y * width as usize + column];
                for (sum, &channel) in sum.iter_mut().zip(sample) {
                    *sum += i64::from(*weight) * channel;
                }
            }
            rgba.extend(straight(sum));
        }
    }
    // The sides are at least 1 and no larger than a valid source's.
    Pixels::new(width, height, rgba).unwrap_or(pixels)
}

/// Linear light times alpha; alpha itself on the same scale. Exact.
fn premultiplied(pixel: &[u8; 4]) -> [i32; 4] {
    let alpha = i32::from(pixel[3]);
    let light = |byte: u8| i32::from(LINEAR[usize::from(byte)]) * alpha;
    [light(pixel[0]), light(pixel[1]), light(pixel[2]), alpha * 65535]
}

/// Weighted sums (scaled by `WEIGHT_ONE` squared) -> a straight sRGB pixel.
fn straight(sums: [i64; 4]) -> [u8; 4] {
    const SCALE: i64 = WEIGHT_ONE * WEIGHT_ONE;
    // The filter overshoots at edges: light is clamped to what the alpha can carry.
    let [red, green, blue, alpha] = sums.map(|sum| (sum + SCALE / 2).div_euclid(SCALE));
    let alpha = alpha.clamp(0, SAMPLE_MAX);
    let alpha_byte = ((alpha + 65535 / 2) / 65535) as u8;
    if alpha_byte == 0 {
        return [0; 4];
    }
    let channel = |light: i64| {
        let light = light.clamp(0, alpha);
        // At most 65535, for light is at most alpha.
        to_srgb(((light * 65535 + alpha / 2) / alpha) as u16)
    };
    [channel(red), channel(green), channel(blue), alpha_byte]
}

/// The source pixels of a target pixel: from `first` on, one weight each.
struct Taps {
    first: usize,
    weights: Vec<i32>,
}

/// Weights for each of `to` target pixels over `from` source pixels, `to <= from <= 2048`.
fn weights(from: u32, to: u32) -> Vec<Taps> {
    let (from, to) = (i64::from(from), i64::from(to));
    if from == to {
        let one = |first| Taps { first, weights: vec![WEIGHT_ONE as i32] };
        return (0..from as usize).map(one).collect();
    }
    let tap = |target: i64| {
        // Distances from the target's centre, in units of 1/(2*from) target pixels: the centre of
        // source pixel j lies at (2j+1)*to, that of target pixel i at (2i+1)*from.
        let one = 2 * from;
        let centre = (2 * target + 1) * from;
        let distance = |source: i64| (2 * source + 1) * to - centre;
        let reach = |source: &i64| distance(*source).abs() < 2 * one;
        let near = centre / (2 * to);
        let span = 2 * from / to + 2;
        let inside = (near - span).max(0)..(near + span + 1).min(from);
        let sources: Vec<i64> = inside.filter(reach).collect();
        let exact: Vec<i64> =
            sources.iter().map(|&s| catmull_rom(distance(s).abs(), one)).collect();
        let first = sources.first().map_or(0, |&source| source as usize);
        Taps { first, weights: normalised(&exact) }
    };
    (0..to).map(tap).collect()
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
fn normalised(exact: &[i64]) -> Vec<i32> {
    let total: i64 = exact.iter().sum::<i64>().max(1);
    let round = |weight: &i64| (weight * WEIGHT_ONE + total / 2).div_euclid(total) as i32;
    let mut weights: Vec<i32> = exact.iter().map(round).collect();
    let remainder = WEIGHT_ONE as i32 - weights.iter().sum::<i32>();
    if let Some(largest) = weights.iter_mut().max_by_key(|weight| **weight) {
        *largest += remainder;
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
                let near = |a: u8, b: u8| a.abs_diff(b) <= u8::from(pixel[3] < 255);
                let same = |p: [u8; 4]| p.iter().zip(pixel).all(|(&a, b)| near(a, b));
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
    fn all_weights_add_up_to_one_and_stay_inside() {
        for from in (33..=2048).step_by(31) {
            for to in [1, 2, 7, 31, 32] {
                for taps in weights(from, to) {
                    assert_eq!(i64::from(taps.weights.iter().sum::<i32>()), WEIGHT_ONE);
                    assert!(taps.first + taps.weights.len() <= from as usize);
                }
            }
        }
    }
}
