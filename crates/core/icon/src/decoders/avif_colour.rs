//! Converts AVIF colours to sRGB: inverts the transfer function, maps HDR tones, and converts the
//! primaries.
//!
//! We ignore colour profiles (docs/decisions/0018). We compute powers with the `libm` crate instead
//! of the system's library, so that all machines compute the same pixels. See ITU-T H.273, 8.1 and
//! 8.2; ITU-R BT.2100 for PQ and HLG; and SMPTE ST 2094-50 for mapping tones around a reference
//! white.

use std::sync::LazyLock;

use super::avif_stream::Colour;

/// Luminance in nits that sRGB shows as white.
const REFERENCE_NITS: f64 = 203.0;
/// The brightest pixel's luminance in nits, if the file does not declare it. This is also the
/// luminance of the value 1 in HLG.
const DEFAULT_PEAK_NITS: f64 = 1000.0;
/// Maximum luminance in nits that PQ can express.
const MAX_PQ_NITS: f64 = 10_000.0;
/// H.273 codes for the HDR transfer functions.
const PQ: u16 = 16;
const HLG: u16 = 18;
/// H.273 code for the matrix that is derived from the primaries. As in Chromium, we do not convert
/// the colours of pictures with this matrix.
const OF_PRIMARIES: u16 = 12;
/// H.273 code for the BT.2020 primaries. Tones are mapped in these primaries.
const BT2020: u16 = 9;
/// Steps in the table that encodes sRGB. A step is at most about a fifth of an 8-bit level.
const STEPS: usize = 1 << 14;

static LEVELS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let level = |step| {
        let linear = f64::from(step) / (STEPS - 1) as f64;
        let encoded = if linear <= 0.003_130_8 {
            12.92 * linear
        } else {
            1.055 * libm::pow(linear, 1.0 / 2.4) - 0.055
        };
        (encoded * 255.0).round() as u8
    };
    (0..STEPS as u32).map(level).collect()
});

type Vector = [f64; 3];
type Matrix = [Vector; 3];

pub(crate) struct ToSrgb {
    /// Linear value for each 8-bit level. 1 is the reference white.
    linear: Vec<f64>,
    /// `None` unless the transfer function is HLG.
    luminance: Option<Vector>,
    to_srgb: Matrix,
    to_bt2020: Matrix,
    tones: Option<Tones>,
}

impl ToSrgb {
    /// `peak_nits` is the brightest pixel's luminance, or 0 if this is unknown. The outer `None`
    /// means that the transfer function is not supported. The inner `None` means that the colours
    /// need no conversion.
    pub(crate) fn new(colour: Colour, peak_nits: u16) -> Option<Option<Self>> {
        let Colour { primaries, transfer, matrix, .. } = colour;
        if matrix == OF_PRIMARIES {
            return Some(None);
        }
        if matches!(transfer, 9..=12) {
            // These functions are logarithmic or have negative values. Chromium rejects them, too.
            return None;
        }
        let is_hdr = is_hdr(transfer);
        let is_curved = is_hdr || matches!(transfer, 4 | 5 | 7 | 8 | 17);
        let xyz = to_xyz(primaries);
        if xyz.is_none() && !is_curved {
            return Some(None);
        }
        let srgb = chromaticity_matrix(SRGB);
        let (from, white) = xyz.unwrap_or((srgb, SRGB[3]));
        let to = |(matrix, to_white): (Matrix, (f64, f64))| {
            times(&inverse(&matrix), &times(&adaptation(white, to_white), &from))
        };
        let peak = if peak_nits == 0 { DEFAULT_PEAK_NITS } else { f64::from(peak_nits) };
        let is_bright = is_hdr && peak > REFERENCE_NITS;
        Some(Some(Self {
            linear: (0..=255).map(|level| linear(transfer, f64::from(level) / 255.0)).collect(),
            luminance: (transfer == HLG).then_some(from[1]),
            to_srgb: to((srgb, SRGB[3])),
            to_bt2020: to(to_xyz(BT2020).unwrap_or((srgb, SRGB[3]))),
            tones: is_bright.then(|| Tones::new(peak.min(MAX_PQ_NITS) / REFERENCE_NITS)),
        }))
    }

