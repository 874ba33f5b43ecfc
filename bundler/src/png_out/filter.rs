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
        let mut raw = Vec::with_capacity(reduced.rows.len() + reduced.rows.len() / stride);
        let mut above = vec![0; stride];
        for row in rows {
            let best = match self {
                Self::None => [vec![0], row.to_vec()].concat(),
                Self::LeastSum => {
                    let filtered = (0..5).map(|filter| filtered(filter, row, &above, reduced));
                    filtered.min_by_key(|bytes| sum(bytes)).unwrap_or_default()
                }
            };
            raw.extend(best);
            above.copy_from_slice(row);
        }
        raw
    }
}

fn sum(filtered: &[u8]) -> u64 {
    filtered[1..].iter().map(|&byte| u64::from(byte.cast_signed().unsigned_abs())).sum()
}

fn filtered(filter: u8, row: &[u8], above: &[u8], reduced: &Reduced) -> Vec<u8> {
    let step = reduced.pixel_bytes;
    let mut bytes = Vec::with_capacity(row.len() + 1);
    bytes.push(filter);
    bytes.extend(row.iter().enumerate().map(|(at, &byte)| {
        let left = at.checked_sub(step).map_or(0, |left| row[left]);
        let corner = at.checked_sub(step).map_or(0, |left| above[left]);
        let predicted = match filter {
            1 => left,
            2 => above[at],
            3 => left.midpoint(above[at]),
            4 => paeth(left, above[at], corner),
            _ => 0,
        };
        byte.wrapping_sub(predicted)
    }));
    bytes
}

fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, above, corner].map(i16::from);
    let estimate = a + b - c;
    let (to_a, to_b, to_c) = ((estimate - a).abs(), (estimate - b).abs(), (estimate - c).abs());
    match (to_a <= to_b && to_a <= to_c, to_b <= to_c) {
        (true, _) => left,
        (false, true) => above,
        (false, false) => corner,
    }
}
