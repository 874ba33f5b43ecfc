//! ICO files: a directory with bitmaps (1 to 32 bits, with masks) and PNGs. A bitmap's header has
//! twice the image's height; then come the colour rows from bottom to top, and the AND mask.

use super::{
    canvas::Canvas,
    encode::{pack, palette, plain_png},
    motif::Motif,
};
use crate::dice::Dice;

const SIZES: [(&[u32], u32); 6] = [
    (&[16], 30),
    (&[32], 20),
    (&[16, 32], 20),
    (&[16, 32, 48], 20),
    (&[16, 24, 32, 48, 64], 6),
    (&[16, 32, 48, 256], 4),
];

pub(super) fn encode(motif: &Motif, dice: &mut Dice) -> Vec<u8> {
    let sizes = dice.weighted(&SIZES);
    let bits = dice.weighted(&[(32_u16, 60), (24, 12), (8, 16), (4, 9), (1, 3)]);
    let all_png = dice.permille(100);
    let mut bytes = vec![0, 0, 1, 0];
    bytes.extend_from_slice(&(sizes.len() as u16).to_le_bytes());
    let mut images = Vec::new();
    let mut offset = 6 + 16 * sizes.len();
    for size in sizes {
        let png = if *size >= 256 || all_png { plain_png(motif, *size) } else { None };
        let bits = if png.is_some() { 32 } else { bits };
        let image = png.unwrap_or_else(|| bitmap(motif, *size, bits));
        // A width or height of 256 pixels is written as 0.
        let side = *size as u8;
        let colours = if bits < 8 { 1_u8 << bits } else { 0 };
        bytes.extend_from_slice(&[side, side, colours, 0, 1, 0]);
        bytes.extend_from_slice(&bits.to_le_bytes());
        bytes.extend_from_slice(&(image.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(offset as u32).to_le_bytes());
        offset += image.len();
        images.push(image);
    }
    for image in images {
        bytes.extend_from_slice(&image);
    }
    bytes
}

fn bitmap(motif: &Motif, size: u32, bits: u16) -> Vec<u8> {
    let canvas = motif.draw(size);
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&40_u32.to_le_bytes());
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&(size * 2).to_le_bytes());
    bytes.extend_from_slice(&1_u16.to_le_bytes());
    bytes.extend_from_slice(&bits.to_le_bytes());
    bytes.extend_from_slice(&[0; 24]);
    let mut colours = Vec::new();
    if bits <= 8 {
        colours = palette(motif, bits as u8);
        colours.resize(1 << bits, [0; 3]);
        for [red, green, blue] in &colours {
            bytes.extend_from_slice(&[*blue, *green, *red, 0]);
        }
    }
    for row in canvas.rows().rev() {
        let mut line = colour_row(row, bits, &colours);
        pad(&mut line);
        bytes.extend_from_slice(&line);
    }
    for row in canvas.rows().rev() {
        let hidden: Vec<u8> = row.iter().map(|pixel| u8::from(pixel[3] < 128)).collect();
        let mut line = pack(&hidden, hidden.len(), 1);
        pad(&mut line);
        bytes.extend_from_slice(&line);
    }
    bytes
}

fn colour_row(row: &[[u8; 4]], bits: u16, colours: &[[u8; 3]]) -> Vec<u8> {
    match bits {
        32 => row.iter().flat_map(|p| [p[2], p[1], p[0], p[3]]).collect(),
        24 => row.iter().flat_map(|p| [p[2], p[1], p[0]]).collect(),
        _ => {
            let line = Canvas { size: row.len() as u32, pixels: row.to_vec() };
            pack(&line.on([255; 3]).indexed(colours), row.len(), bits as u8)
        }
    }
}

fn pad(line: &mut Vec<u8>) {
    line.resize(line.len().next_multiple_of(4), 0);
}
