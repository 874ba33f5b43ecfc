//! Fewer colours: boxes split where the error is greatest, then two rounds of k-means.
//!
//! The error of a colour is what the eye gets of it: the squared difference over black plus that
//! over white, green weighing most (`WEIGHTS`). Invariants: the same result on every machine, for
//! sums are integers and the distances, though `f32` for speed, are integers below 2^24, which
//! floats add and multiply exactly in any order; fully transparent pixels stay so; a colour alone
//! in its box stays as it is. No dithering: at 32 pixels it looks like dirt.

use crate::pixels::Pixels;

/// Colours at most, the transparent one apart.
const MOST: usize = 63;
/// Weights of the squared differences of red, green and blue.
const WEIGHTS: [i64; 3] = [4, 8, 3];
const WEIGHT_SUM: i64 = 4 + 8 + 3;
/// A distance is at most this; every partial sum of one is an exact `f32`.
const _: () = assert!(2 * WEIGHT_SUM * 255 * 255 < 1 << 24);
const ROUNDS: usize = 2;
/// Mean difference at which colours are few enough, in hundredths: a fifth of what may be.
pub(super) const AIM: i64 = 200;
/// The greatest differences that the eye doesn't see, set by looking at 2,165 icons (`make
/// icons-sheet`): magnified twice, pictures of a mean of 2,000 could be told from their originals
/// by the steps in a smooth blend, those of 1,400 by nothing.
const MOST_MEAN: i64 = 1_000;
const MOST_WORST: i64 = 6_000;
/// Side in pixels of the squares whose error counts by itself.
const SQUARE: usize = 4;

/// How far pixels are from those they stand for, in squared levels of 255 a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// Mean over the picture, in hundredths.
    pub mean: i64,
    /// Mean over the worst square of 4x4 pixels, in hundredths.
    pub worst: i64,
}

impl Difference {
    /// True where the eye can't tell the two from each other.
    #[must_use]
    pub fn is_unseen(self) -> bool {
        self.mean <= MOST_MEAN && self.worst <= MOST_WORST
    }

    /// Between two pictures of the same sides.
    #[must_use]
    pub fn between(one: &Pixels, other: &Pixels) -> Self {
        let (width, height) = (one.width() as usize, one.height() as usize);
        let across = width.div_ceil(SQUARE);
        let mut squares = vec![0; across * height.div_ceil(SQUARE)];
        for (place, (one, other)) in one.iter().zip(other.iter()).enumerate() {
            let square = place / width / SQUARE * across + place % width / SQUARE;
            squares[square] += distance(premultiplied(one), premultiplied(other));
        }
        let mean = |sum: i64, pixels: usize| sum * 100 / (2 * WEIGHT_SUM * pixels as i64);
        Self {
            mean: mean(squares.iter().sum(), width * height),
            worst: mean(squares.iter().copied().max().unwrap_or(0), SQUARE * SQUARE),
        }
    }
}

/// Red, green and blue times alpha, and alpha.
type Coordinates = [i64; 4];

fn premultiplied(pixel: [u8; 4]) -> Coordinates {
    let [red, green, blue, alpha] = pixel.map(i64::from);
    [red, green, blue, 255].map(|channel| (channel * alpha + 127) / 255)
}

fn distance(one: Coordinates, other: Coordinates) -> i64 {
    let alpha = one[3] - other[3];
    let channel = |place: usize| {
        let over_black = one[place] - other[place];
        let over_white = over_black - alpha;
        WEIGHTS[place] * (over_black * over_black + over_white * over_white)
    };
    channel(0) + channel(1) + channel(2)
}

/// A colour of the picture.
#[derive(Clone, Copy)]
struct Colour {
    rgba: [u8; 4],
    at: Coordinates,
    count: i64,
}

/// `pixels` in at most 64 colours, and fewer where `enough` (mean difference, in hundredths)
/// is met with fewer.
pub(super) fn quantized(pixels: &Pixels, enough: i64) -> Pixels {
    let mut colours = colours(pixels);
    if colours.len() <= MOST {
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
        // Only the transparent pixel is missing, and stays.
        let found = replaced.binary_search_by_key(&pixel, |(from, _)| *from);
        found.map_or(pixel, |place| replaced[place].1)
    });
    Pixels::new(pixels.width(), pixels.height(), rgba.collect()).unwrap_or_else(|| pixels.clone())
}

/// The distinct colours that are seen, in total order.
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

