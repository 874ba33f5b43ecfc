//! Counts the colours of a picture, and finds out whether all are grey and how transparent they
//! are.

use crate::pixels::Pixels;

/// Number of colours that a PNG palette can hold.
pub(super) const MAX_PALETTE_COLOURS: usize = 256;
/// Number of colours that are counted: as many as a tab icon of 32x32 pixels can have.
const MAX_COUNTED_COLOURS: usize = 1024;
/// The hash table of colours has 2^11 slots, so it is at most half full.
const TABLE_BITS: u32 = 11;

/// How transparent a picture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alpha {
    /// Every pixel is opaque.
    Opaque,
    /// Every pixel is opaque or fully transparent.
    OnOff,
    /// Some pixel is partly transparent.
    Any,
}

/// The colours of a picture.
pub(super) struct Census {
    /// Distinct colours in the order in which they appear, at most the first 1,024.
    pub(super) colours: Vec<[u8; 4]>,
    /// The index into `colours` for each pixel, if there are at most 256 colours.
    pub(super) indices: Option<Vec<u8>>,
    /// True if red, green and blue are equal in every pixel.
    pub(super) grey: bool,
    /// How transparent the pixels are.
    pub(super) alpha: Alpha,
}

impl Census {
    /// Counts the colours of `pixels`, in which pixels of alpha 0 must have the colour 0.
    pub(super) fn of(pixels: &Pixels) -> Self {
        let (grey, alpha) = flags(pixels);
        let mut slots = [0u16; 1 << TABLE_BITS];
        let mut colours: Vec<[u8; 4]> = Vec::with_capacity(MAX_COUNTED_COLOURS);
        let mut indices = Vec::with_capacity(pixels.rgba().len() / 4);
        let mut last: Option<([u8; 4], u8)> = None;
        for colour in pixels.iter() {
            if let Some((_, index)) = last.filter(|(same, _)| *same == colour) {
                indices.push(index);
                continue;
            }
            let mixed = u32::from_le_bytes(colour).wrapping_mul(0x9E37_79B1);
            let mut slot = (mixed >> (32 - TABLE_BITS)) as usize;
            let index = loop {
                match usize::from(slots[slot]).checked_sub(1) {
                    Some(index) if colours[index] == colour => break index,
                    Some(_) => slot = (slot + 1) % slots.len(),
                    None if colours.len() == MAX_COUNTED_COLOURS => {
                        return Self { colours, indices: None, grey, alpha };
                    }
                    None => {
                        colours.push(colour);
                        slots[slot] = colours.len() as u16;
                        break colours.len() - 1;
                    }
                }
            };
            // Beyond 255 the truncation does not matter, since the indices are dropped below.
            let index = index as u8;
            indices.push(index);
            last = Some((colour, index));
        }
        let indices = (colours.len() <= MAX_PALETTE_COLOURS).then_some(indices);
        Self { colours, indices, grey, alpha }
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
