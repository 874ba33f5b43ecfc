//! Inspects an AV1 bitstream before decoding, so that we know the decoder's memory use and work
//! before it runs. See the AV1 specification, 5.3 (OBUs, the units of a bitstream) and 5.5
//! (sequence header).

use super::avif_reader::{Bits, Reader};

const SEQUENCE_HEADER: u8 = 1;
const FRAME_HEADER: u8 = 3;
const FRAME: u8 = 6;
const METADATA: u8 = 5;
/// The decoder treats this copy of a frame header as a frame header if none is pending.
const REDUNDANT_FRAME_HEADER: u8 = 7;
const UNSPECIFIED: u16 = 2;

/// A bitstream's properties that can be read without decoding it. The maxima are over all sequence
/// headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stream {
    /// The first sequence header, but with the most expensive chroma in any sequence header.
    pub(crate) sequence: Sequence,
    pub(crate) max_width: u32,
    pub(crate) max_height: u32,
    /// Maximum dimensions that a frame header can express. A frame may be larger than the sequence
    /// header declares.
    pub(crate) codable_width: u64,
    pub(crate) codable_height: u64,
    /// Frame headers, including copies. For each one, the decoder may decode or copy a picture.
    pub(crate) frames: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sequence {
    pub(crate) width: u32,
    pub(crate) height: u32,
    side_bits: (u32, u32),
    pub(crate) colour: Colour,
    pub(crate) chroma: Chroma,
}

/// Chroma subsampling, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Chroma {
    None,
    Quarter,
    /// One sample per pixel, or per two pixels.
    Whole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Colour {
    pub(crate) primaries: u16,
    pub(crate) transfer: u16,
    pub(crate) matrix: u16,
    /// True if samples use the full range, false if they use the limited range.
    pub(crate) full_range: bool,
}

/// Reads the OBUs up to the first truncated one, where the decoder also stops. `None` if a sequence
/// header is missing or cannot be read.
pub(crate) fn survey(mut stream: &[u8]) -> Option<Stream> {
    let mut found: Option<Stream> = None;
    let mut frames = 0_u32;
    while let Some((kind, body, rest)) = obu(stream) {
        stream = rest;
        match kind {
            SEQUENCE_HEADER => {
                let sequence = sequence(body)?;
                let Sequence { width, height, .. } = sequence;
                let all = found.get_or_insert(Stream {
                    sequence,
                    max_width: width,
                    max_height: height,
                    codable_width: 0,
                    codable_height: 0,
                    frames: 0,
                });
                all.codable_width = all.codable_width.max(1 << sequence.side_bits.0);
                all.codable_height = all.codable_height.max(1 << sequence.side_bits.1);
                all.max_width = all.max_width.max(width);
                all.max_height = all.max_height.max(height);
                all.sequence.chroma = all.sequence.chroma.max(sequence.chroma);
            }
            FRAME_HEADER | FRAME | REDUNDANT_FRAME_HEADER => frames += 1,
            _ => {}
        }
    }
    found.map(|stream| Stream { frames, ..stream })
}

/// Returns the bitstream without metadata OBUs, because the decoder panics on some of them. Pixels
/// do not depend on metadata.
pub(crate) fn without_metadata(stream: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(stream.len());
    let mut rest = stream;
    while let Some((kind, _, after)) = obu(rest) {
        let (this, _) = rest.split_at(rest.len() - after.len());
        if kind != METADATA {
            kept.extend_from_slice(this);
        }
        rest = after;
    }
    kept.extend_from_slice(rest);
    kept
}

fn obu(stream: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let mut reader = Reader(stream);
    let header = reader.u8()?;
    // We need not check the forbidden first bit, because the decoder rejects it.
    let (kind, has_extension, has_size) = (header >> 3 & 15, header & 4 != 0, header & 2 != 0);
    if has_extension {
        reader.u8()?;
    }
    if !has_size {
        return Some((kind, reader.0, &[]));
    }
    let mut length = 0_u64;
    for group in 0..8 {
        let byte = reader.u8()?;
        length |= u64::from(byte & 0x7F) << (7 * group);
        if byte & 0x80 == 0 {
            let (body, rest) = reader.0.split_at_checked(usize::try_from(length).ok()?)?;
            return Some((kind, body, rest));
        }
    }
    None
}

