//! A square picture without transparency, used to assemble the map.

use crate::{
    mosaic::Rect,
    scale::{LINEAR, to_srgb},
};

/// A square picture with opaque pixels. Halving uses integers, so the result is the same on every
/// machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    side: usize,
    rgb: Vec<u8>,
}

impl Picture {
    /// Creates a picture in one colour.
    #[must_use]
    pub fn plain(side: usize, colour: [u8; 3]) -> Self {
        Self { side, rgb: colour.repeat(side * side) }
    }

    /// Creates a picture from RGB values, row by row. `None` unless `rgb` has 3 bytes per pixel.
    #[must_use]
    pub fn new(side: usize, rgb: Vec<u8>) -> Option<Self> {
        (rgb.len() == side * side * 3).then_some(Self { side, rgb })
    }

    /// Returns this picture's width and height in pixels.
    #[must_use]
    pub fn side(&self) -> usize {
        self.side
    }

    /// Returns red, green and blue for each pixel, row by row.
    #[must_use]
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// Copies a square with `side` x `side` pixels to the position `left`, `top`. Pixels outside
    /// this picture are ignored.
    pub fn paste(&mut self, left: usize, top: usize, side: usize, rgb: &[u8]) {
        let width = side.min(self.side.saturating_sub(left)) * 3;
        for (y, line) in (top..self.side).zip(rgb.chunks_exact(side.max(1) * 3)) {
            let at = (y * self.side + left.min(self.side)) * 3;
            self.rgb[at..at + width].copy_from_slice(&line[..width]);
        }
    }

    /// Returns this picture at half its width and height, with the mean linear light. `None` if
    /// `side` is odd.
    #[must_use]
    pub fn halved(&self) -> Option<Self> {
        let side = self.side / 2;
        let all = Rect { left: 0, top: 0, width: side, height: side };
        self.side.is_multiple_of(2).then(|| Self { side, rgb: self.halved_part(all) })
    }

    /// Returns the pixels in a rectangle inside the halved picture.
    #[must_use]
    pub fn halved_part(&self, part: Rect) -> Vec<u8> {
        let mut rgb = Vec::with_capacity(part.width * part.height * 3);
        let pixels = self.rgb.as_chunks::<3>().0;
        for y in part.top..part.top + part.height {
            let (above, below) = (y * 2 * self.side, (y * 2 + 1) * self.side);
            for x in part.left..part.left + part.width {
                let of = |row: usize, i: usize| pixels.get(row + x * 2 + i).copied();
                let four = [of(above, 0), of(above, 1), of(below, 0), of(below, 1)];
                rgb.extend((0..3).map(|channel| mean(four, channel)));
            }
        }
        rgb
    }
}

fn mean(pixels: [Option<[u8; 3]>; 4], channel: usize) -> u8 {
    let light = |pixel: [u8; 3]| u32::from(LINEAR[usize::from(pixel[channel])]);
    let sum: u32 = pixels.into_iter().flatten().map(light).sum();
    to_srgb(((sum + 2) / 4) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_averages_light_and_keeps_a_plain_colour() {
        for byte in 0..=255 {
            let plain = Picture::plain(4, [byte, 0, 255]);
            assert_eq!(plain.halved(), Some(Picture::plain(2, [byte, 0, 255])));
        }
        // Half of white's linear light is 188 in sRGB, not 128.
        let mut half = Picture::plain(2, [0; 3]);
        half.paste(0, 0, 2, &[255; 6]);
        assert_eq!(half.halved().unwrap().rgb(), [188; 3]);
        assert_eq!(Picture::plain(3, [0; 3]).halved(), None);
    }

    #[test]
    fn pixels_pasted_beyond_the_edge_are_ignored() {
        let mut picture = Picture::plain(4, [0; 3]);
        picture.paste(3, 3, 2, &[9; 12]);
        picture.paste(7, 0, 2, &[9; 12]);
        assert_eq!(picture.rgb().iter().filter(|channel| **channel == 9).count(), 3);
        assert_eq!(picture.rgb()[(3 * 4 + 3) * 3..], [9; 3]);
    }
}
