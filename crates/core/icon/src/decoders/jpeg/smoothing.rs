//! Estimates coefficients that are missing from a progressive JPEG, because otherwise a file that
//! ends early has hard edges between blocks.
//!
//! The weights are from libjpeg-turbo 3 (`jdcoefct.c`). ITU-T T.81, K.8, describes the method with
//! a smaller set of weights.

use super::{
    frame::{Component, Frame, ORDER, ScanHeader},
    scan::BlockCoefficients,
};

const ESTIMATED: usize = 10;

type Weights = [[i32; 5]; 5];

const fn transposed(weights: Weights) -> Weights {
    let mut result = [[0; 5]; 5];
    let mut at = 0;
    while at < 25 {
        result[at / 5][at % 5] = weights[at % 5][at / 5];
        at += 1;
    }
    result
}

const NONE: [i32; 5] = [0; 5];

/// The weights for each coefficient, in file order, if only DC coefficients are known.
const FIRST_ONLY: [Weights; ESTIMATED] = {
    const OUTER: [i32; 5] = [-2, -6, -8, -6, -2];
    const INNER: [i32; 5] = [-6, 6, 42, 6, -6];
    const SLOPE: [i32; 5] = [-3, 13, 0, -13, 3];
    const AC01: Weights = [[-1, -1, 0, 1, 1], SLOPE, [-3, 38, 0, -38, 3], SLOPE, [-1, -1, 0, 1, 1]];
    const AC20: Weights =
        [[0, 0, 1, 0, 0], [0, 2, 7, 2, 0], [0, -5, -14, -5, 0], [0, 2, 7, 2, 0], [0, 0, 1, 0, 0]];
    const AC11: Weights =
        [[-1, 0, 0, 0, 1], [0, 9, 0, -9, 0], NONE, [0, -9, 0, 9, 0], [1, 0, 0, 0, -1]];
    const AC03: Weights = [NONE, [0, 1, 0, -1, 0], [0, 2, 0, -2, 0], [0, 1, 0, -1, 0], NONE];
    const AC12: Weights = [NONE, [0, 1, -3, 1, 0], NONE, [0, -1, 3, -1, 0], NONE];
    [
        [OUTER, INNER, [-8, 42, 152, 42, -8], INNER, OUTER],
        AC01,
        transposed(AC01),
        AC20,
        AC11,
        transposed(AC20),
        AC03,
        AC12,
        transposed(AC12),
        transposed(AC03),
    ]
};

const PARTLY: [Weights; 6] = {
    const AC01: Weights = [NONE, NONE, [-7, 50, 0, -50, 7], NONE, NONE];
    const AC02: Weights = [NONE, NONE, [-1, 13, -24, 13, -1], NONE, NONE];
    const AC11: Weights =
        [[0, -1, 0, 1, 0], [-1, 10, 0, -10, 1], NONE, [1, -10, 0, 10, -1], [0, 1, 0, -1, 0]];
    [[NONE; 5], AC01, transposed(AC01), transposed(AC02), AC11, AC02]
};

/// How many low bits of each coefficient are still missing, or -1 if no scan so far contains the
/// coefficient.
type Missing = [i8; ESTIMATED];

pub(super) struct Accuracy {
    now: Vec<Missing>,
    before: Vec<Missing>,
    scans: usize,
}

pub(super) struct Smoothing<'f> {
    component: &'f Component,
    quantisers: &'f [u16; 64],
    across: usize,
    units: usize,
    now: Missing,
    before: Missing,
    reached: usize,
}

impl Accuracy {
    pub(super) fn new(frame: &Frame) -> Self {
        let nothing = vec![[-1; ESTIMATED]; frame.components.len()];
        Self { before: nothing.clone(), now: nothing, scans: 0 }
    }

    pub(super) fn start_scan(&mut self, scan: &ScanHeader) {
        self.scans += 1;
        let (first, last) = scan.band;
        for &component in &scan.components {
            let (now, before) = (&mut self.now[component], &mut self.before[component]);
            let from = first.min(1);
            match self.scans {
                1 => before[from..].fill(0),
                _ => before[from..].copy_from_slice(&now[from..]),
            }
            for missing in now.iter_mut().take(last + 1).skip(first) {
                // A shift is at most 13.
                *missing = scan.shift as i8;
            }
        }
    }

    /// `None` if all these coefficients are exact, if DC coefficients are missing, if a quantiser
    /// is 0, or if the JPEG is not progressive.
    pub(super) fn smoothing<'f>(
        &self,
        frame: &'f Frame,
        reached: usize,
    ) -> Option<Vec<Smoothing<'f>>> {
        let known = self.now.iter().all(|missing| missing[0] >= 0);
        let useful = self.now.iter().any(|missing| missing[1..].iter().any(|&bits| bits != 0));
        if !frame.progressive || !known || !useful {
            return None;
        }
        let smoothing = |(index, component): (usize, &'f Component)| {
            let quantisers = component.quantisers.as_ref()?;
            let mut positions = ORDER[..ESTIMATED].iter();
            positions.all(|&position| quantisers[usize::from(position)] != 0).then(|| Smoothing {
                component,
                quantisers,
                across: component.padded.0,
                units: frame.units.1,
                now: self.now[index],
                before: if self.scans > 1 { self.before[index] } else { [-1; ESTIMATED] },
                reached,
            })
        };
        frame.components.iter().enumerate().map(smoothing).collect()
    }
}

impl Smoothing<'_> {
    /// Estimates the coefficients of a block that are zero and not exact, and also the DC
    /// coefficient if only DC coefficients are known.
    pub(super) fn smoothed(
        &self,
        blocks: &[BlockCoefficients],
        column: usize,
        row: usize,
    ) -> BlockCoefficients {
        let down = self.component.sampling.1;
        let unit = row / down;
        let missing = if unit > self.reached { &self.before } else { &self.now };
        let is_first_only = missing[1..].iter().all(|&bits| bits == -1);
        // Count rows as libjpeg does: in the last unit row, exclude the rows without samples.
        let is_last = unit + 1 == self.units;
        let rows = if is_last { self.component.blocks.1 } else { down * self.units };
        let firsts: [[i32; 5]; 5] = std::array::from_fn(|y| {
            let y = (row + y).saturating_sub(2).min(rows - 1);
            std::array::from_fn(|x| {
                let x = (column + x).saturating_sub(2).min(self.component.blocks.0 - 1);
                i32::from(blocks[y * self.across + x][0])
            })
        });
        let original = &blocks[row * self.across + column];
        let mut block = *original;
        let weights = if is_first_only { &FIRST_ONLY[..] } else { &PARTLY[..] };
        for (index, weights) in weights.iter().enumerate() {
            let position = usize::from(ORDER[index]);
            let bits = missing[index];
            let estimates = match index {
                0 => is_first_only,
                _ => bits != 0 && original[position] == 0,
            };
            if !estimates {
                continue;
            }
            let weighted = firsts.iter().flatten().zip(weights.iter().flatten());
            let sum: i32 = weighted.map(|(first, weight)| first * weight).sum();
            let sum = i64::from(sum) * i64::from(self.quantisers[0]);
            let quantiser = i64::from(self.quantisers[position]);
            let mut size = (quantiser * 128 + sum.abs()) / (quantiser * 256);
            if index > 0 && bits > 0 {
                size = size.min((1 << bits) - 1);
            }
            block[position] = (size * sum.signum()) as i16;
        }
        block
    }
}