fn sequence(body: &[u8]) -> Option<Sequence> {
    let bits = &mut Bits::new(body);
    let profile = bits.number(3)?;
    bits.flag()?;
    let is_reduced = bits.flag()?;
    if is_reduced {
        bits.number(5)?;
    } else {
        skip_operating_points(bits)?;
    }
    let (width_bits, height_bits) = (bits.number(4)? + 1, bits.number(4)? + 1);
    let (width, height) = (bits.number(width_bits)? + 1, bits.number(height_bits)? + 1);
    if !is_reduced && bits.flag()? {
        bits.number(4 + 3)?;
    }
    bits.number(3)?;
    if !is_reduced {
        skip_tools(bits)?;
    }
    bits.number(3)?;
    let (colour, chroma) = colour(bits, profile)?;
    let side_bits = (width_bits, height_bits);
    Some(Sequence { width, height, side_bits, colour, chroma })
}

fn skip_operating_points(bits: &mut Bits<'_>) -> Option<()> {
    let mut delay_bits = None;
    if bits.flag()? {
        bits.number(32)?;
        bits.number(32)?;
        if bits.flag()? {
            skip_uvlc(bits)?;
        }
        if bits.flag()? {
            delay_bits = Some(bits.number(5)? + 1);
            bits.number(32)?;
            bits.number(5 + 5)?;
        }
    }
    let has_display_delay = bits.flag()?;
    for _ in 0..bits.number(5)? + 1 {
        bits.number(12)?;
        if bits.number(5)? > 7 {
            bits.flag()?;
        }
        if let Some(delay_bits) = delay_bits
            && bits.flag()?
        {
            bits.number(delay_bits)?;
            bits.number(delay_bits)?;
            bits.flag()?;
        }
        if has_display_delay && bits.flag()? {
            bits.number(4)?;
        }
    }
    Some(())
}

fn skip_uvlc(bits: &mut Bits<'_>) -> Option<()> {
    let mut zeros = 0;
    while !bits.flag()? {
        zeros += 1;
    }
    if zeros < 32 {
        bits.number(zeros)?;
    }
    Some(())
}

fn skip_tools(bits: &mut Bits<'_>) -> Option<()> {
    bits.number(4)?;
    let has_order = bits.flag()?;
    if has_order {
        bits.number(2)?;
    }
    let may_force_screen = bits.flag()? || bits.flag()?;
    if may_force_screen && !bits.flag()? {
        bits.flag()?;
    }
    if has_order {
        bits.number(3)?;
    }
    Some(())
}

/// Reads the colour configuration up to the chroma subsampling (5.5.2).
fn colour(bits: &mut Bits<'_>, profile: u32) -> Option<(Colour, Chroma)> {
    let is_deep = bits.flag()?;
    let is_deepest = profile == 2 && is_deep && bits.flag()?;
    let is_grey = profile != 1 && bits.flag()?;
    let mut described = [UNSPECIFIED; 3];
    if bits.flag()? {
        for number in &mut described {
            *number = bits.number(8)? as u16;
        }
    }
    let [primaries, transfer, matrix] = described;
    // sRGB with the identity matrix always has the full range and chroma without subsampling.
    let is_srgb = !is_grey && described == [1, 13, 0];
    let full_range = is_srgb || bits.flag()?;
    let chroma = match profile {
        _ if is_grey => Chroma::None,
        _ if is_srgb => Chroma::Whole,
        0 => Chroma::Quarter,
        2 if is_deepest && bits.flag()? && bits.flag()? => Chroma::Quarter,
        _ => Chroma::Whole,
    };
    Some((Colour { primaries, transfer, matrix, full_range }, chroma))
}