/// Sums over the colours of a box.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: i64,
    sum: Coordinates,
    /// Of squares over black, and over white; then of alpha.
    squares: [i64; 7],
    /// The colour, while there is only one.
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
        for (place, at) in colour.at.iter().take(3).enumerate() {
            self.squares[place] += at * at * colour.count;
            self.squares[place + 3] += (at - alpha) * (at - alpha) * colour.count;
        }
        self.squares[6] += alpha * alpha * colour.count;
    }

    /// Sum of squared differences from the mean, of values with this sum and sum of squares.
    fn spread(&self, sum: i64, squares: i64) -> i64 {
        squares - sum * sum / self.count.max(1)
    }

    /// Error if one colour, the mean, stood for all.
    fn error(&self) -> i64 {
        let channel = |place: usize| {
            let over_black = self.spread(self.sum[place], self.squares[place]);
            let sum = self.sum[place] - self.sum[3];
            WEIGHTS[place] * (over_black + self.spread(sum, self.squares[place + 3]))
        };
        channel(0) + channel(1) + channel(2)
    }

    /// The coordinate whose error is greatest.
    fn widest(&self) -> usize {
        let spread = |place: usize| {
            let (squares, weight) = match place {
                3 => (self.squares[6], WEIGHT_SUM),
                _ => (self.squares[place], 2 * WEIGHTS[place]),
            };
            weight * self.spread(self.sum[place], squares)
        };
        (0..4).rev().max_by_key(|&place| spread(place)).unwrap_or(1)
    }

    /// The mean, as a colour.
    fn rgba(&self) -> [u8; 4] {
        if let Some(only) = self.only {
            return only;
        }
        let alpha = self.sum[3].max(1);
        // Premultiplied sums are at most that of alpha, but for rounding.
        let straight = |sum: i64| ((sum * 255 + alpha / 2) / alpha).clamp(0, 255) as u8;
        let [red, green, blue, _] = self.sum.map(straight);
        let count = self.count.max(1);
        [red, green, blue, ((self.sum[3] + count / 2) / count).clamp(1, 255) as u8]
    }
}

/// Splits the colours into boxes, the worst first, until the error is `enough` or boxes are out.
fn split(colours: &mut [Colour], enough: i64) -> Vec<Sums> {
    let whole = Sums::of(&*colours);
    let mut boxes = vec![(0..colours.len(), whole, whole.error())];
    while boxes.len() < MOST && boxes.iter().map(|(_, _, error)| error).sum::<i64>() > enough {
        // The first of equals.
        let worst = (0..boxes.len()).rev().max_by_key(|&place| boxes[place].2).unwrap_or(0);
        let (range, sums, _) = boxes[worst].clone();
        let widest = sums.widest();
        let low = |colour: &Colour| colour.at[widest] * sums.count <= sums.sum[widest];
        let part = &mut colours[range.clone()];
        let cut = partition(part, low);
        if cut == 0 || cut == part.len() {
            // All the same to the eye: nothing is gained here.
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

/// Moves what is `low` to the front; answers how many they are.
fn partition(colours: &mut [Colour], low: impl Fn(&Colour) -> bool) -> usize {
    let mut next = 0;
    for place in 0..colours.len() {
        if low(&colours[place]) {
            colours.swap(next, place);
            next += 1;
        }
    }
    next
}

fn gathered(colours: &[Colour], nearest: &[usize], entries: usize) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); entries];
    for (colour, &entry) in colours.iter().zip(nearest) {
        sums[entry].add(colour);
    }
    sums.retain(|sums| sums.count > 0);
    sums
}

/// A palette, laid out for the search of the nearest.
struct Entries {
    rgba: Vec<[u8; 4]>,
    /// A coordinate of each entry; past the entries, far from every colour.
    at: [[f32; LANES]; 4],
}

/// Places for entries; a whole number of vectors.
const LANES: usize = 64;
/// Further from any colour than any entry, however it is rounded.
const FAR: f32 = 4096.0;

impl Entries {
    fn of(sums: &[Sums]) -> Self {
        let rgba: Vec<[u8; 4]> = sums.iter().map(Sums::rgba).collect();
        let mut at = [[FAR; LANES]; 4];
        for (place, &rgba) in rgba.iter().enumerate().take(LANES) {
            for (row, coordinate) in at.iter_mut().zip(premultiplied(rgba)) {
                // At most 255.
                row[place] = coordinate as f32;
            }
        }
        Self { rgba, at }
    }

    /// The nearest entry of each colour, the first of equals.
    fn nearest(&self, colours: &[Colour], nearest: &mut [usize]) {
        let weights = WEIGHTS.map(|weight| weight as f32);
        for (colour, nearest) in colours.iter().zip(nearest) {
            let [red, green, blue, alpha] = colour.at.map(|coordinate| coordinate as f32);
            let mut distances = [0f32; LANES];
            for (place, distance) in distances.iter_mut().enumerate() {
                let by_alpha = alpha - self.at[3][place];
                let channel = |value: f32, row: usize| {
                    let over_black = value - self.at[row][place];
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
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_entry_found_in_floats_is_the_first_nearest_in_integers(
            entries in proptest::collection::vec(any::<[u8; 4]>(), 1..=MOST),
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

    #[test]
    fn a_difference_is_that_over_black_and_white_and_of_the_worst_square() {
        let plain = |pixel: [u8; 4]| Pixels::new(8, 8, pixel.repeat(64)).unwrap();
        let same = Difference::between(&plain([9, 9, 9, 255]), &plain([9, 9, 9, 255]));
        assert_eq!(same, Difference { mean: 0, worst: 0 });
        let tenth = Difference::between(&plain([90, 90, 90, 255]), &plain([100, 100, 100, 255]));
        assert_eq!(tenth, Difference { mean: 10_000, worst: 10_000 });
        // Black over black can't be seen, black over white can.
        let faint = Difference::between(&plain([0; 4]), &plain([0, 0, 0, 10]));
        assert_eq!(faint.mean, 5_000);
        let mut one = plain([0, 0, 0, 255]).rgba().to_vec();
        one[..4].copy_from_slice(&[16, 16, 16, 255]);
        let one = Difference::between(&plain([0, 0, 0, 255]), &Pixels::new(8, 8, one).unwrap());
        assert_eq!(one, Difference { mean: 400, worst: 1_600 });
        assert!(one.is_unseen() && !tenth.is_unseen());
    }
}