    pub(crate) fn apply(&self, rgba: &mut [u8]) {
        // Neighbouring pixels are often equal, so reuse the last result.
        let mut last = [0; 3];
        let mut result = self.converted([0; 3]);
        for pixel in rgba.as_chunks_mut::<4>().0 {
            let [red, green, blue, _] = *pixel;
            if last != [red, green, blue] {
                last = [red, green, blue];
                result = self.converted(last);
            }
            pixel[..3].copy_from_slice(&result);
        }
    }

    fn converted(&self, levels: [u8; 3]) -> [u8; 3] {
        let mut colour = levels.map(|level| self.linear[usize::from(level)]);
        if let Some(weights) = self.luminance {
            // A gamma of 1.2 converts scene light to display light (BT.2100, table 5).
            let light = libm::pow(dot(&weights, &colour).max(0.0), 0.2);
            colour = colour.map(|part| part * light * DEFAULT_PEAK_NITS / REFERENCE_NITS);
        }
        let mut gain = 1.0;
        if let Some(tones) = &self.tones {
            let [red, green, blue] = product(&self.to_bt2020, &colour);
            let brightest = red.max(green).max(blue);
            if brightest > 0.0 {
                gain = tones.mapped(brightest) / brightest;
            }
        }
        product(&self.to_srgb, &colour).map(|part| {
            let step = (part * gain).clamp(0.0, 1.0) * (STEPS - 1) as f64;
            LEVELS[(step + 0.5) as usize]
        })
    }
}

struct Tones {
    peak: f64,
    white: f64,
    /// Coefficients of t² and t in a quadratic Bézier curve, for each axis.
    x: (f64, f64),
    y: (f64, f64),
}

impl Tones {
    fn new(peak: f64) -> Self {
        let headroom = libm::log2(peak) / libm::log2(DEFAULT_PEAK_NITS / REFERENCE_NITS);
        let white = 1.0 - 0.5 * headroom.min(1.0);
        // The curve's control point lies on the line that maps the tones up to the reference white.
        let (x, y) = (0.35 + 0.65 / white, 0.35 * white + 0.65);
        Self {
            peak,
            white,
            x: (1.0 - 2.0 * x + peak, 2.0 * x - 2.0),
            y: (white - 2.0 * y + 1.0, 2.0 * y - 2.0 * white),
        }
    }

    fn mapped(&self, tone: f64) -> f64 {
        if tone <= 1.0 {
            return tone * self.white;
        }
        if tone >= self.peak {
            return 1.0;
        }
        let ((a, b), rise) = (self.x, tone - 1.0);
        // Solve a * t * t + b * t = rise with a formula that also works if a is 0.
        let t = 2.0 * rise / (b + (b * b + 4.0 * a * rise).max(0.0).sqrt());
        self.y.0 * t * t + self.y.1 * t + self.white
    }
}

pub(crate) fn is_hdr(transfer: u16) -> bool {
    matches!(transfer, PQ | HLG)
}

/// Converts an encoded value from 0 to 1 to a linear value. As in Chromium, unknown functions,
/// BT.709, BT.601 and BT.2020 count as sRGB.
fn linear(transfer: u16, value: f64) -> f64 {
    match transfer {
        4 => libm::pow(value, 2.2),
        5 => libm::pow(value, 2.8),
        7 if value < 0.0913 => value / 4.0,
        7 => libm::pow((value + 0.1115) / 1.1115, 1.0 / 0.45),
        8 => value,
        PQ => {
            let root = libm::pow(value, 32.0 / 2523.0);
            let quotient =
                (root - 3424.0 / 4096.0).max(0.0) / (2413.0 / 128.0 - 2392.0 / 128.0 * root);
            libm::pow(quotient, 16384.0 / 2610.0) * MAX_PQ_NITS / REFERENCE_NITS
        }
        17 => libm::pow(value, 2.6) * 52.37 / 48.0,
        HLG if value <= 0.5 => value * value / 3.0,
        HLG => {
            let (a, b, c) = (0.178_832_77, 0.284_668_92, 0.559_910_73);
            (libm::exp((value - c) / a) + b) / 12.0
        }
        _ if value <= 0.04045 => value / 12.92,
        _ => libm::pow((value + 0.055) / 1.055, 2.4),
    }
}

