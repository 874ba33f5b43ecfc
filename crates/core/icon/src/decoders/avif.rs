//! Decodes an AVIF file's primary image and its alpha plane, with `re_rav1d` on one thread.
//!
//! Invariant: we read the dimensions from the container and the sequence header before the decoder
//! runs, and the decoder rejects larger frames. `re_rav1d` has `unsafe` code, and a panic in it
//! ends the process. So it must run in a process whose crash loses only one icon
//! (docs/decisions/0099 and 0137).

use std::cell::Cell;

use re_rav1d::{Decoder, InloopFilterType, Picture, Settings};

use super::{
    avif_colour::{ToSrgb, is_hdr},
    avif_container::{Item, Primary, Properties, Refusal, Tile, primary},
    avif_matrix::Matrix,
    avif_rgb::{add_opacity, opacity, rgba},
    avif_stream::{Chroma, Colour, Sequence, Stream, survey, without_metadata},
    orientation,
};
use crate::{
    error::IconError,
    format::Format,
    limits::MAX_SIDE_PIXELS,
    pixels::Pixels,
    work::{MAX_FILE_PIXELS, Work},
};

/// Maximum frames in a bitstream. Bitstreams beyond this limit are rejected. A picture has one
/// frame per layer, and at most four layers.
const MAX_FRAMES: u32 = 4;
/// Cost per byte in a bitstream, in PNG pixels. The costs in this module are higher than measured
/// for files from real encoders, and at most a third lower than for the worst crafted files
/// (docs/decisions/0137).
const BYTE_COST: u64 = 16;
/// Cost per bitstream, because the decoder may prepare film grain for it.
const STREAM_COST: u64 = 30_000;
/// Cost per pixel with all in-loop filters, in PNG pixels.
const FILTERED_COST: u64 = 40;
const COLOUR_COST: u64 = 10;
/// Cost per pixel without CDEF and loop restoration, if four pixels share a chroma sample.
const QUARTER_COLOUR_COST: u64 = 6;
const GREY_COST: u64 = 3;
const CONVERSION_COST: u64 = 6;
/// Width and height, in pixels, of the blocks that the decoder processes.
const BLOCK_PIXELS: u64 = 8;
/// All in-loop filters run only if the bitstream has one frame, and all tiles of a picture together
/// have at most this many pixels. Larger pictures, unless they are cropped, are scaled down for a
/// tab to an eighth or less of their width and height. This averages out the details that the
/// expensive filters would smooth (docs/decisions/0137).
const MAX_FILTERED_PIXELS: u64 = 256 * 256;

// `MAX_FILE_PIXELS` allows a picture with 1208x800 pixels in 100 KiB. It also allows 512x512 pixels
// with a grey alpha plane in 512 KiB, the maximum fetch size.
const _: () = assert!(
    COLOUR_COST * 1208 * 800 + BYTE_COST * 100 * 1024 + STREAM_COST <= MAX_FILE_PIXELS
        && (COLOUR_COST + GREY_COST) * 512 * 512 + BYTE_COST * 512 * 1024 + 2 * STREAM_COST
            <= MAX_FILE_PIXELS
);

fn cost((width, height): (u32, u32), stream: &Stream, is_filtered: bool, bytes: usize) -> u64 {
    let whole = |side: u32| u64::from(side).next_multiple_of(BLOCK_PIXELS);
    let mut pixels = whole(width) * whole(height);
    if stream.frames > 1 {
        // A frame may have other dimensions, such as a height of one pixel, but is decoded in whole
        // blocks.
        let beyond = (BLOCK_PIXELS - 1) * (stream.codable_width + stream.codable_height);
        pixels = (pixels + beyond).min(pixels * BLOCK_PIXELS) * u64::from(stream.frames);
    }
    let pixel_cost = match (is_filtered, stream.sequence.chroma) {
        (true, _) => FILTERED_COST,
        (false, Chroma::Whole) => COLOUR_COST,
        (false, Chroma::Quarter) => QUARTER_COLOUR_COST,
        (false, Chroma::None) => GREY_COST,
    };
    STREAM_COST + pixels * pixel_cost + bytes as u64 * BYTE_COST
}

fn refused(refusal: Refusal) -> IconError {
    match refusal {
        Refusal::Corrupt(reason) => corrupt(reason),
        Refusal::Unsupported => IconError::AvifUnsupported,
    }
}

fn corrupt(reason: &str) -> IconError {
    IconError::corrupt(Format::Avif, reason)
}

/// Returns the picture's dimensions after cropping and rotation, or the stored dimensions if they
/// are too large to decode.
pub(crate) fn sides(bytes: &[u8]) -> Result<(u32, u32), IconError> {
    Ok(shown_sides(&primary(bytes).map_err(refused)?.colour.properties))
}

