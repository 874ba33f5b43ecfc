//! Applies PNG's row filters (PNG 9).

use super::{format::paeth, packed::PackedPixels};

pub(super) fn unfiltered(packed: &PackedPixels) -> Vec<u8> {
    let stride = packed.row_bytes.max(1);
    let rows = packed.rows.chunks_exact(stride);
    let mut raw = Vec::with_capacity(packed.rows.len() + rows.len());
    for row in rows {
        raw.push(0);
        raw.extend_from_slice(row);
    }
    raw
}

/// Gives each row the filter with the lowest sum of its bytes' absolute values (PNG 12.7). Returns
/// the rows, each preceded by its filter byte, and the total of their sums.
pub(super) fn least_sums(packed: &PackedPixels) -> (Vec<u8>, u32) {
    let step = packed.pixel_bytes;
    let stride = packed.row_bytes.max(1);
    let rows = packed.rows.chunks_exact(stride);
    let mut raw = Vec::with_capacity(packed.rows.len() + rows.len());
    let mut total = 0;
    // A zero pixel before each row serves as the first pixel's left neighbour.
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
        total += least;
        std::mem::swap(&mut row_padded, &mut above_padded);
    }
    (raw, total)
}

fn sum(filtered: &[u8]) -> u32 {
    // All rows' sum is at most 2^31. Without overflow checks, the compiler vectorises this loop.
    let each = filtered.iter().map(|&byte| u32::from(byte.cast_signed().unsigned_abs()));
    each.fold(0, u32::wrapping_add)
}

/// Subtracts the value predicted from the left, upper and upper left neighbours.
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
