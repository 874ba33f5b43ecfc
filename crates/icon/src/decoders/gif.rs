//! Decodes GIF with the `gif` crate: the first frame, on the canvas that a browser would show.
//!
//! Invariant: the picture has exactly the sides measured before decoding, since the canvas is
//! extended to contain the whole first frame. The background colour is ignored, as in browsers.

use std::num::NonZeroU64;

use gif::{ColorOutput, DecodeOptions, MemoryLimit};

use crate::{limits::MAX_DECODER_BYTES, little_endian::read_u16, pixels::Pixels};

/// Byte offset of the logical screen descriptor.
const SCREEN_AT: usize = 6;
/// Byte offset of the global colour table, or of the first block if there is no such table.
const BLOCKS_AT: usize = 13;

/// Reads the sides of the canvas: those of the logical screen, extended to contain the first frame.
pub(crate) fn sides(bytes: &[u8]) -> Option<(u32, u32)> {
    let colour_table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 6 << (flags & 7) };
    let side = |at| read_u16(bytes, at).map(u32::from);
    let (screen_width, screen_height) = (side(SCREEN_AT)?, side(SCREEN_AT + 2)?);
    let mut at = BLOCKS_AT + colour_table(*bytes.get(SCREEN_AT + 4)?);
    loop {
        match bytes.get(at)? {
            0x21 => at = skip_sub_blocks(bytes, at + 2)?,
            0x2C => break,
            _ => return None,
        }
    }
    let right = side(at + 1)? + side(at + 5)?;
    let bottom = side(at + 3)? + side(at + 7)?;
    Some((screen_width.max(right), screen_height.max(bottom)))
}

/// Returns the offset after the sub-blocks that begin at `at`.
fn skip_sub_blocks(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1 + length;
        if length == 0 {
            return Some(at);
        }
    }
}

/// Decodes the first frame.
pub(crate) fn decode(bytes: &[u8]) -> Result<Pixels, String> {
    let (width, height) = sides(bytes).ok_or("no frame")?;
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::RGBA);
    let limit = NonZeroU64::new(MAX_DECODER_BYTES as u64).ok_or("no memory allowed")?;
    options.set_memory_limit(MemoryLimit::Bytes(limit));
    let mut decoder = options.read_info(bytes).map_err(|error| error.to_string())?;
    let frame = decoder.read_next_frame().map_err(|error| error.to_string())?;
    let frame = frame.ok_or("no frame")?;
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    let frame_width = usize::from(frame.width);
    let canvas_width = width as usize;
    let fits = left + frame_width <= canvas_width
        && top + usize::from(frame.height) <= height as usize
        && frame_width > 0;
    if !fits {
        return Err("frame outside its canvas".to_owned());
    }
    let mut rgba = vec![0; canvas_width * height as usize * 4];
    for (y, row) in frame.buffer.chunks_exact(frame_width * 4).enumerate() {
        let at = ((top + y) * canvas_width + left) * 4;
        rgba[at..at + row.len()].copy_from_slice(row);
    }
    Pixels::new(width, height, rgba).ok_or_else(|| "sides out of range".to_owned())
}