type Chromaticities = [(f64, f64); 4];

const D65: (f64, f64) = (0.3127, 0.3290);
const ILLUMINANT_C: (f64, f64) = (0.310, 0.316);
const SRGB: Chromaticities = [(0.64, 0.33), (0.30, 0.60), (0.15, 0.06), D65];

/// `None` for BT.709, because it has sRGB's primaries, and for unknown primaries.
fn chromaticities(primaries: u16) -> Option<Chromaticities> {
    Some(match primaries {
        4 => [(0.67, 0.33), (0.21, 0.71), (0.14, 0.08), ILLUMINANT_C],
        5 => [(0.64, 0.33), (0.29, 0.60), (0.15, 0.06), D65],
        6 | 7 => [(0.630, 0.340), (0.310, 0.595), (0.155, 0.070), D65],
        8 => [(0.681, 0.319), (0.243, 0.692), (0.145, 0.049), ILLUMINANT_C],
        BT2020 => [(0.708, 0.292), (0.170, 0.797), (0.131, 0.046), D65],
        10 => [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (1.0 / 3.0, 1.0 / 3.0)],
        11 => [(0.680, 0.320), (0.265, 0.690), (0.150, 0.060), (0.314, 0.351)],
        12 => [(0.680, 0.320), (0.265, 0.690), (0.150, 0.060), D65],
        22 => [(0.630, 0.340), (0.295, 0.605), (0.155, 0.077), D65],
        _ => return None,
    })
}

/// `None` for BT.709 and for unknown primaries.
pub(crate) fn luminance_weights(primaries: u16) -> Option<Vector> {
    to_xyz(primaries).map(|(matrix, _)| matrix[1])
}

fn to_xyz(primaries: u16) -> Option<(Matrix, (f64, f64))> {
    chromaticities(primaries).map(|all| (chromaticity_matrix(all), all[3]))
}

fn chromaticity_matrix([red, green, blue, white]: Chromaticities) -> Matrix {
    let [r, g, b] = [red, green, blue].map(|(x, y)| [x, y, 1.0 - x - y]);
    let columns = [[r[0], g[0], b[0]], [r[1], g[1], b[1]], [r[2], g[2], b[2]]];
    let amounts = product(&inverse(&columns), &xyz_of(white));
    columns.map(|[r, g, b]| [r * amounts[0], g * amounts[1], b * amounts[2]])
}

fn xyz_of((x, y): (f64, f64)) -> Vector {
    [x / y, 1.0, (1.0 - x - y) / y]
}

fn adaptation(from: (f64, f64), to: (f64, f64)) -> Matrix {
    const CONES: Matrix =
        [[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]];
    let (from, to) = (product(&CONES, &xyz_of(from)), product(&CONES, &xyz_of(to)));
    let mut scaled = CONES;
    for (row, (from, to)) in scaled.iter_mut().zip(from.iter().zip(to)) {
        *row = row.map(|factor| factor * to / from);
    }
    times(&inverse(&CONES), &scaled)
}

fn dot(one: &Vector, other: &Vector) -> f64 {
    one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
}

fn product(matrix: &Matrix, vector: &Vector) -> Vector {
    matrix.map(|row| dot(&row, vector))
}

fn times(one: &Matrix, other: &Matrix) -> Matrix {
    let columns = [0, 1, 2].map(|column| other.map(|row| row[column]));
    one.map(|row| columns.map(|column| dot(&row, &column)))
}

