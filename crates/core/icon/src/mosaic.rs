//! The baseline JPEG of a map tile. Single blocks can be painted over without changing the other
//! blocks (docs/decisions/0144).
//!
//! Colours are not subsampled, so a block contains 8x8 pixels of every channel, which is one icon
//! at the map's nearest zoom level. Reading a file and writing it again keeps every coefficient.

mod huffman;
mod scan;
mod transform;

use self::{
    scan::{Blocks, COMPONENTS},
    transform::{Block, SIDE, forward, to_ycc},
};
use crate::decoders::jpeg::{BlockPicture, ZIGZAG, read_blocks, to_rgb, transform};

/// Maximum picture width and height in pixels.
pub const MAX_SIDE_PIXELS: usize = 4096;

/// Luma quantization table in ITU-T T.81 (JPEG), annex K, before scaling by [`QUALITY`].
#[rustfmt::skip]
const LUMA_QUANTIZATION: Block<u16> = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];
#[rustfmt::skip]
const CHROMA_QUANTIZATION: Block<u16> = [
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
];
/// Scale of annex K's quantization tables in percent. 80 equals quality 60 in libjpeg.
/// docs/decisions/0049 has the measurements.
const QUALITY: u16 = 80;

type QuantizationTables = [Block<u16>; 2];

fn quantization_tables() -> QuantizationTables {
    let scaled = |value: u16| (u32::from(value) * u32::from(QUALITY) + 50) / 100;
    [LUMA_QUANTIZATION, CHROMA_QUANTIZATION]
        .map(|table| table.map(|value| scaled(value).clamp(1, 255) as u16))
}

/// Error returned by [`Mosaic::read`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a map tile's JPEG: {0}")]
pub struct MosaicError(&'static str);

/// A picture, stored as the quantized DCT coefficients of its 8x8 blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mosaic {
    across: usize,
    quantization: QuantizationTables,
    blocks: Vec<Blocks>,
}

/// A rectangle in a picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rect {
    /// Left edge.
    pub left: usize,
    /// Upper edge.
    pub top: usize,
    /// Width.
    pub width: usize,
    /// Height.
    pub height: usize,
}

impl Mosaic {
    /// Creates a picture from RGB values, row by row. `None` if width or height is not a multiple
    /// of 8 between 8 and [`MAX_SIDE_PIXELS`], or if `rgb` has the wrong length.
    #[must_use]
    pub fn from_rgb(width: usize, height: usize, rgb: &[u8]) -> Option<Self> {
        let mut mosaic = Self::blank(width, height, quantization_tables())?;
        if rgb.len() != width * height * 3 {
            return None;
        }
        for (number, block) in mosaic.blocks.iter_mut().enumerate() {
            let (column, row) = (number % mosaic.across, number / mosaic.across);
            let mut pixels = [[0; 3]; SIDE * SIDE];
            for (y, line) in pixels.as_chunks_mut::<SIDE>().0.iter_mut().enumerate() {
                let from = (row * SIDE + y) * width + column * SIDE;
                line.copy_from_slice(&rgb.as_chunks::<3>().0[from..from + SIDE]);
            }
            *block = quantized(&pixels, &mosaic.quantization);
        }
        Some(mosaic)
    }

    fn blank(width: usize, height: usize, quantization: QuantizationTables) -> Option<Self> {
        let is_side =
            |side: usize| (SIDE..=MAX_SIDE_PIXELS).contains(&side) && side.is_multiple_of(SIDE);
        (is_side(width) && is_side(height)).then(|| {
            let (across, down) = (width / SIDE, height / SIDE);
            Self { across, quantization, blocks: vec![[[0; 64]; COMPONENTS]; across * down] }
        })
    }

    /// Returns this picture's width in pixels.
    #[must_use]
    pub fn width(&self) -> usize {
        self.across * SIDE
    }

    /// Returns this picture's height in pixels.
    #[must_use]
    pub fn height(&self) -> usize {
        self.blocks.len() / self.across * SIDE
    }

    /// Returns red, green and blue for each pixel, row by row.
    #[must_use]
    pub fn rgb(&self) -> Vec<u8> {
        let width = self.width();
        let mut rgb = vec![0; width * self.height() * 3];
        for (number, block) in self.blocks.iter().enumerate() {
            let (column, row) = (number % self.across, number / self.across);
            let pixels = shown(block, &self.quantization);
            for (y, line) in pixels.as_chunks::<SIDE>().0.iter().enumerate() {
                let to = ((row * SIDE + y) * width + column * SIDE) * 3;
                rgb[to..to + SIDE * 3].copy_from_slice(line.as_flattened());
            }
        }
        rgb
    }

