//! Decodes WebP with the `image-webp` crate: a still picture, or the first frame of an animation on
//! its canvas.
//!
//! The extended header (VP8X) often announces chunks that are missing, and `image-webp` rejects
//! such files. So we pass it a new file with only the chunks that the picture needs. As in
//! Chromium, lossless pictures and animation frames use their alpha even if the flags do not
//! declare it, but lossy still pictures use alpha only with the alpha flag. The background colour
//! and the EXIF orientation are ignored, as in browsers.

use std::io::Cursor;

use image_webp::WebPDecoder;

use crate::{
    limits::MAX_DECODER_BYTES,
    little_endian::{read_u16, read_u24, read_u32},
    pixels::{Pixels, divide_by_alpha},
    work::Work,
};

const CHUNKS_AT: usize = 12;
/// Bytes in an animation frame (ANMF) before its picture's chunks.
const FRAME_BYTES: usize = 16;
const ALPHA: u8 = 0x10;
const ANIMATION: u8 = 0x02;
/// Declares that a lossless picture uses alpha, in the bitstream's fifth byte.
const ALPHA_IS_USED: u8 = 0x10;

/// `None` if a picture in the file is larger than the canvas.
pub(crate) fn sides(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut canvas = None;
    // Chunks nest one level deep: in an animation frame, the bitstream starts 16 bytes after the
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
        at = if name == b"ANMF" { at + 8 + FRAME_BYTES } else { next };
    }
    canvas
}

fn side(body: &[u8], at: usize) -> Option<u32> {
    read_u16(body, at).map(|side| u32::from(side & 0x3FFF))
}

/// Returns the chunk's name, its body (truncated if the file ends early) and the next chunk's
/// offset.
fn chunk(bytes: &[u8], at: usize) -> Option<(&[u8], &[u8], usize)> {
    let name = bytes.get(at..at + 4)?;
    let length = read_u32(bytes, at + 4)? as usize;
    let body = bytes.get(at + 8..)?;
    let next = at.checked_add(8)?.checked_add(length.checked_next_multiple_of(2)?)?;
    Some((name, &body[..length.min(body.len())], next))
}

fn chunks(bytes: &[u8], mut at: usize) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        let (name, body, next) = chunk(bytes, at)?;
        at = next;
        Some((name, body))
    })
}

pub(crate) fn decode(bytes: &[u8], work: &mut Work) -> Result<Pixels, String> {
    let canvas = sides(bytes).ok_or("unreadable header")?;
    work.spend(canvas, bytes.len())?;
    let flags = match chunk(bytes, CHUNKS_AT) {
        Some((b"VP8X", body, _)) => body.first().copied(),
        _ => None,
    };
    let Some(flags) = flags else {
        let says_alpha = bytes.get(CHUNKS_AT + 8 + 4).is_some_and(|bits| bits & ALPHA_IS_USED != 0);
        return decode_picture(chunks(bytes, CHUNKS_AT).take(1), canvas, says_alpha);
    };
    let says_alpha = flags & ALPHA != 0;
    if flags & ANIMATION == 0 {
        let parts = chunks(bytes, CHUNKS_AT);
        // Ignore an alpha chunk without the alpha flag.
        let parts = parts.filter(|(name, _)| says_alpha || name != b"ALPH");
        return decode_picture(parts, canvas, says_alpha);
    }
    let mut parts = chunks(bytes, CHUNKS_AT).skip_while(|(name, _)| name != b"ANIM");
    let (_, frame) =
        parts.find(|(name, _)| name == b"ANMF").ok_or("an animation without frames")?;
    let field = |at| read_u24(frame, at).ok_or("an unreadable frame");
    // Offsets are stored in units of two pixels. Width and height are stored minus one.
    let (left, top) = (field(0)? * 2, field(3)? * 2);
    let sides = (field(6)? + 1, field(9)? + 1);
    let pixels = decode_picture(chunks(frame, FRAME_BYTES), sides, says_alpha)?;
    let pixels = pixels.on_canvas((left, top), canvas);
    pixels.ok_or_else(|| "frame outside its canvas".to_owned())
}

/// Decodes the first picture in `chunks`. If the file does not declare alpha, the colours count as
/// premultiplied, as in Chromium.
fn decode_picture<'a>(
    chunks: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    (width, height): (u32, u32),
    says_alpha: bool,
) -> Result<Pixels, String> {
    let mut picture = chunks.skip_while(|(name, _)| !matches!(*name, b"ALPH" | b"VP8 " | b"VP8L"));
    let (mut name, mut body) = picture.next().ok_or("no picture in the file")?;
    let mut opacity = None;
    if name == b"ALPH" {
        opacity = Some(body);
        (name, body) =
            picture.next().filter(|(name, _)| name == b"VP8 ").ok_or("alpha without colours")?;
    }
    let mut file = b"RIFF\0\0\0\0WEBP".to_vec();
    if let Some(opacity) = opacity {
        let sides = [width - 1, height - 1].map(u32::to_le_bytes);
        let sides = [&sides[0][..3], &sides[1][..3]].concat();
        push_chunk(&mut file, b"VP8X", &[&[ALPHA, 0, 0, 0], sides.as_slice()].concat());
        push_chunk(&mut file, b"ALPH", opacity);
    }
    let stream_at = file.len() + 8;
    push_chunk(&mut file, name, body);
    if name == b"VP8L" && body.len() > 4 {
        file[stream_at + 4] |= ALPHA_IS_USED;
    }
    let length = (file.len() - 8) as u32;
    file[4..8].copy_from_slice(&length.to_le_bytes());
    let mut rgba = decode_file(&file, (width, height))?;
    if !says_alpha {
        rgba.as_chunks_mut::<4>().0.iter_mut().for_each(divide_by_alpha);
    }
    Pixels::new(width, height, rgba).ok_or_else(|| "width or height out of range".to_owned())
}

fn push_chunk(file: &mut Vec<u8>, name: &[u8], body: &[u8]) {
    file.extend_from_slice(name);
    file.extend((body.len() as u32).to_le_bytes());
    file.extend_from_slice(body);
    file.resize(file.len().next_multiple_of(2), 0);
}

fn decode_file(bytes: &[u8], sides: (u32, u32)) -> Result<Vec<u8>, String> {
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    decoder.set_memory_limit(MAX_DECODER_BYTES);
    let size = decoder.output_buffer_size().ok_or("width or height out of range")?;
    if decoder.dimensions() != sides || size > MAX_DECODER_BYTES {
        return Err("dimensions differ from the header's".to_owned());
    }
    let mut buffer = vec![0; size];
    decoder.read_image(&mut buffer).map_err(|error| error.to_string())?;
    if decoder.has_alpha() {
        return Ok(buffer);
    }
    let pixels = buffer.as_chunks::<3>().0;
    Ok(pixels.iter().flat_map(|&[red, green, blue]| [red, green, blue, 255]).collect())
}
