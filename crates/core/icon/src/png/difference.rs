//! Measures how different two pictures look, in integers, so that the result is the same on every
//! machine.

use crate::pixels::Pixels;

/// Weights of red, green and blue. Green has the largest weight, because the eye is most sensitive
/// to it.
pub(super) const WEIGHTS: [i32; 3] = [4, 8, 3];
pub(super) const WEIGHT_SUM: i32 = 4 + 8 + 3;
/// Maximum mean difference, in hundredths, that counts as invisible. We viewed 2,165 icons (`make
/// icons-sheet`) at twofold magnification: pictures with a mean difference of 2,000 showed steps in
/// smooth gradients, pictures with 1,400 did not.
const MAX_UNSEEN_MEAN: i64 = 1_000;
/// Maximum mean difference in one square, in hundredths, that counts as invisible. It was chosen in
/// the same way as [`MAX_UNSEEN_MEAN`].
const MAX_UNSEEN_WORST: i64 = 6_000;
/// Width and height in pixels of the squares that `Difference::worst` compares.
const SQUARE_PIXELS: usize = 4;

/// The difference between a picture and its approximation, in hundredths of a squared level
/// (0..=255) per channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// Mean over the whole picture.
    pub mean: i64,
    /// Mean over the 4x4-pixel square that differs most.
    pub worst: i64,
}

impl Difference {
    /// Returns true if the two pictures look the same.
    #[must_use]
    pub fn is_unseen(self) -> bool {
        self.mean <= MAX_UNSEEN_MEAN && self.worst <= MAX_UNSEEN_WORST
    }

    /// Measures the difference between two pictures, which must have equal dimensions.
    #[must_use]
    pub fn between(one: &Pixels, other: &Pixels) -> Self {
        let each = one.iter().zip(other.iter());
        let distances = each.map(|(one, other)| distance(premultiplied(one), premultiplied(other)));
        Self::of(one.width() as usize, one.height() as usize, distances)
    }

    /// `distances` contains one value per pixel, row by row.
    pub(super) fn of(
        width: usize,
        height: usize,
        mut distances: impl Iterator<Item = i32>,
    ) -> Self {
        let across = width.div_ceil(SQUARE_PIXELS);
        let mut squares = vec![0; across * height.div_ceil(SQUARE_PIXELS)];
        for y in 0..height {
            let row = &mut squares[y / SQUARE_PIXELS * across..][..across];
            for (x, distance) in distances.by_ref().take(width).enumerate() {
                row[x / SQUARE_PIXELS] += i64::from(distance);
            }
        }
        let mean =
            |sum: i64, pixels: usize| sum * 100 / (i64::from(2 * WEIGHT_SUM) * pixels as i64);
        Self {
            mean: mean(squares.iter().sum(), width * height),
            worst: mean(squares.iter().copied().max().unwrap_or(0), SQUARE_PIXELS * SQUARE_PIXELS),
        }
    }
}

/// A colour: premultiplied red, green and blue, and then alpha. Each is 0..=255.
pub(super) type Coordinates = [i32; 4];

#[inline(always)]
pub(super) fn premultiplied([red, green, blue, alpha]: [u8; 4]) -> Coordinates {
    // The sum is at most 65,152.
    let channel =
        |byte: u8| i32::from((u16::from(byte) * u16::from(alpha)).wrapping_add(127) / 255);
    [channel(red), channel(green), channel(blue), i32::from(alpha)]
}

/// Returns the weighted squared distance on black plus that on white.
pub(super) fn distance(one: Coordinates, other: Coordinates) -> i32 {
    let alpha = one[3] - other[3];
    let channel = |index: usize| {
        let over_black = one[index] - other[index];
        let over_white = over_black - alpha;
        WEIGHTS[index] * (over_black * over_black + over_white * over_white)
    };
    channel(0) + channel(1) + channel(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_counts_black_and_white_and_the_worst_square() {
        let plain = |pixel: [u8; 4]| Pixels::new(8, 8, pixel.repeat(64)).unwrap();
        let same = Difference::between(&plain([9, 9, 9, 255]), &plain([9, 9, 9, 255]));
        assert_eq!(same, Difference { mean: 0, worst: 0 });
        let tenth = Difference::between(&plain([90, 90, 90, 255]), &plain([100, 100, 100, 255]));
        assert_eq!(tenth, Difference { mean: 10_000, worst: 10_000 });
        // Faint black is visible on white, but not on black.
        let faint = Difference::between(&plain([0; 4]), &plain([0, 0, 0, 10]));
        assert_eq!(faint.mean, 5_000);
        let mut one = plain([0, 0, 0, 255]).rgba().to_vec();
        one[..4].copy_from_slice(&[16, 16, 16, 255]);
        let one = Difference::between(&plain([0, 0, 0, 255]), &Pixels::new(8, 8, one).unwrap());
        assert_eq!(one, Difference { mean: 400, worst: 1_600 });
        assert!(one.is_unseen() && !tenth.is_unseen());
    }
}
