//! What a picture holds, by one look at its pixels: which colours, whether all are grey, and how
//! transparent they are.

use crate::pixels::Pixels;

/// Colours that a palette can hold.
pub(super) const MOST: usize = 256;
/// Colours that are counted: those of a tab icon, each pixel one.
const MOST_COUNTED: usize = 1024;
const SLOTS_BITS: u32 = 11;

/// How transparent a picture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alpha {
    /// Opaque everywhere.
    Opaque,
    /// Opaque or fully transparent.
    OnOff,
    /// Anything.
    Any,
}

/// The colours of a picture.
pub(super) struct Census {
    /// Distinct colours in the order in which they appear; the first 1,024.
    pub(super) colours: Vec<[u8; 4]>,
    /// For each pixel its colour's place, where 256 colours hold them all.
    pub(super) indices: Option<Vec<u8>>,
    /// Red, green and blue are equal in every pixel that is seen.
    pub(super) grey: bool,
    pub(super) alpha: Alpha,
}

impl Census {
    /// Looks at pixels whose colour under alpha 0 is 0.
    pub(super) fn of(pixels: &Pixels) -> Self {
        let (grey, alpha) = flags(pixels);
        let mut slots = [0u16; 1 << SLOTS_BITS];
        let mut colours: Vec<[u8; 4]> = Vec::with_capacity(MOST_COUNTED);
        let mut indices = Vec::with_capacity(pixels.rgba().len() / 4);
        let mut last: Option<([u8; 4], u8)> = None;
        for colour in pixels.iter() {
            if let Some((_, index)) = last.filter(|(same, _)| *same == colour) {
                indices.push(index);
                continue;
            }
            let mixed = u32::from_le_bytes(colour).wrapping_mul(0x9E37_79B1);
            let mut slot = (mixed >> (32 - SLOTS_BITS)) as usize;
            let index = loop {
                match usize::from(slots[slot]).checked_sub(1) {
                    Some(index) if colours[index] == colour => break index,
                    Some(_) => slot = (slot + 1) % slots.len(),
                    None if colours.len() == MOST_COUNTED => {
                        return Self { colours, indices: None, grey, alpha };
                    }
                    None => {
                        colours.push(colour);
                        slots[slot] = colours.len() as u16;
                        break colours.len() - 1;
                    }
                }
            };
            // Past 255 they are not kept.
            let index = index as u8;
            indices.push(index);
            last = Some((colour, index));
        }
        let indices = (colours.len() <= MOST).then_some(indices);
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
