//! A decoded picture. Invariant: `rgba.len() == 4 * width * height`; width and height are between 1
//! and [`crate::limits::MAX_SIDE_PIXELS`].

use crate::limits::MAX_SIDE_PIXELS;

/// A picture in RGBA with straight alpha, 8 bits per channel, top row first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    width: u32,
    height: u32,
    rgba: Vec<u8>,
}

pub(crate) fn divide_by_alpha(pixel: &mut [u8; 4]) {
    let alpha = u32::from(pixel[3]);
    if alpha == 255 {
        return;
    }
    for colour in &mut pixel[..3] {
        let divided = (u32::from(*colour) * 255 + alpha / 2).checked_div(alpha);
        *colour = divided.unwrap_or(0).min(255) as u8;
    }
}

impl Pixels {
    /// Creates a picture from `rgba`. `None` if width or height is 0 or above the limit, or if
    /// `rgba` has the wrong length.
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

    /// Places this picture at column and row `at` of a transparent canvas. `None` if the picture
    /// does not fit, or if the canvas is too large.
    pub(crate) fn on_canvas(self, at: (u32, u32), (width, height): (u32, u32)) -> Option<Self> {
        if (at, self.width, self.height) == ((0, 0), width, height) {
            return Some(self);
        }
        let fits = at.0.checked_add(self.width).is_some_and(|right| right <= width)
            && at.1.checked_add(self.height).is_some_and(|bottom| bottom <= height);
        if !fits || width > MAX_SIDE_PIXELS || height > MAX_SIDE_PIXELS {
            return None;
        }
        let mut rgba = vec![0; width as usize * height as usize * 4];
        let row_bytes = self.width as usize * 4;
        for (y, row) in self.rgba.chunks_exact(row_bytes).enumerate() {
            let start = ((at.1 as usize + y) * width as usize + at.0 as usize) * 4;
            rgba[start..start + row_bytes].copy_from_slice(row);
        }
        Self::new(width, height, rgba)
    }

    /// Returns this picture's width in pixels.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns this picture's height in pixels.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the RGBA bytes, row by row.
    #[must_use]
    pub fn rgba(&self) -> &[u8] {
        &self.rgba
    }

    /// Iterates over the pixels, row by row.
    pub fn iter(&self) -> impl Iterator<Item = [u8; 4]> + '_ {
        self.rgba.as_chunks::<4>().0.iter().copied()
    }

    /// Returns true if every pixel has alpha 0.
    #[must_use]
    pub fn fully_transparent(&self) -> bool {
        self.iter().all(|pixel| pixel[3] == 0)
    }

    /// Returns true if all pixels are equal.
    #[must_use]
    pub fn one_colour(&self) -> bool {
        let mut pixels = self.iter();
        let first = pixels.next();
        pixels.all(|pixel| Some(pixel) == first)
    }

    /// Sets red, green and blue to 0 in every pixel with alpha 0, because this compresses better.
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
