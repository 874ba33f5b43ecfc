//! Decodes WebP with the `image-webp` crate: a still picture, or the first frame of an animation on
//! its canvas.
//!
//! Invariant: no bitstream in the file, at any nesting, is larger than the canvas. This is checked
//! before the decoder allocates memory. The background colour is ignored, as in browsers.

use std::io::Cursor;

use image_webp::WebPDecoder;

use crate::{
    limits::MAX_DECODER_BYTES,
    little_endian::{read_u16, read_u24, read_u32},
    pixels::Pixels,
    work::Work,
};

/// Byte offset of the first chunk.
const CHUNKS_AT: usize = 12;

/// Reads the sides of the canvas. `None` if a bitstream in the file is larger than the canvas.
pub(crate) fn sides(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut canvas = None;
    // Chunks nest one level deep: the bitstream of an animation frame starts 16 bytes after its
    // chunk header.
    let mut at = CHUNKS_AT;
    while let Some((name, body, next)) = chunk(bytes, at) {
        let stream = match name {
            b"VP8X" => Some((read_u24(body, 4)? + 1, read_u24(body, 7)? + 1)),
            b"VP8 " => Some((side(body, 6)?, side(body, 8)?)),
            b"VP8L" => {
                let bits = read_u32(body, 1)?;
                Some(((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1))
            }
            _ => None,
        };
        if let Some((width, height)) = stream {
            let (most_width, most_height) = *canvas.get_or_insert((width, height));
            if width > most_width || height > most_height {
                return None;
            }
        }
        at = if name == b"ANMF" { at + 8 + 16 } else { next };
    }
    canvas
}

fn side(body: &[u8], at: usize) -> Option<u32> {
    read_u16(body, at).map(|side| u32::from(side & 0x3FFF))
}

/// Splits off the chunk at `at`: returns its name, its body (truncated at the end of the file) and
/// the offset of the next chunk.
fn chunk(bytes: &[u8], at: usize) -> Option<(&[u8], &[u8], usize)> {
    let name = bytes.get(at..at + 4)?;
    let length = read_u32(bytes, at + 4)? as usize;
    let body = bytes.get(at + 8..)?;
    let next = at.checked_add(8)?.checked_add(length.checked_next_multiple_of(2)?)?;
    Some((name, &body[..length.min(body.len())], next))
}

/// Decodes the first frame.
pub(crate) fn decode(bytes: &[u8], work: &mut Work) -> Result<Pixels, String> {
    let (width, height) = sides(bytes).ok_or("unreadable header")?;
    work.spend((width, height), bytes.len())?;
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    decoder.set_memory_limit(MAX_DECODER_BYTES);
    let size = decoder.output_buffer_size().ok_or("sides out of range")?;
    if decoder.dimensions() != (width, height) || size > MAX_DECODER_BYTES {
        return Err("sides differ from the header's".to_owned());
    }
    let mut buffer = vec![0; size];
    decoder.read_image(&mut buffer).map_err(|error| error.to_string())?;
    let rgba = if decoder.has_alpha() {
        buffer
    } else {
        let pixels = buffer.as_chunks::<3>().0;
        pixels.iter().flat_map(|&[red, green, blue]| [red, green, blue, 255]).collect()
    };
    Pixels::new(width, height, rgba).ok_or_else(|| "sides out of range".to_owned())
}
