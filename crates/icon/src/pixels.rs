//! A decoded picture: straight (not premultiplied) RGBA, 8 bits a channel, rows top down.
//!
//! Invariant: `rgba.len() == 4 * width * height`, both sides at least 1 and at most
//! [`crate::decode::MAX_SIDE_PIXELS`].

use crate::decode::MAX_SIDE_PIXELS;

/// A picture of straight RGBA8 rows, top row first, no padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    width: u32,
    height: u32,
    rgba: Vec<u8>,
}

impl Pixels {
    /// Wraps `rgba` (4 bytes a pixel). `None` where the length or the sides break the invariant.
    #[must_use]
    pub fn new(width: u32, height: u32, rgba: Vec<u8>) -> Option<Self> {
        let sides = 1..=MAX_SIDE_PIXELS;
        let fits = sides.contains(&width) && sides.contains(&height);
        (fits && rgba.len() == width as usize * height as usize * 4).then_some(Self {
            width,
            height,
            rgba,
        })
    }

    /// Width in pixels.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The rows.
    #[must_use]
    pub fn rgba(&self) -> &[u8] {
        &self.rgba
    }

    /// The pixels in row order.
    pub fn iter(&self) -> impl Iterator<Item = [u8; 4]> + '_ {
        self.rgba.as_chunks::<4>().0.iter().copied()
    }

    /// True where nothing would be seen.
    #[must_use]
    pub fn fully_transparent(&self) -> bool {
        self.iter().all(|pixel| pixel[3] == 0)
    }

    /// True where all pixels are the same: a plain rectangle.
    #[must_use]
    pub fn one_colour(&self) -> bool {
        let mut pixels = self.iter();
        let first = pixels.next();
        pixels.all(|pixel| Some(pixel) == first)
    }

    /// The same picture with the colour under alpha 0 set to 0, which no eye can tell.
    #[must_use]
    pub fn with_clean_transparency(mut self) -> Self {
        for pixel in self.rgba.as_chunks_mut::<4>().0 {
            if pixel[3] == 0 {
                *pixel = [0; 4];
            }
        }
        self
    }
}
