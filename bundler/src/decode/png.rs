//! PNG through the `png` crate: any colour type, depth and interlace, tRNS; of an animated PNG
//! the default image. Invariant: the output is RGBA8 of exactly the sides in IHDR.

use std::io::Cursor;

use png::{ColorType, Decoder, Limits, Transformations};

use super::{MAX_DECODER_BYTES, MAX_SIDE_PIXELS};
use crate::measure::png_sides;
use crate::pixels::Pixels;

/// Decodes a PNG, as a file or as an entry of an ICO. 16-bit samples keep their high byte.
pub(crate) fn decode(bytes: &[u8]) -> Result<Pixels, String> {
    let (width, height) = png_sides(bytes).ok_or("unreadable header")?;
    if width > MAX_SIDE_PIXELS || height > MAX_SIDE_PIXELS {
        return Err("sides out of range".to_owned());
    }
    let limits = Limits { bytes: MAX_DECODER_BYTES };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::normalize_to_color8() | Transformations::ALPHA);
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let size = reader.output_buffer_size().ok_or("sides out of range")?;
    if size > MAX_DECODER_BYTES {
        return Err("sides out of range".to_owned());
    }
    let mut buffer = vec![0; size];
    let frame = reader.next_frame(&mut buffer).map_err(|error| error.to_string())?;
    buffer.truncate(frame.buffer_size());
    let rgba = match frame.color_type {
        ColorType::Rgba => buffer,
        ColorType::GrayscaleAlpha => {
            let pairs = buffer.as_chunks::<2>().0;
            pairs.iter().flat_map(|&[grey, alpha]| [grey, grey, grey, alpha]).collect()
        }
        other => return Err(format!("unexpected colour type {other:?}")),
    };
    Pixels::new(frame.width, frame.height, rgba).ok_or_else(|| "sides out of range".to_owned())
}
