//! JPEG arithmetic in integers (ITU-T T.81 and T.871), with the factorisation by Loeffler,
//! Ligtenberg and Moschytz (1989) and 13-bit constants.

pub(super) const SIDE: usize = 8;
pub(super) type Block<T> = [T; SIDE * SIDE];

const CONST_BITS: u32 = 13;
const PASS_BITS: u32 = 2;
const F_0_298: i64 = 2446;
const F_0_390: i64 = 3196;
const F_0_541: i64 = 4433;
const F_0_765: i64 = 6270;
const F_0_899: i64 = 7373;
const F_1_175: i64 = 9633;
const F_1_501: i64 = 12299;
const F_1_847: i64 = 15137;
const F_1_961: i64 = 16069;
const F_2_053: i64 = 16819;
const F_2_562: i64 = 20995;
const F_3_072: i64 = 25172;

fn descale(value: i64, bits: u32) -> i64 {
    (value + (1 << (bits - 1))) >> bits
}

pub(super) fn to_ycc([red, green, blue]: [u8; 3]) -> [u8; 3] {
    let [red, green, blue] = [red, green, blue].map(i32::from);
    let centre = (128 << 16) + 32_767;
    // Each row's weights add up to 2^16 or 0, so each result fits into a byte.
    [
        ((19_595 * red + 38_470 * green + 7_471 * blue + 32_768) >> 16) as u8,
        ((-11_059 * red - 21_709 * green + 32_768 * blue + centre) >> 16) as u8,
        ((32_768 * red - 27_439 * green - 5_329 * blue + centre) >> 16) as u8,
    ]
}

/// Returns a block's coefficients, multiplied by 8.
pub(super) fn forward(samples: &Block<u8>) -> Block<i64> {
    let mut block = samples.map(|sample| i64::from(sample) - 128);
    for row in 0..SIDE {
        forward_line(&mut block, row * SIDE, 1, true);
    }
    for column in 0..SIDE {
        forward_line(&mut block, column, SIDE, false);
    }
    block
}

fn forward_line(block: &mut Block<i64>, start: usize, step: usize, is_first_pass: bool) {
    let at = |i: usize| start + i * step;
    let d: [i64; SIDE] = std::array::from_fn(|i| block[at(i)]);
    let (sum, difference) = (|i: usize| d[i] + d[7 - i], |i: usize| d[i] - d[7 - i]);
    let (even, other) = if is_first_pass {
        (None, CONST_BITS - PASS_BITS)
    } else {
        (Some(PASS_BITS), CONST_BITS + PASS_BITS)
    };
    let scaled = |value: i64| even.map_or(value << PASS_BITS, |bits| descale(value, bits));
    let (outer, inner) = (sum(0) + sum(3), sum(1) + sum(2));
    let (outer_rest, inner_rest) = (sum(0) - sum(3), sum(1) - sum(2));
    block[at(0)] = scaled(outer + inner);
    block[at(4)] = scaled(outer - inner);
    let z = (inner_rest + outer_rest) * F_0_541;
    block[at(2)] = descale(z + outer_rest * F_0_765, other);
    block[at(6)] = descale(z - inner_rest * F_1_847, other);
    let odd = odd_part([difference(3), difference(2), difference(1), difference(0)]);
    for (i, value) in [7, 5, 3, 1].into_iter().zip(odd) {
        block[at(i)] = descale(value, other);
    }
}

fn odd_part(t: [i64; 4]) -> [i64; 4] {
    let z5 = (t[0] + t[2] + t[1] + t[3]) * F_1_175;
    let (z1, z2) = (-(t[0] + t[3]) * F_0_899, -(t[1] + t[2]) * F_2_562);
    let (z3, z4) = (z5 - (t[0] + t[2]) * F_1_961, z5 - (t[1] + t[3]) * F_0_390);
    [
        t[0] * F_0_298 + z1 + z3,
        t[1] * F_2_053 + z2 + z4,
        t[2] * F_3_072 + z2 + z3,
        t[3] * F_1_501 + z1 + z4,
    ]
}
