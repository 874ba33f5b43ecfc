//! Reads the PNG chunks that affect how a PNG is shown: the EXIF orientation, and an animation's
//! first frame if the default image (IDAT) does not belong to the animation.
//!
//! As in Chromium, an acTL, fcTL or eXIf chunk before the default image is ignored if its CRC is
//! wrong, but the first frame's chunks must have consecutive sequence numbers. See PNG (Third
//! Edition) 11.3.3.7 and 11.3.5.

use libdeflater::crc32;

use super::orientation;
use crate::png::format::{SIGNATURE, push_chunk};

/// An animation may declare at most this many frames and this many repetitions, because PNG
/// integers have 31 bits.
const MAX_COUNT: u32 = (1 << 31) - 1;
/// Data bytes in the acTL chunk.
const ANIMATION_BYTES: usize = 8;
/// Data bytes in the fcTL chunk.
const FRAME_BYTES: usize = 26;
/// A decoder may skip a chunk if its name's first letter has this bit.
const ANCILLARY: u8 = 0x20;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Preamble {
    /// EXIF orientation, 1..=8, from the first valid eXIf chunk.
    pub(crate) orientation: u8,
    /// True if the file is an animation and its default image is not a frame.
    pub(crate) default_image_is_apart: bool,
    /// True if a frame data chunk (fdAT) precedes the default image, which Chromium rejects.
    pub(crate) has_frame_data: bool,
}

pub(crate) struct FirstFrame {
    pub(crate) file: Vec<u8>,
    pub(crate) left: u32,
    pub(crate) top: u32,
}

#[derive(Clone, Copy)]
struct Chunk<'a> {
    name: [u8; 4],
    data: &'a [u8],
    /// Name and data as one slice, and the CRC. `None` if the file ends before the CRC.
    checked: Option<(&'a [u8], u32)>,
}

impl Chunk<'_> {
    fn is_valid(&self) -> bool {
        self.checked.is_some_and(|(named, sum)| crc32(named) == sum)
    }
}

fn chunks(bytes: &[u8]) -> impl Iterator<Item = Chunk<'_>> {
    let mut rest = bytes.get(SIGNATURE.len()..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (length, named) = rest.split_first_chunk::<4>()?;
        let (name, data) = named.split_first_chunk::<4>()?;
        let length = u32::from_be_bytes(*length) as usize;
        let sum = word(data, length);
        rest = data.get(length.saturating_add(4)..).unwrap_or_default();
        let checked = sum.and_then(|sum| Some((named.get(..length + 4)?, sum)));
        Some(Chunk { name: *name, data: data.get(..length).unwrap_or(data), checked })
    })
}

impl Preamble {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let (mut exif, mut is_animated) = (None, None);
        let (mut has_frame, mut has_frame_data) = (false, false);
        for chunk in chunks(bytes).take_while(|chunk| &chunk.name != b"IDAT") {
            match &chunk.name {
                b"eXIf" if exif.is_none() && chunk.is_valid() => exif = Some(chunk.data),
                b"acTL" if is_animated.is_none() && chunk.is_valid() => {
                    is_animated = Some(is_animation(chunk.data));
                }
                b"fcTL" => has_frame |= chunk.is_valid(),
                b"fdAT" => has_frame_data = true,
                _ => {}
            }
        }
        // Unlike in a JPEG, the data do not start with "Exif".
        let exif = exif.filter(|exif| exif.starts_with(b"II") || exif.starts_with(b"MM"));
        Self {
            orientation: exif.map_or(1, orientation::read),
            default_image_is_apart: is_animated == Some(true) && !has_frame,
            has_frame_data,
        }
    }
}

fn is_animation(data: &[u8]) -> bool {
    let (frames, plays) = (word(data, 0), word(data, 4));
    data.len() == ANIMATION_BYTES
        && frames.is_some_and(|frames| (1..=MAX_COUNT).contains(&frames))
        && plays.is_some_and(|plays| plays <= MAX_COUNT)
}

/// Returns the animation's first frame as a PNG file, so the default image is never decompressed.
pub(crate) fn first_frame(bytes: &[u8]) -> Option<FirstFrame> {
    let header = chunks(bytes).next().filter(|chunk| &chunk.name == b"IHDR")?.data;
    let mut file = Vec::new();
    let mut expected = 0;
    let mut control = None;
    let mut data = Vec::new();
    let mut is_cut = true;
    for chunk in chunks(bytes).skip(1) {
        match &chunk.name {
            b"fdAT" if control.is_some() => {
                if word(chunk.data, 0)? != expected {
                    return None;
                }
                expected += 1;
                data.extend_from_slice(&chunk.data[4..]);
            }
            _ if !data.is_empty() => {
                is_cut = false;
                break;
            }
            b"fcTL" if chunk.is_valid() => {
                control = Some(frame_control(chunk.data, expected)?);
                expected += 1;
            }
            b"PLTE" | b"tRNS" => push_chunk(&mut file, chunk.name, chunk.data),
            b"IDAT" if control.is_none() && chunk.is_valid() => {}
            [first, ..] if first & ANCILLARY != 0 => {}
            _ => return None,
        }
    }
    let Frame { sides, left, top } = control?;
    let mut whole = SIGNATURE.to_vec();
    push_chunk(&mut whole, *b"IHDR", &[sides, header.get(8..)?].concat());
    whole.extend(file);
    push_chunk(&mut whole, *b"IDAT", &data);
    if is_cut {
        // Browsers show the rows in a frame that the file's end truncates, but an incomplete frame
        // that other chunks follow is an error. Remove the CRC so that the decoder treats the file
        // as truncated.
        whole.truncate(whole.len() - 4);
    } else {
        push_chunk(&mut whole, *b"IEND", &[]);
    }
    Some(FirstFrame { file: whole, left, top })
}

struct Frame<'a> {
    sides: &'a [u8],
    left: u32,
    top: u32,
}

fn frame_control(data: &[u8], expected: u32) -> Option<Frame<'_>> {
    let &[.., disposal, blending] = data else { return None };
    let is_valid = data.len() == FRAME_BYTES && word(data, 0)? == expected;
    let frame = Frame { sides: &data[4..12], left: word(data, 12)?, top: word(data, 16)? };
    (is_valid && disposal <= 2 && blending <= 1).then_some(frame)
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}
