//! Decodes a GIF's first frame with the `gif` crate, on the canvas that a browser would show.
//!
//! If the first frame extends beyond the logical screen, the canvas grows to contain the frame. The
//! background colour is ignored, as in browsers.

use std::num::NonZeroU64;

use gif::{ColorOutput, DecodeOptions, MemoryLimit};

use crate::{limits::MAX_DECODER_BYTES, little_endian::read_u16, pixels::Pixels, work::Work};

const SCREEN_AT: usize = 6;
const BLOCKS_AT: usize = 13;

pub(crate) fn sides(bytes: &[u8]) -> Option<(u32, u32)> {
    let side = |at| read_u16(bytes, at).map(u32::from);
    let (screen_width, screen_height) = (side(SCREEN_AT)?, side(SCREEN_AT + 2)?);
    let at = first_frame(bytes)?;
    let right = side(at + 1)? + side(at + 5)?;
    let bottom = side(at + 3)? + side(at + 7)?;
    Some((screen_width.max(right), screen_height.max(bottom)))
}

fn first_frame(bytes: &[u8]) -> Option<usize> {
    let colour_table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 6 << (flags & 7) };
    let mut at = BLOCKS_AT + colour_table(*bytes.get(SCREEN_AT + 4)?);
    loop {
        match bytes.get(at)? {
            0x21 => at = skip_sub_blocks(bytes, at + 2)?,
            0x2C => return Some(at),
            _ => return None,
        }
    }
}

fn skip_sub_blocks(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1 + length;
        if length == 0 {
            return Some(at);
        }
    }
}

struct IndexedFrame {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
    interlaced: bool,
    transparent: Option<u8>,
    palette: Vec<u8>,
    indices: Vec<u8>,
    complete: bool,
}

pub(crate) fn decode(bytes: &[u8], work: &mut Work) -> Result<Pixels, String> {
    let (width, height) = sides(bytes).ok_or("no frame")?;
    let with_table = with_colour_table(bytes);
    let bytes = with_table.as_deref().unwrap_or(bytes);
    work.spend((width, height), bytes.len())?;
    let frame = read_frame(bytes, 0)?;
    let mut received = frame.indices.len();
    if !frame.complete {
        // The decoder does not report how many indices it wrote before it failed. So decode again
        // into a buffer with other initial values: the decoder wrote the indices that are equal
        // both times.
        work.spend((width, height), bytes.len())?;
        let again = read_frame(bytes, 1)?;
        let mut pairs = frame.indices.iter().zip(&again.indices);
        received = pairs.position(|(first, second)| first != second).unwrap_or(received);
    }
    if received == 0 {
        return Err("no pixel received".to_owned());
    }
    let (canvas_width, canvas_height) = (width as usize, height as usize);
    let fits =
        frame.left + frame.width <= canvas_width && frame.top + frame.height <= canvas_height;
    if !fits {
        return Err("frame outside its canvas".to_owned());
    }
    let mut rgba = vec![0; canvas_width * canvas_height * 4];
    frame.draw(received, &mut rgba, canvas_width);
    Pixels::new(width, height, rgba).ok_or_else(|| "width or height out of range".to_owned())
}

/// Indices that the decoder does not write keep the value `unwritten`.
fn read_frame(bytes: &[u8], unwritten: u8) -> Result<IndexedFrame, String> {
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    options.allow_unknown_blocks(true);
    let limit = NonZeroU64::new(MAX_DECODER_BYTES as u64).ok_or("no memory allowed")?;
    options.set_memory_limit(MemoryLimit::Bytes(limit));
    let mut decoder = options.read_info(bytes).map_err(|error| error.to_string())?;
    let frame = decoder.next_frame_info().map_err(|error| error.to_string())?;
    let frame = frame.ok_or("no frame")?;
    let (width, height) = (usize::from(frame.width), usize::from(frame.height));
    if width == 0 || height == 0 {
        return Err("a frame without pixels".to_owned());
    }
    let mut read = IndexedFrame {
        left: usize::from(frame.left),
        top: usize::from(frame.top),
        width,
        height,
        interlaced: frame.interlaced,
        transparent: frame.transparent,
        palette: Vec::new(),
        indices: vec![unwritten; width * height],
        complete: false,
    };
    read.palette = decoder.palette().map_err(|error| error.to_string())?.to_vec();
    read.complete = decoder.fill_buffer(&mut read.indices).unwrap_or(false);
    Ok(read)
}

impl IndexedFrame {
    /// As in Chromium, each complete row in an interlaced frame also fills the rows below it that
    /// later passes have yet to draw, unless the frame has a transparent colour.
    fn draw(&self, received: usize, rgba: &mut [u8], canvas_width: usize) {
        let rows = interlaced_order(self.height);
        for (index, row) in self.indices[..received].chunks(self.width).enumerate() {
            let (y, repeat) = if self.interlaced { rows[index] } else { (index, 1) };
            let whole = row.len() == self.width && self.transparent.is_none();
            let repeat = if whole { repeat } else { 1 };
            for y in (y..y + repeat).take_while(|y| *y < self.height) {
                let at = ((self.top + y) * canvas_width + self.left) * 4;
                let target = rgba[at..at + row.len() * 4].as_chunks_mut::<4>().0;
                for (pixel, &colour) in target.iter_mut().zip(row) {
                    *pixel = self.colour(colour);
                }
            }
        }
    }

    /// An index beyond the palette is black, as in browsers.
    fn colour(&self, index: u8) -> [u8; 4] {
        let entry = self.palette.get(usize::from(index) * 3..).and_then(|rest| rest.first_chunk());
        let [red, green, blue] = entry.copied().unwrap_or_default();
        [red, green, blue, if self.transparent == Some(index) { 0 } else { 255 }]
    }
}

/// Returns each row's index from the top, and how many rows it fills until later passes draw them
/// (GIF89a, appendix E).
fn interlaced_order(height: usize) -> Vec<(usize, usize)> {
    let passes = [(0, 8, 8), (4, 8, 4), (2, 4, 2), (1, 2, 1)];
    let rows = passes
        .iter()
        .flat_map(|&(first, step, repeat)| (first..height).step_by(step).map(move |y| (y, repeat)));
    rows.collect()
}

/// Adds a black global colour table, because browsers draw a frame without any colour table in
/// black. `None` if there is a table.
fn with_colour_table(bytes: &[u8]) -> Option<Vec<u8>> {
    const TABLE_FLAGS: u8 = 0x87;
    let flags = *bytes.get(SCREEN_AT + 4)?;
    let frame_flags = *bytes.get(first_frame(bytes)? + 9)?;
    if (flags | frame_flags) & 0x80 != 0 {
        return None;
    }
    let mut file = Vec::with_capacity(bytes.len() + 768);
    file.extend_from_slice(&bytes[..BLOCKS_AT]);
    file[SCREEN_AT + 4] |= TABLE_FLAGS;
    file.resize(BLOCKS_AT + 768, 0);
    file.extend_from_slice(&bytes[BLOCKS_AT..]);
    Some(file)
}
