//! Counts a picture's distinct colours.

use crate::pixels::Pixels;

/// Maximum colours in a PNG palette, whose indices have 8 bits.
pub(super) const MAX_PALETTE_COLOURS: usize = 256;
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alpha {
    Opaque,
    /// Every pixel is opaque or fully transparent.
    OnOff,
    Any,
}

pub(super) struct Census {
    pub(super) colours: Vec<[u8; 4]>,
    pub(super) of_pixel: Vec<u32>,
    pub(super) grey: bool,
    pub(super) alpha: Alpha,
}

impl Census {
    /// If a pixel's alpha is 0, its red, green and blue must also be 0.
    pub(super) fn of(pixels: &Pixels) -> Self {
        let (grey, alpha) = flags(pixels);
        let count = pixels.rgba().len() / 4;
        // A hash table that is at most half full. A slot contains an index into `colours` plus 1,
        // or 0 if the slot is empty.
        let bits = (2 * count).next_power_of_two().trailing_zeros();
        let mut slots = vec![0u32; 1 << bits];
        let mut colours: Vec<[u8; 4]> = Vec::new();
        let mut of_pixel = Vec::with_capacity(count);
        let mut last: Option<([u8; 4], u32)> = None;
        for colour in pixels.iter() {
            if let Some((_, index)) = last.filter(|(same, _)| *same == colour) {
                of_pixel.push(index);
                continue;
            }
            let mixed = u32::from_le_bytes(colour).wrapping_mul(0x9E37_79B1);
            let mut slot = (mixed >> (32 - bits)) as usize;
            let index = loop {
                match slots[slot].checked_sub(1) {
                    Some(index) if colours[index as usize] == colour => break index,
                    Some(_) => slot = (slot + 1) % slots.len(),
                    None => {
                        // A picture has at most 2^22 pixels.
                        let index = colours.len() as u32;
                        colours.push(colour);
                        slots[slot] = index + 1;
                        break index;
                    }
                }
            };
            of_pixel.push(index);
            last = Some((colour, index));
        }
        Self { colours, of_pixel, grey, alpha }
    }

    pub(super) fn fits_palette(&self) -> bool {
        self.colours.len() <= MAX_PALETTE_COLOURS
    }
}

fn flags(pixels: &Pixels) -> (bool, Alpha) {
    let (mut coloured, mut transparent, mut between) = (0, false, false);
    for [red, green, blue, alpha] in pixels.iter() {
        coloured |= (red ^ green) | (green ^ blue);
        transparent |= alpha == 0;
        between |= alpha.wrapping_sub(1) < 254;
    }
    let alpha = match (between, transparent) {
        (true, _) => Alpha::Any,
        (false, true) => Alpha::OnOff,
        (false, false) => Alpha::Opaque,
    };
    (coloured == 0, alpha)
}
