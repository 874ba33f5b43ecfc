//! PNG's row filters (PNG 9): none at all, or a row at a time the one with the least sum.

use super::reduce::Reduced;

/// How filters are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filtering {
    /// Filter 0 for every row.
    None,
    /// For each row the filter whose output, as signed bytes, has the least sum of magnitudes
    /// (PNG 12.7); the lowest number of equals.
    LeastSum,
}

impl Filtering {
    /// The rows with their filter bytes in front.
    pub(super) fn apply(self, reduced: &Reduced) -> Vec<u8> {
        let stride = reduced.row_bytes.max(1);
        let rows = reduced.rows.chunks_exact(stride);
        let mut raw = Vec::with_capacity(reduced.rows.len() + rows.len());
        match self {
            Self::None => {
                for row in rows {
                    raw.push(0);
                    raw.extend_from_slice(row);
                }
            }
            Self::LeastSum => least_sums(&mut raw, rows, reduced.pixel_bytes, stride),
        }
        raw
    }
}

fn least_sums<'a>(
    raw: &mut Vec<u8>,
    rows: impl Iterator<Item = &'a [u8]>,
    step: usize,
    stride: usize,
) {
    // A pixel of zeros in front of each row stands for what lies left of it.
    let mut row_padded = vec![0; step + stride];
    let mut above_padded = vec![0; step + stride];
    let mut filtered = vec![0; stride];
    for row in rows {
        row_padded[step..].copy_from_slice(row);
        let start = raw.len();
        raw.push(0);
        raw.extend_from_slice(row);
        let mut least = sum(row);
        let (left, corner) = (&row_padded[..stride], &above_padded[..stride]);
        let above = &above_padded[step..];
        for filter in 1..5 {
            match filter {
                1 => difference(&mut filtered, row, left, above, corner, |left, _, _| left),
                2 => difference(&mut filtered, row, left, above, corner, |_, above, _| above),
                3 => difference(&mut filtered, row, left, above, corner, |left, above, _| {
                    left.midpoint(above)
                }),
                _ => difference(&mut filtered, row, left, above, corner, paeth),
            }
            let sum = sum(&filtered);
            if sum < least {
                least = sum;
                raw[start] = filter;
                raw[start + 1..].copy_from_slice(&filtered);
            }
        }
        std::mem::swap(&mut row_padded, &mut above_padded);
    }
}

fn sum(filtered: &[u8]) -> u32 {
    // A row of 2048 pixels sums to 2^20 at most.
    filtered.iter().map(|&byte| u32::from(byte.cast_signed().unsigned_abs())).sum()
}

#[inline(always)]
fn difference(
    filtered: &mut [u8],
    row: &[u8],
    left: &[u8],
    above: &[u8],
    corner: &[u8],
    predict: impl Fn(u8, u8, u8) -> u8,
) {
    let neighbours = left.iter().zip(above).zip(corner);
    for ((target, &byte), ((&left, &above), &corner)) in
        filtered.iter_mut().zip(row).zip(neighbours)
    {
        *target = byte.wrapping_sub(predict(left, above, corner));
    }
}

#[inline(always)]
fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, above, corner].map(i16::from);
    // Distances of the estimate a + b - c from each, without the estimate itself.
    let (to_a, to_b, to_c) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
    let nearer = if to_b <= to_c { above } else { corner };
    if to_a <= to_b && to_a <= to_c { left } else { nearer }
}
