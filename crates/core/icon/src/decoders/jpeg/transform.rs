//! The inverse discrete cosine transform of a block, in libjpeg's integer arithmetic (`jidctint.c`,
//! after Loeffler, Ligtenberg and Moschytz, 1989).
//!
//! In a damaged file, values wrap or saturate at 16 bits, exactly as in the vector code of
//! libjpeg-turbo.

use multiversion::multiversion;

use super::{rows::Plane, scan::BlockCoefficients};

/// Fraction bits in the constants.
const CONSTANT_BITS: u32 = 13;
/// Fraction bits between the two passes.
const PASS_BITS: u32 = 2;

type Lanes = [i32; 8];

#[inline(always)]
fn wrapped(value: i32) -> i32 {
    i32::from(value as i16)
}

#[inline(always)]
fn pass(input: &[Lanes; 8], shift: u32) -> [Lanes; 8] {
    let [x0, x1, x2, x3, x4, x5, x6, x7] = input;
    let mut output = [[0; 8]; 8];
    for i in 0..8 {
        let even = x2[i].wrapping_add(x6[i]).wrapping_mul(4433);
        let low = even.wrapping_sub(x6[i].wrapping_mul(15137));
        let high = even.wrapping_add(x2[i].wrapping_mul(6270));
        let sum = wrapped(x0[i].wrapping_add(x4[i])) << CONSTANT_BITS;
        let difference = wrapped(x0[i].wrapping_sub(x4[i])) << CONSTANT_BITS;
        let evens = [
            sum.wrapping_add(high),
            difference.wrapping_add(low),
            difference.wrapping_sub(low),
            sum.wrapping_sub(high),
        ];
        let z3 = wrapped(x7[i].wrapping_add(x3[i]));
        let z4 = wrapped(x5[i].wrapping_add(x1[i]));
        let z5 = z3.wrapping_add(z4).wrapping_mul(9633);
        let z3 = z5.wrapping_sub(z3.wrapping_mul(16069));
        let z4 = z5.wrapping_sub(z4.wrapping_mul(3196));
        let z1 = x7[i].wrapping_add(x1[i]).wrapping_mul(-7373);
        let z2 = x5[i].wrapping_add(x3[i]).wrapping_mul(-20995);
        let odds = [
            x1[i].wrapping_mul(12299).wrapping_add(z1).wrapping_add(z4),
            x3[i].wrapping_mul(25172).wrapping_add(z2).wrapping_add(z3),
            x5[i].wrapping_mul(16819).wrapping_add(z2).wrapping_add(z4),
            x7[i].wrapping_mul(2446).wrapping_add(z1).wrapping_add(z3),
        ];
        let half = 1 << (shift - 1);
        for (index, (even, odd)) in evens.into_iter().zip(odds).enumerate() {
            let even = even.wrapping_add(half);
            output[index][i] = saturated(even.wrapping_add(odd) >> shift);
            output[7 - index][i] = saturated(even.wrapping_sub(odd) >> shift);
        }
    }
    output
}

#[inline(always)]
fn saturated(value: i32) -> i32 {
    value.clamp(-32768, 32767)
}

#[inline(always)]
fn transposed(rows: &[Lanes; 8]) -> [Lanes; 8] {
    let mut columns = [[0; 8]; 8];
    for y in 0..8 {
        for x in 0..8 {
            columns[x][y] = rows[y][x];
        }
    }
    columns
}

#[inline(always)]
fn sample(value: i32) -> u8 {
    (value.clamp(-128, 127) + 128) as u8
}

pub(super) fn write_samples(
    block: &BlockCoefficients,
    quantisers: &[u16; 64],
    plane: &mut Plane,
    column: usize,
    row: usize,
) {
    let at = row * 8 * plane.stride + column * 8;
    let rows = plane.samples[at..].chunks_mut(plane.stride).take(8);
    if block[1..].iter().fold(0, |all, &coefficient| all | coefficient) == 0 {
        let value = block[0].wrapping_mul(quantisers[0] as i16) << PASS_BITS;
        let value = sample((i32::from(value) + 16) >> 5);
        rows.for_each(|row| row[..8].fill(value));
        return;
    }
    for (row, samples) in rows.zip(transform(block, quantisers)) {
        row[..8].copy_from_slice(&samples);
    }
}

/// AVX2 does not change the result, because all numbers are integers.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn transform(block: &BlockCoefficients, quantisers: &[u16; 64]) -> [[u8; 8]; 8] {
    // Use loops here, because the compiler does not inline closures into a function that is
    // compiled for another processor.
    let mut input = [[0; 8]; 8];
    for (index, value) in input.as_flattened_mut().iter_mut().enumerate() {
        *value = i32::from(block[index].wrapping_mul(quantisers[index] as i16));
    }
    let columns = if block[8..].iter().fold(0, |all, &coefficient| all | coefficient) == 0 {
        let mut first = input[0];
        for value in &mut first {
            *value = wrapped(*value << PASS_BITS);
        }
        [first; 8]
    } else {
        pass(&input, CONSTANT_BITS - PASS_BITS)
    };
    let columns = pass(&transposed(&columns), CONSTANT_BITS + PASS_BITS + 3);
    let mut samples = [[0; 8]; 8];
    for (x, column) in columns.iter().enumerate() {
        for (y, &value) in column.iter().enumerate() {
            samples[y][x] = sample(value);
        }
    }
    samples
}
