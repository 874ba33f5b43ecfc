//! Finds the first frame of an animated PNG whose default image (IDAT) is not part of the
//! animation.
//!
//! Browsers show the frame, not the default image. The frame is rewritten as a plain PNG, so that
//! the default image is never decompressed. Source: PNG third edition, 11.3.6. Does not depend on
//! pixels.

use libdeflater::crc32;

use crate::png::format::SIGNATURE;

/// The first frame as a plain PNG, and its position on the canvas.
pub(crate) struct FirstFrame {
    /// A PNG file with the sides of the frame.
    pub(crate) file: Vec<u8>,
    /// Columns left of the frame.
    pub(crate) left: u32,
    /// Rows above the frame.
    pub(crate) top: u32,
}

/// Iterates over the chunks of a file as name and data. The data of the last one may be cut off.
fn chunks(bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    let mut rest = bytes.get(SIGNATURE.len()..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (length, named) = rest.split_first_chunk::<4>()?;
        let (name, data) = named.split_first_chunk::<4>()?;
        let length = u32::from_be_bytes(*length) as usize;
        // Also skip the CRC.
        rest = data.get(length.saturating_add(4)..).unwrap_or_default();
        Some((*name, data.get(..length).unwrap_or(data)))
    })
}

/// Returns true if the file is an animation that does not include its default image.
pub(crate) fn default_image_is_apart(bytes: &[u8]) -> bool {
    let before = || chunks(bytes).take_while(|(name, _)| name != b"IDAT");
    let frames = before().find(|(name, _)| name == b"acTL").and_then(|(_, data)| word(data, 0));
    frames.is_some_and(|frames| frames > 0) && before().all(|(name, _)| &name != b"fcTL")
}

/// Returns the first frame. `None` if the file ends before it.
pub(crate) fn first_frame(bytes: &[u8]) -> Option<FirstFrame> {
    let mut file = SIGNATURE.to_vec();
    let (_, header) = chunks(bytes).next().filter(|(name, _)| name == b"IHDR")?;
    let (_, control) = chunks(bytes).find(|(name, _)| name == b"fcTL")?;
    let sides = control.get(4..12)?;
    push(&mut file, *b"IHDR", &[sides, header.get(8..)?].concat());
    for (name, data) in chunks(bytes).take_while(|(name, _)| name != b"IDAT") {
        if matches!(&name, b"PLTE" | b"tRNS") {
            push(&mut file, name, data);
        }
    }
    let after = chunks(bytes).skip_while(|(name, _)| name != b"fcTL").skip(1);
    let frame = after.take_while(|(name, _)| name == b"fdAT");
    // The frame's data follow a sequence number.
    let data: Vec<u8> =
        frame.flat_map(|(_, data)| data.get(4..).unwrap_or_default()).copied().collect();
    push(&mut file, *b"IDAT", &data);
    push(&mut file, *b"IEND", &[]);
    Some(FirstFrame { file, left: word(control, 12)?, top: word(control, 16)? })
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// Appends a chunk.
fn push(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    // The data are part of a file of at most a few hundred kilobytes.
    file.extend((data.len() as u32).to_be_bytes());
    let named = [&name, data].concat();
    file.extend(&named);
    file.extend(crc32(&named).to_be_bytes());
}