fn shown_sides(properties: &Properties) -> (u32, u32) {
    let stored = properties.sides.unwrap_or_default();
    if stored.0.max(stored.1) > MAX_SIDE_PIXELS {
        return stored;
    }
    let (width, height) = cropped_sides(properties, stored);
    if properties.turns % 2 == 1 { (height, width) } else { (width, height) }
}

fn cropped_sides(properties: &Properties, stored: (u32, u32)) -> (u32, u32) {
    let Some([width, height, across, down]) = properties.aperture else { return stored };
    let cropped = cropped(stored.0, width, across).zip(cropped(stored.1, height, down));
    cropped.unwrap_or(stored)
}

/// As in Chromium, returns `None` unless the crop is a whole number of pixels and starts at the
/// first pixel.
fn cropped(stored: u32, size: (u32, u32), offset: (u32, u32)) -> Option<u32> {
    let signed = |number: u32| i64::from(number.cast_signed());
    let (size, divisor) = (signed(size.0), signed(size.1));
    let (offset, offset_divisor) = (signed(offset.0), signed(offset.1));
    if divisor <= 0 || offset_divisor <= 0 || size <= 0 || size % divisor != 0 {
        return None;
    }
    let size = size / divisor;
    // `offset` is the distance from the stored picture's centre to the crop's centre.
    let less = i64::from(stored) - size;
    let is_at_start = i128::from(less) * i128::from(offset_divisor) == -2 * i128::from(offset);
    (less >= 0 && is_at_start).then(|| u32::try_from(size).ok())?
}

pub(crate) fn decode(bytes: &[u8], work: &mut Work) -> Result<Pixels, IconError> {
    let Primary { colour, alpha, is_premultiplied } = primary(bytes).map_err(refused)?;
    let properties = colour.properties;
    let stored = properties.sides.unwrap_or_default();
    if stored.0.max(stored.1) > MAX_SIDE_PIXELS {
        return Err(corrupt("a picture that is larger than the limit"));
    }
    let of_picture = properties.colour;
    let meaning = Cell::new(None);
    let mut rgba = canvas(&colour, stored, work, |picture, sequence| {
        let colour = of_picture.unwrap_or(sequence.colour);
        let Colour { primaries, matrix, full_range, .. } = colour;
        meaning.set(Some(colour));
        let matrix = Matrix::numbered(matrix, primaries).ok_or(IconError::AvifUnsupported)?;
        let rgba = rgba(picture, matrix, full_range, is_hdr(colour.transfer));
        rgba.ok_or_else(|| corrupt("fewer chroma samples than the matrix needs"))
    })?;
    if let Some(alpha) = alpha {
        if alpha.properties.sides.is_some_and(|sides| sides != stored) {
            return Err(corrupt("the alpha plane has other dimensions"));
        }
        let opacity = canvas(&alpha, stored, work, |picture, sequence| {
            Ok(opacity(picture, sequence.colour.full_range))
        })?;
        add_opacity(&mut rgba, &opacity, is_premultiplied);
    }
    if let Some(colour) = meaning.get().filter(|_| !properties.has_profile) {
        let conversion = ToSrgb::new(colour, properties.peak_nits);
        if let Some(conversion) = conversion.ok_or(IconError::AvifUnsupported)? {
            work.spend_pixels(CONVERSION_COST * rgba.len() as u64 / 4, 0)
                .map_err(|spent| corrupt(&String::from(spent)))?;
            conversion.apply(&mut rgba);
        }
    }
    let (width, height) = cropped_sides(&properties, stored);
    if (width, height) != stored {
        let (row, shown) = (stored.0 as usize * 4, width as usize * 4);
        let rows = rgba.chunks_exact(row).take(height as usize);
        rgba = rows.flat_map(|row| &row[..shown]).copied().collect();
    }
    let pixels =
        Pixels::new(width, height, rgba).ok_or_else(|| corrupt("width or height out of range"))?;
    Ok(orientation::upright(pixels, exif_orientation(&properties)))
}

fn exif_orientation(properties: &Properties) -> u8 {
    let by_turns = match properties.mirror {
        None => [1, 8, 3, 6],
        Some(0) => [4, 5, 2, 7],
        Some(_) => [2, 7, 4, 5],
    };
    by_turns[usize::from(properties.turns % 4)]
}

