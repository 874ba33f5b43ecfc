//! Converts an AV1 picture's luma and chroma to red, green and blue, in integers.
//!
//! Like Chromium, we convert 8-bit samples with libyuv's factors, which have six fraction bits and
//! are at most 2, so blue is too weak in limited-range pictures. Samples with more bits, and
//! matrices that libyuv does not support, are converted exactly. See ITU-T H.273, 8.3, and libyuv's
//! `row_common.cc`.

use super::avif_colour::luminance_weights;

/// Fraction bits in exact factors. Sums are below 1,100 levels, so they fit into 32 bits.
const FRACTION: u32 = 20;
/// 255 levels, in units of 1/2^[`FRACTION`] level.
const PARTS_PER_LEVEL: f64 = 255.0 * (1 << FRACTION) as f64;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Matrix {
    /// The planes are green, blue and red.
    Identity,
    /// YCgCo: the first chroma plane is a difference to green.
    GreenDifference,
    /// Luma is a weighted sum. The chroma planes are the differences between blue and luma, and
    /// between red and luma.
    Weighted(Weights),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weights {
    red: f64,
    blue: f64,
    /// libyuv's factors YG, YB, UB, UG, VG and VR, for the full range and for the limited range.
    libyuv: Option<[Libyuv; 2]>,
}

type Libyuv = [i32; 6];

const BT709: Weights = Weights {
    red: 0.2126,
    blue: 0.0722,
    libyuv: Some([[16320, 32, 119, 12, 30, 101], [18997, -1160, 128, 14, 34, 115]]),
};
const BT601: Weights = Weights {
    red: 0.299,
    blue: 0.114,
    libyuv: Some([[16320, 32, 113, 22, 46, 90], [18997, -1160, 128, 25, 52, 102]]),
};
const BT2020: Weights = Weights {
    red: 0.2627,
    blue: 0.0593,
    libyuv: Some([[16320, 32, 120, 11, 37, 94], [19003, -1160, 128, 12, 42, 107]]),
};
const FCC: Weights = Weights { red: 0.3, blue: 0.11, libyuv: None };
const SMPTE240: Weights = Weights { red: 0.212, blue: 0.087, libyuv: None };

impl Matrix {
    /// Returns the matrix for a code in ITU-T H.273. Code 12 means that the matrix is derived from
    /// the primaries. As in libavif, an unspecified matrix is BT.601.
    pub(crate) fn numbered(matrix: u16, primaries: u16) -> Option<Self> {
        Some(Self::Weighted(match (matrix, primaries) {
            (0, _) => return Some(Self::Identity),
            (8, _) => return Some(Self::GreenDifference),
            (1, _) | (12, 1 | 2) => BT709,
            (2 | 5 | 6, _) | (12, 5 | 6) => BT601,
            (4, _) => FCC,
            (7, _) => SMPTE240,
            (9, _) | (12, 9) => BT2020,
            (12, _) => {
                let [red, _, blue] = luminance_weights(primaries)?;
                Weights { red, blue, libyuv: None }
            }
            _ => return None,
        }))
    }
}

#[derive(Debug)]
pub(crate) struct Conversion {
    luma: Vec<i32>,
    grey: i32,
    /// For each colour: the factors for both chroma planes, and 1 if luma contributes or 0 if not.
    factors: [[i32; 3]; 3],
    fraction: u32,
}

impl Conversion {
    /// `depth` is 8, 10 or 12 bits.
    pub(crate) fn new(matrix: Matrix, depth: usize, full_range: bool) -> Self {
        if let Matrix::Weighted(Weights { libyuv: Some(tables), .. }) = matrix
            && depth == 8
        {
            return Self::of_libyuv(tables[usize::from(!full_range)]);
        }
        let (values, more) = (1 << depth, depth - 8);
        let (black, luma_steps, chroma_steps) = if full_range {
            (0, values - 1, values - 1)
        } else {
            (16 << more, 219 << more, 224 << more)
        };
        // Each factor is a rounded quotient of a few products, which is the same on every machine.
        let parts =
            |factor: f64, steps: i32| (factor * PARTS_PER_LEVEL / f64::from(steps)).round() as i32;
        let (whole, one) = (parts(1.0, luma_steps), parts(1.0, chroma_steps));
        let luma = (0..values).map(|value| (value - black) * whole + (1 << (FRACTION - 1)));
        let (grey, factors) = match matrix {
            Matrix::Identity => (black, [[0, whole, 0], [0, 0, 1], [whole, 0, 0]]),
            Matrix::GreenDifference => (values / 2, [[-one, one, 1], [one, 0, 1], [-one, -one, 1]]),
            Matrix::Weighted(Weights { red, blue, .. }) => {
                let green = 1.0 - red - blue;
                let (of_red, of_blue) = (2.0 * (1.0 - red), 2.0 * (1.0 - blue));
                let part = |factor| parts(factor, chroma_steps);
                let of_green = [part(-blue * of_blue / green), part(-red * of_red / green), 1];
                (values / 2, [[0, part(of_red), 1], of_green, [part(of_blue), 0, 1]])
            }
        };
        Self { luma: luma.collect(), grey, factors, fraction: FRACTION }
    }

    fn of_libyuv([yg, yb, ub, ug, vg, vr]: Libyuv) -> Self {
        Self {
            luma: (0..256).map(|value| ((value * 257 * yg) >> 16) + yb).collect(),
            grey: 128,
            factors: [[0, vr, 1], [-ug, -vg, 1], [ub, 0, 1]],
            fraction: 6,
        }
    }

    pub(crate) fn rgb(&self, y: i32, u: i32, v: i32) -> [u8; 3] {
        let (u, v) = (u - self.grey, v - self.grey);
        let luma = self.luma(y);
        let half = 1 << (self.fraction - 1);
        self.factors.map(|[of_u, of_v, of_luma]| {
            let base = if of_luma == 1 { luma } else { half };
            ((base + u * of_u + v * of_v) >> self.fraction).clamp(0, 255) as u8
        })
    }

    pub(crate) fn grey(&self, y: i32) -> u8 {
        (self.luma(y) >> self.fraction).clamp(0, 255) as u8
    }

    fn luma(&self, y: i32) -> i32 {
        usize::try_from(y).ok().and_then(|y| self.luma.get(y)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn black_white_and_grey_are_exact_in_each_depth_and_range() {
        for number in [0, 1, 2, 4, 7, 8, 9] {
            let matrix = Matrix::numbered(number, 1).unwrap();
            for depth in [8, 10, 12] {
                for full_range in [false, true] {
                    let conversion = Conversion::new(matrix, depth, full_range);
                    let more = depth - 8;
                    let (black, white) =
                        if full_range { (0, (1 << depth) - 1) } else { (16 << more, 235 << more) };
                    let middle = 1 << (depth - 1);
                    for (y, level) in [(black, 0), (white, 255)] {
                        let chroma = if number == 0 { y } else { middle };
                        let case = format!("{number}, {depth} bits, {full_range}");
                        assert_eq!(conversion.rgb(y, chroma, chroma), [level; 3], "{case}");
                        assert_eq!(conversion.grey(y), level, "{case}");
                    }
                }
            }
        }
    }

    #[test]
    fn primary_colours_round_trip() {
        // This is red in BT.709 with 10 bits and limited range, according to H.273.
        let matrix = Matrix::numbered(1, 1).unwrap();
        let conversion = Conversion::new(matrix, 10, false);
        assert_eq!(conversion.rgb(250, 409, 960), [255, 0, 0]);
        let conversion = Conversion::new(Matrix::GreenDifference, 8, true);
        assert_eq!(conversion.rgb(128, 255, 128), [1, 255, 1]);
        assert_eq!(Matrix::numbered(14, 9), None);
        let Some(Matrix::Weighted(p3)) = Matrix::numbered(12, 12) else { panic!("no weights") };
        assert!((p3.red - 0.2290).abs() < 1e-4 && (p3.blue - 0.0793).abs() < 1e-4, "{p3:?}");
        assert_eq!(Matrix::numbered(12, 9), Matrix::numbered(9, 1));
    }
}
