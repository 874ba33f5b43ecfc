//! Applies row filters (PNG 9): no filter at all, or for each row the filter with the lowest sum.

use super::{format::paeth, packed::PackedPixels};

/// Returns the rows, each after a filter byte 0.
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

/// Returns the rows, each after its filter byte, and the total over the chosen sums. Each row gets
/// the filter whose output, read as signed bytes, has the lowest total magnitude (PNG 12.7). If
/// sums are equal, the filter with the lowest number is chosen.
pub(super) fn least_sums(packed: &PackedPixels) -> (Vec<u8>, u32) {
    let (step, stride) = (packed.pixel_bytes, packed.row_bytes.max(1));
    let rows = packed.rows.chunks_exact(stride);
    let mut raw = Vec::with_capacity(packed.rows.len() + rows.len());
    let mut total = 0;
    // A zero pixel before each row replaces the missing pixel to the left.
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
    // A row with 2048 pixels sums to at most 2^20, and all rows in a picture to at most 2^31.
    // Without overflow checks, the compiler vectorises this loop.
    let each = filtered.iter().map(|&byte| u32::from(byte.cast_signed().unsigned_abs()));
    each.fold(0, u32::wrapping_add)
}

/// Subtracts from each byte of `row` the prediction from its left, upper and upper left byte.
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