fn inverse(m: &Matrix) -> Matrix {
    let minor = |row: usize, column: usize| {
        let at = |down: usize, right: usize| m[(row + down) % 3][(column + right) % 3];
        at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1)
    };
    let determinant = dot(&m[0], &[minor(0, 0), minor(0, 1), minor(0, 2)]);
    [0, 1, 2].map(|row| [0, 1, 2].map(|column| minor(column, row) / determinant))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(primaries: u16, transfer: u16, peak_nits: u16, levels: [u8; 3]) -> [u8; 3] {
        let colour = Colour { primaries, transfer, matrix: 0, full_range: true };
        let mut rgba = [levels[0], levels[1], levels[2], 7];
        ToSrgb::new(colour, peak_nits).unwrap().unwrap().apply(&mut rgba);
        assert_eq!(rgba[3], 7, "opacity");
        [rgba[0], rgba[1], rgba[2]]
    }

    #[test]
    fn srgb_and_unknown_functions_are_unchanged_and_logarithms_rejected() {
        for (primaries, transfer) in [(1, 13), (2, 2), (1, 1), (0, 0), (255, 19), (3, 6), (1, 14)] {
            let colour = Colour { primaries, transfer, matrix: 0, full_range: true };
            assert!(ToSrgb::new(colour, 0).unwrap().is_none(), "{primaries} {transfer}");
        }
        let colour = Colour { primaries: 9, transfer: PQ, matrix: 12, full_range: true };
        assert!(ToSrgb::new(colour, 0).unwrap().is_none(), "as in Chromium");
        for transfer in 9..=12 {
            let colour = Colour { primaries: 1, transfer, matrix: 0, full_range: true };
            assert!(ToSrgb::new(colour, 0).is_none(), "{transfer}");
        }
    }

    #[test]
    fn grey_is_converted_as_in_chromium() {
        // Chromium 156's results for grey levels 0, 51, 102, ... 255.
        let functions = [
            (4, [0, 48, 102, 154, 205, 255]),
            (5, [0, 27, 78, 134, 193, 255]),
            (7, [0, 69, 117, 164, 210, 255]),
            (8, [0, 124, 170, 203, 231, 255]),
            (17, [0, 35, 89, 146, 205, 255]),
            (PQ, [0, 18, 80, 200, 255, 255]),
            (HLG, [0, 31, 76, 126, 207, 255]),
        ];
        for (transfer, expected) in functions {
            for (level, expected) in (0..=255).step_by(51).zip(expected) {
                for primaries in [1, 9, 12] {
                    let got = shown(primaries, transfer, 0, [level; 3]);
                    let is_near = got.iter().all(|got| got.abs_diff(expected) <= 1);
                    assert!(is_near, "{transfer} {primaries} {level}: {got:?}");
                }
            }
        }
    }

    #[test]
    fn primaries_outside_srgb_are_clipped_and_grey_stays_grey() {
        for primaries in [4, 5, 6, 7, 8, 9, 10, 11, 12, 22] {
            assert_eq!(shown(primaries, 13, 0, [99; 3]), [99; 3], "{primaries}");
        }
        assert_eq!(shown(9, 13, 0, [255, 0, 0]), [255, 0, 0]);
        // This is `color(display-p3 .2 .6 .4)`, computed with the matrices in CSS Color 4.
        assert_eq!(shown(12, 13, 0, [51, 153, 102]), [0, 156, 97]);
    }

    #[test]
    fn a_lower_declared_peak_makes_the_rest_brighter() {
        assert_eq!(shown(9, PQ, 203, [148; 3]), [255; 3]);
        let [default, ..] = shown(9, PQ, 0, [148; 3]);
        assert_eq!(shown(9, PQ, 1000, [148; 3]), [default; 3]);
        let [between, ..] = shown(9, PQ, 470, [148; 3]);
        assert!(default < between && between < 255, "{default} {between}");
        assert_eq!(shown(9, PQ, 470, [255; 3]), [255; 3]);
    }
}