fn canvas(
    item: &Item<'_>,
    sides: (u32, u32),
    work: &mut Work,
    converted: impl Fn(&Picture, &Sequence) -> Result<Vec<u8>, IconError>,
) -> Result<Vec<u8>, IconError> {
    let mut canvas = Vec::new();
    for (number, tile) in item.tiles.iter().enumerate() {
        let point = item.properties.operating_point;
        let (picture, sequence) = decode_tile(tile, item.tiles.len(), point, work)?;
        let bytes = converted(&picture, &sequence)?;
        if tile.sides == sides {
            return Ok(bytes);
        }
        let ((width, height), (across, down)) = (usizes(sides), usizes(tile.sides));
        let pixel_bytes = bytes.len() / (across * down);
        canvas.resize(width * height * pixel_bytes, 0);
        let (left, top) = (number % item.columns * across, number / item.columns * down);
        let row_bytes = across.min(width - left) * pixel_bytes;
        let rows = canvas.chunks_exact_mut(width * pixel_bytes).skip(top);
        for (row, tile_row) in rows.zip(bytes.chunks_exact(across * pixel_bytes)) {
            row[left * pixel_bytes..][..row_bytes].copy_from_slice(&tile_row[..row_bytes]);
        }
    }
    Ok(canvas)
}

fn usizes((width, height): (u32, u32)) -> (usize, usize) {
    (width as usize, height as usize)
}

fn decode_tile(
    tile: &Tile<'_>,
    tiles: usize,
    operating_point: u8,
    work: &mut Work,
) -> Result<(Picture, Sequence), IconError> {
    let sides = tile.sides;
    let bytes = without_metadata(&tile.stream());
    let stream = survey(&bytes).ok_or_else(|| corrupt("unreadable sequence header"))?;
    if sides.0.max(sides.1).max(stream.max_width).max(stream.max_height) > MAX_SIDE_PIXELS {
        return Err(corrupt("a frame that is larger than the limit"));
    }
    let pixels = u64::from(sides.0) * u64::from(sides.1);
    if pixels == 0 || !(1..=MAX_FRAMES).contains(&stream.frames) {
        return Err(corrupt("no frame, or too many frames"));
    }
    let is_filtered = stream.frames == 1 && pixels * tiles as u64 <= MAX_FILTERED_PIXELS;
    work.spend_pixels(cost(sides, &stream, is_filtered, bytes.len()), bytes.len())
        .map_err(|spent| corrupt(&String::from(spent)))?;
    let picture = first_picture(bytes, pixels as u32, operating_point, is_filtered)
        .map_err(|error| IconError::corrupt(Format::Avif, error))?;
    if (picture.width(), picture.height()) != sides {
        return Err(corrupt("dimensions differ from the header's"));
    }
    Ok((picture, stream.sequence))
}

/// Frames with more than `area` pixels are an error. If `is_filtered` is false, this skips the
/// filters CDEF and loop restoration, but not deblocking.
fn first_picture(
    bytes: Vec<u8>,
    area: u32,
    operating_point: u8,
    is_filtered: bool,
) -> Result<Picture, re_rav1d::Error> {
    let mut settings = Settings::new();
    // With one thread, the decoder runs on this thread and does not start others.
    settings.set_n_threads(1);
    settings.set_max_frame_delay(1);
    settings.set_all_layers(false);
    settings.set_operating_point(u32::from(operating_point));
    settings.set_frame_size_limit(area);
    if !is_filtered {
        settings.set_inloop_filters(InloopFilterType::DEBLOCK);
    }
    let mut decoder = Decoder::with_settings(&settings)?;
    match decoder.send_data(bytes, None, None, None) {
        Err(error) if !error.is_again() => return Err(error),
        _ => {}
    }
    decoder.get_picture()
}

#[cfg(test)]
mod tests {
    use re_rav1d::PlanarImageComponent;

    use super::*;

    #[test]
    fn expensive_filters_run_only_for_small_pictures() {
        let small: &[u8] = include_bytes!("../../vectors/avif/filtered.avif");
        let large: &[u8] = include_bytes!("../../vectors/avif_large/filtered.avif");
        let luma = |picture: &Picture| picture.plane(PlanarImageComponent::Y).to_vec();
        let cases = [(small, 1, true), (small, 115, true), (small, 116, false), (large, 1, false)];
        for (file, tiles, is_filtered) in cases {
            let item = primary(file).unwrap().colour;
            let (picture, _) = decode_tile(&item.tiles[0], tiles, 0, &mut Work::default()).unwrap();
            let decoded = |is_filtered| {
                let stream = item.tiles[0].stream().to_vec();
                luma(&first_picture(stream, 1 << 20, 0, is_filtered).unwrap())
            };
            assert!(luma(&picture) == decoded(is_filtered), "{tiles}");
            assert!(luma(&picture) != decoded(!is_filtered), "{tiles}");
        }
    }
}