    /// Paints a rectangle with `rgb`, row by row. If the rectangle covers only part of a block, the
    /// block's other pixels may change slightly. Pixels outside the picture are ignored.
    pub fn paint(&mut self, rect: Rect, rgb: &[u8]) {
        let colours = rgb.as_chunks::<3>().0;
        let (right, bottom) = (
            rect.left.saturating_add(rect.width).min(self.width()),
            rect.top.saturating_add(rect.height).min(self.height()),
        );
        if rect.left >= right || rect.top >= bottom {
            return;
        }
        for row in rect.top / SIDE..bottom.div_ceil(SIDE) {
            for column in rect.left / SIDE..right.div_ceil(SIDE) {
                let block = &mut self.blocks[row * self.across + column];
                let mut pixels = shown(block, &self.quantization);
                for (i, pixel) in pixels.iter_mut().enumerate() {
                    let (x, y) = (column * SIDE + i % SIDE, row * SIDE + i / SIDE);
                    if (rect.left..right).contains(&x) && (rect.top..bottom).contains(&y) {
                        let at = (y - rect.top) * rect.width + x - rect.left;
                        *pixel = colours.get(at).copied().unwrap_or_default();
                    }
                }
                *block = quantized(&pixels, &self.quantization);
            }
        }
    }

    /// Returns this picture as a JPEG file.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let (tables, data) = scan::write(&self.blocks);
        let mut file = vec![0xff, 0xd8];
        for (number, table) in (0..).zip(&self.quantization) {
            let in_order = ZIGZAG.map(|at| table[at].min(255) as u8);
            segment(&mut file, 0xdb, &[&[number], &in_order[..]].concat());
        }
        let [height, width] = [self.height(), self.width()].map(|side| (side as u16).to_be_bytes());
        let frame = [8, height[0], height[1], width[0], width[1], 3];
        let components = [1, 0x11, 0, 2, 0x11, 1, 3, 0x11, 1];
        segment(&mut file, 0xc0, &[&frame[..], &components].concat());
        for (number, of_component) in (0..).zip(&tables) {
            for (class, table) in [0, 0x10].into_iter().zip(of_component) {
                let head = [class | number];
                segment(&mut file, 0xc4, &[&head[..], &table.lengths, &table.symbols].concat());
            }
        }
        segment(&mut file, 0xda, &[3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0]);
        file.extend(data);
        file.extend([0xff, 0xd9]);
        file
    }

    /// Reads a file that [`Self::write`] created.
    ///
    /// # Errors
    /// Returns an error if the file is not such a JPEG.
    pub fn read(file: &[u8]) -> Result<Self, MosaicError> {
        let read = read_blocks(file, MAX_SIDE_PIXELS).map_err(MosaicError)?;
        let BlockPicture { sides: (width, _), quantization, blocks } = read;
        Ok(Self { across: width / SIDE, quantization, blocks })
    }
}

fn quantized(pixels: &Block<[u8; 3]>, tables: &QuantizationTables) -> Blocks {
    let ycc = pixels.map(to_ycc);
    std::array::from_fn(|component| {
        let coefficients = forward(&ycc.map(|pixel| pixel[component]));
        let table = &tables[component.min(1)];
        std::array::from_fn(|i| {
            let divisor = i64::from(table[i]) * 8;
            let size = (coefficients[i].abs() + divisor / 2) / divisor;
            // The quotient is at most 1,024, but a baseline file stores coefficients up to 1,023.
            let size = size.min(1023) as i16;
            if coefficients[i] < 0 { -size } else { size }
        })
    })
}

fn shown(block: &Blocks, tables: &QuantizationTables) -> Block<[u8; 3]> {
    let [y, cb, cr]: [_; COMPONENTS] =
        std::array::from_fn(|component| transform(&block[component], &tables[component.min(1)]));
    let [y, cb, cr] = [y.as_flattened(), cb.as_flattened(), cr.as_flattened()];
    std::array::from_fn(|i| to_rgb([y[i], cb[i], cr[i]]))
}

fn segment(file: &mut Vec<u8>, marker: u8, body: &[u8]) {
    let length = (body.len() as u16 + 2).to_be_bytes();
    file.extend([0xff, marker, length[0], length[1]]);
    file.extend(body);
}

#[cfg(test)]
mod tests;
