//! Pixels packed into rows with one colour type and bit depth, before filtering.

use crate::pixels::Pixels;

#[derive(Debug, Clone)]
pub(super) struct PackedPixels {
    pub(super) colour_type: u8,
    pub(super) bit_depth: u8,
    pub(super) palette: Vec<u8>,
    /// Data in the tRNS chunk: alpha for the first palette entries, or the transparent colour.
    pub(super) transparency: Vec<u8>,
    pub(super) rows: Vec<u8>,
    pub(super) row_bytes: usize,
    /// Distance in bytes to the same byte of the pixel to the left, at least 1.
    pub(super) pixel_bytes: usize,
}

impl PackedPixels {
    pub(super) fn of_bytes<const N: usize>(
        pixels: &Pixels,
        colour_type: u8,
        transparency: Vec<u8>,
        sample: impl Fn([u8; 4]) -> [u8; N],
    ) -> Self {
        let mut rows = vec![0; pixels.rgba().len() / 4 * N];
        for (target, pixel) in rows.as_chunks_mut::<N>().0.iter_mut().zip(pixels.iter()) {
            *target = sample(pixel);
        }
        Self {
            colour_type,
            bit_depth: 8,
            palette: Vec::new(),
            transparency,
            rows,
            row_bytes: pixels.width() as usize * N,
            pixel_bytes: N,
        }
    }

    pub(super) fn of_bits(width: usize, colour_type: u8, depth: u8, samples: Vec<u8>) -> Self {
        let per_byte = usize::from(8 / depth);
        let pack = |part: &[u8]| {
            let mut byte = 0u8;
            for (index, sample) in part.iter().enumerate() {
                byte |= sample << (8 - usize::from(depth) * (index + 1));
            }
            byte
        };
        let rows = if depth == 8 {
            samples
        } else {
            samples.chunks(width).flat_map(|row| row.chunks(per_byte).map(pack)).collect()
        };
        Self {
            colour_type,
            bit_depth: depth,
            palette: Vec::new(),
            transparency: Vec::new(),
            rows,
            row_bytes: width.div_ceil(per_byte),
            pixel_bytes: 1,
        }
    }
}
