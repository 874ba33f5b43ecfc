//! Reduces the number of colours: splits the box of colours with the greatest error until there are
//! enough boxes (as in median cut), then runs two rounds of k-means.
//!
//! The error of a colour is defined in `difference`. Invariants: the result is the same on every
//! machine, since sums are integers, and distances, which are `f32` for speed, are integers below
//! 2^24, which floats add and multiply exactly in any order; fully transparent pixels stay fully
//! transparent; a colour that is alone in its box stays unchanged. There is no dithering: at 32
//! pixels it looks like dirt.

use super::difference::{Coordinates, WEIGHT_SUM, WEIGHTS, premultiplied};
use crate::pixels::Pixels;

/// Greatest number of colours that remain, not counting the fully transparent one: 64 with it, an
/// index of 6 bits.
const MAX_COLOURS: usize = 63;
/// Number of rounds of k-means. More rounds change few pixels.
const ROUNDS: usize = 2;
/// Mean difference, in hundredths, below which boxes are split no further: a fifth of the greatest
/// invisible difference.
pub(super) const ENOUGH_MEAN: i64 = 200;
/// A distinct colour of the picture, and the number of its pixels.
#[derive(Clone, Copy)]
struct Colour {
    rgba: [u8; 4],
    at: Coordinates,
    count: i64,
}

/// Returns `pixels` with at most 64 colours, or fewer if these give a mean difference of at most
/// `enough` (in hundredths).
pub(super) fn quantized(pixels: &Pixels, enough: i64) -> Pixels {
    let mut colours = colours(pixels);
    if colours.len() <= MAX_COLOURS {
        return pixels.clone();
    }
    let count = i64::from(pixels.width()) * i64::from(pixels.height());
    let enough = enough * count * 2 * WEIGHT_SUM / 100;
    let mut palette = Entries::of(&split(&mut colours, enough));
    let mut nearest = vec![0; colours.len()];
    for _ in 0..ROUNDS {
        palette.nearest(&colours, &mut nearest);
        palette = Entries::of(&gathered(&colours, &nearest, palette.rgba.len()));
    }
    palette.nearest(&colours, &mut nearest);
    let mut replaced: Vec<([u8; 4], [u8; 4])> = colours
        .iter()
        .zip(&nearest)
        .map(|(colour, &entry)| (colour.rgba, palette.rgba[entry]))
        .collect();
    replaced.sort_unstable();
    let rgba = pixels.iter().flat_map(|pixel| {
        // Only the fully transparent colour is missing; it stays.
        let found = replaced.binary_search_by_key(&pixel, |(from, _)| *from);
        found.map_or(pixel, |index| replaced[index].1)
    });
    Pixels::new(pixels.width(), pixels.height(), rgba.collect()).unwrap_or_else(|| pixels.clone())
}

/// Returns the distinct visible colours, sorted.
fn colours(pixels: &Pixels) -> Vec<Colour> {
    let mut all: Vec<u32> =
        pixels.iter().filter(|pixel| pixel[3] > 0).map(u32::from_be_bytes).collect();
    all.sort_unstable();
    let same = all.chunk_by(|one, other| one == other);
    same.map(|run| {
        let rgba = run[0].to_be_bytes();
        Colour { rgba, at: premultiplied(rgba), count: run.len() as i64 }
    })
    .collect()
}

/// Sums over the pixels of a box of colours.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: i64,
    sum: Coordinates,
    /// Sums of squares: of red, green and blue over black, of the same over white, and of alpha.
    squares: [i64; 7],
    /// The colour, if there is only one.
    only: Option<[u8; 4]>,
}

impl Sums {
    fn of<'a>(colours: impl IntoIterator<Item = &'a Colour>) -> Self {
        let mut sums = Self::default();
        colours.into_iter().for_each(|colour| sums.add(colour));
        sums
    }

    fn add(&mut self, colour: &Colour) {
        self.only = (self.count == 0).then_some(colour.rgba);
        self.count += colour.count;
        for (sum, at) in self.sum.iter_mut().zip(colour.at) {
            *sum += at * colour.count;
        }
        let alpha = colour.at[3];
        for (index, at) in colour.at.iter().take(3).enumerate() {
            self.squares[index] += at * at * colour.count;
            self.squares[index + 3] += (at - alpha) * (at - alpha) * colour.count;
        }
        self.squares[6] += alpha * alpha * colour.count;
    }

    /// Returns the sum of squared differences from the mean, of values with this sum and this sum
    /// of squares.
    fn spread(&self, sum: i64, squares: i64) -> i64 {
        squares - sum * sum / self.count.max(1)
    }

    /// Returns the error of replacing all colours by their mean.
    fn error(&self) -> i64 {
        let channel = |index: usize| {
            let over_black = self.spread(self.sum[index], self.squares[index]);
            let sum = self.sum[index] - self.sum[3];
            WEIGHTS[index] * (over_black + self.spread(sum, self.squares[index + 3]))
        };
        channel(0) + channel(1) + channel(2)
    }

    /// Returns the index of the coordinate with the greatest error.
    fn widest(&self) -> usize {
        let spread = |index: usize| {
            let (squares, weight) = match index {
                3 => (self.squares[6], WEIGHT_SUM),
                _ => (self.squares[index], 2 * WEIGHTS[index]),
            };
            weight * self.spread(self.sum[index], squares)
        };
        (0..4).rev().max_by_key(|&index| spread(index)).unwrap_or(1)
    }

    /// Returns the mean as a colour with straight alpha.
    fn rgba(&self) -> [u8; 4] {
        if let Some(only) = self.only {
            return only;
        }
        let alpha = self.sum[3].max(1);
        // A premultiplied sum exceeds that of alpha by rounding at most, hence the clamp.
        let straight = |sum: i64| ((sum * 255 + alpha / 2) / alpha).clamp(0, 255) as u8;
        let [red, green, blue, _] = self.sum.map(straight);
        let count = self.count.max(1);
        [red, green, blue, ((self.sum[3] + count / 2) / count).clamp(1, 255) as u8]
    }
}

