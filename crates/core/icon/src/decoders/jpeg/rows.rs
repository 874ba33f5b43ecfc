//! Scales components up to the picture's dimensions and converts them to RGBA, with libjpeg's
//! integer arithmetic (`jdsample.c`, "fancy upsampling", and `jdcolor.c`).

use multiversion::multiversion;

use super::frame::{Component, ComponentColours, Frame};

#[derive(Debug)]
pub(super) struct Plane {
    pub(super) samples: Vec<u8>,
    /// Samples per row, including those that only fill the last units.
    pub(super) stride: usize,
}

/// Converts Y, Cb and Cr to red, green and blue (JFIF 1.02, page 3).
// If this is not inlined, the compiler does not vectorize the conversion of rows.
#[inline(always)]
pub(crate) fn to_rgb([y, cb, cr]: [u8; 3]) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    [
        y + ((91_881 * cr + 32_768) >> 16),
        y + ((-22_554 * cb - 46_802 * cr + 32_768) >> 16),
        y + ((116_130 * cb + 32_768) >> 16),
    ]
    .map(|channel| channel.clamp(0, 255) as u8)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scaling {
    Repeat(usize, usize),
    /// Doubles the width. The nearest sample has weight 3 and the next has weight 1, as in `Higher`
    /// and `Larger`.
    Wider,
    Higher,
    Larger,
}

impl Scaling {
    /// `None` if a sampling factor does not divide the frame's maximum.
    fn of(component: &Component, frame: &Frame) -> Option<Self> {
        let (across, down) = component.sampling;
        let (most_across, most_down) = frame.sampling;
        if !most_across.is_multiple_of(across) || !most_down.is_multiple_of(down) {
            return None;
        }
        Some(match (most_across / across, most_down / down) {
            (2, 1) if component.samples.0 > 2 => Self::Wider,
            (1, 2) => Self::Higher,
            (2, 2) if component.samples.0 > 2 => Self::Larger,
            (across, down) => Self::Repeat(across, down),
        })
    }
}

/// Returns true if picture rows depend on samples in the next unit row. `None` if a component
/// cannot be scaled.
pub(super) fn reach_over(frame: &Frame) -> Option<bool> {
    let mut reach = false;
    for component in &frame.components {
        reach |= matches!(Scaling::of(component, frame)?, Scaling::Higher | Scaling::Larger);
    }
    Some(reach)
}

pub(super) fn rgba(
    planes: &[Plane],
    frame: &Frame,
    colours: ComponentColours,
    rows: usize,
) -> Option<Vec<u8>> {
    let width = frame.sides.0;
    let mut rgba = vec![0; width * rows * 4];
    let mut scaled: [Vec<u8>; 4] = std::array::from_fn(|_| Vec::new());
    let scalings: Vec<Scaling> = frame
        .components
        .iter()
        .map(|component| Scaling::of(component, frame))
        .collect::<Option<_>>()?;
    for (y, row) in rgba.chunks_exact_mut(width * 4).enumerate() {
        for (index, scaling) in scalings.iter().enumerate() {
            let component = &frame.components[index];
            scale_row(&planes[index], component, *scaling, y, &mut scaled[index]);
        }
        convert_row(&scaled, colours, row.as_chunks_mut::<4>().0);
    }
    Some(rgba)
}

/// Scales the samples of the picture's row `y`. The result has at least as many samples as the
/// picture is wide.
fn scale_row(
    plane: &Plane,
    component: &Component,
    scaling: Scaling,
    y: usize,
    output: &mut Vec<u8>,
) {
    let (width, height) = component.samples;
    let row = |y: usize| &plane.samples[y.min(height - 1) * plane.stride..][..width];
    let is_upper = y.is_multiple_of(2);
    let neighbour = if is_upper { (y / 2).saturating_sub(1) } else { y / 2 + 1 };
    output.clear();
    match scaling {
        Scaling::Repeat(1, down) => output.extend_from_slice(row(y / down)),
        Scaling::Repeat(across, down) => {
            let samples = row(y / down).iter();
            output.extend(samples.flat_map(|&sample| std::iter::repeat_n(sample, across)));
        }
        Scaling::Wider => {
            let samples = row(y);
            let last = samples.len() - 1;
            let number = |at: usize| u32::from(samples[at]);
            output.extend_from_slice(&[samples[0], mean(number(0), number(1), 2, 2)]);
            for near in samples.windows(3) {
                let [left, middle, right] = [near[0], near[1], near[2]].map(u32::from);
                output.extend_from_slice(&[mean(middle, left, 1, 2), mean(middle, right, 2, 2)]);
            }
            let end = [mean(number(last), number(last - 1), 1, 2), samples[last]];
            output.extend_from_slice(&end);
        }
        Scaling::Higher => {
            let bias = if is_upper { 1 } else { 2 };
            let pairs = row(y / 2).iter().zip(row(neighbour));
            output.extend(pairs.map(|(&near, &far)| mean(near.into(), far.into(), bias, 2)));
        }
        Scaling::Larger => {
            let (near, far) = (row(y / 2), row(neighbour));
            let sum = |at: usize| u32::from(near[at]) * 3 + u32::from(far[at]);
            let last = width - 1;
            let (mut left, mut middle) = (sum(0), sum(1));
            output.extend_from_slice(&[((left * 4 + 8) >> 4) as u8, mean(left, middle, 7, 4)]);
            for (&near, &far) in near[2..].iter().zip(&far[2..]) {
                let right = u32::from(near) * 3 + u32::from(far);
                output.extend_from_slice(&[mean(middle, left, 8, 4), mean(middle, right, 7, 4)]);
                (left, middle) = (middle, right);
            }
            let end = [mean(middle, left, 8, 4), ((sum(last) * 4 + 7) >> 4) as u8];
            output.extend_from_slice(&end);
        }
    }
}

fn mean(near: u32, far: u32, bias: u32, shift: u32) -> u8 {
    ((near * 3 + far + bias) >> shift) as u8
}

/// AVX2 does not change the result, because all numbers are integers.
#[multiversion(targets("x86_64+avx2"))]
fn convert_row(components: &[Vec<u8>; 4], colours: ComponentColours, row: &mut [[u8; 4]]) {
    let [first, second, third, fourth] = components;
    match colours {
        ComponentColours::Grey => {
            for (pixel, &grey) in row.iter_mut().zip(first) {
                *pixel = [grey, grey, grey, 255];
            }
        }
        ComponentColours::Rgb => {
            for (((pixel, &red), &green), &blue) in row.iter_mut().zip(first).zip(second).zip(third)
            {
                *pixel = [red, green, blue, 255];
            }
        }
        ComponentColours::YCbCr => {
            for (((pixel, &luma), &blue), &red) in row.iter_mut().zip(first).zip(second).zip(third)
            {
                let [red, green, blue] = to_rgb([luma, blue, red]);
                *pixel = [red, green, blue, 255];
            }
        }
        ComponentColours::Cmyk | ComponentColours::Ycck => {
            let inks = first.iter().zip(second).zip(third).zip(fourth);
            for (pixel, (((&first, &second), &third), &black)) in row.iter_mut().zip(inks) {
                let inks = match colours {
                    ComponentColours::Cmyk => [first, second, third],
                    _ => to_rgb([first, second, third]).map(|light| 255 - light),
                };
                // Like browsers, treat all inks as inverted.
                let [red, green, blue] =
                    inks.map(|ink| (u32::from(ink) * u32::from(black) / 255) as u8);
                *pixel = [red, green, blue, 255];
            }
        }
    }
}