/// Splits the colours into boxes, the one with the greatest error first, until the total error is
/// at most `enough` or the number of boxes reaches [`MAX_COLOURS`].
fn split(colours: &mut [Colour], enough: i64) -> Vec<Sums> {
    let whole = Sums::of(&*colours);
    let mut boxes = vec![(0..colours.len(), whole, whole.error())];
    let total = |boxes: &[(_, _, i64)]| boxes.iter().map(|(_, _, error)| error).sum::<i64>();
    while boxes.len() < MAX_COLOURS && total(&boxes) > enough {
        // Of boxes with equal error it is the first.
        let worst = (0..boxes.len()).rev().max_by_key(|&index| boxes[index].2).unwrap_or(0);
        let (range, sums, _) = boxes[worst].clone();
        let widest = sums.widest();
        let low = |colour: &Colour| colour.at[widest] * sums.count <= sums.sum[widest];
        let part = &mut colours[range.clone()];
        let cut = partition(part, low);
        if cut == 0 || cut == part.len() {
            // All coordinates are equal: a further split gains nothing.
            boxes[worst].2 = 0;
            continue;
        }
        let middle = range.start + cut;
        let halves = [range.start..middle, middle..range.end].map(|half| {
            let sums = Sums::of(&colours[half.clone()]);
            (half, sums, sums.error())
        });
        let [first, second] = halves;
        boxes[worst] = first;
        boxes.push(second);
    }
    boxes.into_iter().map(|(_, sums, _)| sums).collect()
}

/// Moves the colours for which `low` returns true to the front, and returns their number.
fn partition(colours: &mut [Colour], low: impl Fn(&Colour) -> bool) -> usize {
    let mut next = 0;
    for index in 0..colours.len() {
        if low(&colours[index]) {
            colours.swap(next, index);
            next += 1;
        }
    }
    next
}

/// Returns the sums of the colours of each palette entry, without entries that have none.
fn gathered(colours: &[Colour], nearest: &[usize], entries: usize) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); entries];
    for (colour, &entry) in colours.iter().zip(nearest) {
        sums[entry].add(colour);
    }
    sums.retain(|sums| sums.count > 0);
    sums
}

/// A palette, laid out so that the search for the nearest entry is vectorised.
struct Entries {
    rgba: Vec<[u8; 4]>,
    /// One row per coordinate, one column per entry. Unused columns hold [`FAR`].
    at: [[f32; LANES]; 4],
}

/// Number of columns for entries: a multiple of every vector length.
const LANES: usize = 64;
/// A coordinate that is further from any colour than every entry.
const FAR: f32 = 4096.0;

impl Entries {
    fn of(sums: &[Sums]) -> Self {
        let rgba: Vec<[u8; 4]> = sums.iter().map(Sums::rgba).collect();
        let mut at = [[FAR; LANES]; 4];
        for (lane, &rgba) in rgba.iter().enumerate().take(LANES) {
            for (row, coordinate) in at.iter_mut().zip(premultiplied(rgba)) {
                // A coordinate is at most 255.
                row[lane] = coordinate as f32;
            }
        }
        Self { rgba, at }
    }

    /// Writes the index of the nearest entry for each colour into `nearest`. Of entries at the same
    /// distance it is the first.
    fn nearest(&self, colours: &[Colour], nearest: &mut [usize]) {
        let weights = WEIGHTS.map(|weight| weight as f32);
        for (colour, nearest) in colours.iter().zip(nearest) {
            let [red, green, blue, alpha] = colour.at.map(|coordinate| coordinate as f32);
            let mut distances = [0f32; LANES];
            for (lane, distance) in distances.iter_mut().enumerate() {
                let by_alpha = alpha - self.at[3][lane];
                let channel = |value: f32, row: usize| {
                    let over_black = value - self.at[row][lane];
                    let over_white = over_black - by_alpha;
                    weights[row] * (over_black * over_black + over_white * over_white)
                };
                *distance = channel(red, 0) + channel(green, 1) + channel(blue, 2);
            }
            let least = distances.iter().fold(f32::MAX, |least, &one| least.min(one));
            *nearest = distances.iter().position(|&one| one == least).unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::difference::distance, *};

    proptest! {
        #[test]
        fn the_entry_found_in_floats_is_the_first_nearest_in_integers(
            entries in proptest::collection::vec(any::<[u8; 4]>(), 1..=MAX_COLOURS),
            colours in proptest::collection::vec(any::<[u8; 4]>(), 1..100),
        ) {
            let colour = |rgba| Colour { rgba, at: premultiplied(rgba), count: 1 };
            let colours: Vec<Colour> = colours.into_iter().map(colour).collect();
            let sums: Vec<Sums> = entries.iter().map(|&rgba| Sums::of(&[colour(rgba)])).collect();
            let palette = Entries::of(&sums);
            let mut found = vec![0; colours.len()];
            palette.nearest(&colours, &mut found);
            for (colour, found) in colours.iter().zip(found) {
                let far = |entry: &usize| distance(colour.at, premultiplied(palette.rgba[*entry]));
                prop_assert_eq!((0..entries.len()).min_by_key(far), Some(found));
            }
        }
    }
}
