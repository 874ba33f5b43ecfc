//! Encodes canvases as PNG in several pixel formats, and in other formats.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, RgbaImage};
use png::{BitDepth, ColorType};

use super::{canvas::Canvas, motif::Motif};
use crate::dice::Dice;

pub(super) fn png(motif: &Motif, size: u32, dice: &mut Dice) -> Option<Vec<u8>> {
    let canvas = motif.draw(size);
    let kinds = [
        ((ColorType::Rgba, BitDepth::Eight), 50),
        ((ColorType::Rgb, BitDepth::Eight), 10),
        ((ColorType::Indexed, BitDepth::Eight), 20),
        ((ColorType::Indexed, BitDepth::Four), 8),
        ((ColorType::Indexed, BitDepth::One), 2),
        ((ColorType::Grayscale, BitDepth::Eight), 3),
        ((ColorType::GrayscaleAlpha, BitDepth::Eight), 4),
        ((ColorType::Rgba, BitDepth::Sixteen), 3),
    ];
    let (colour, depth) = dice.weighted(&kinds);
    write_png(motif, &canvas, colour, depth)
}

pub(super) fn plain_png(motif: &Motif, size: u32) -> Option<Vec<u8>> {
    write_png(motif, &motif.draw(size), ColorType::Rgba, BitDepth::Eight)
}

fn write_png(
    motif: &Motif,
    canvas: &Canvas,
    colour: ColorType,
    depth: BitDepth,
) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, canvas.size, canvas.size);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    let white = [255; 3];
    let data = match colour {
        ColorType::Indexed => {
            let palette = palette(motif, depth as u8);
            encoder.set_palette(palette.as_flattened().to_vec());
            let indexes = canvas.on(white).indexed(&palette);
            pack(&indexes, canvas.size as usize, depth as u8)
        }
        ColorType::Rgb => opaque(&canvas.on(white)),
        ColorType::Grayscale => canvas.on(white).pixels.iter().map(grey).collect(),
        ColorType::GrayscaleAlpha => canvas.pixels.iter().flat_map(|p| [grey(p), p[3]]).collect(),
        ColorType::Rgba if depth == BitDepth::Sixteen => {
            canvas.rgba().into_iter().flat_map(|part| [part, part]).collect()
        }
        ColorType::Rgba => canvas.rgba(),
    };
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(&data).ok()?;
    writer.finish().ok()?;
    Some(bytes)
}

/// Returns a 6 x 6 x 6 colour cube for 8 bits, and otherwise a gradient.
pub(super) fn palette(motif: &Motif, bits: u8) -> Vec<[u8; 3]> {
    if bits >= 8 {
        let side = |at: usize| (at * 51) as u8;
        return (0..216).map(|at| [side(at / 36), side(at / 6 % 6), side(at % 6)]).collect();
    }
    let steps = 1_u32 << bits;
    let blend = |step: u32, at: usize| {
        let last = steps - 1;
        let sum = u32::from(motif.back[at]) * (last - step) + u32::from(motif.front[at]) * step;
        (sum / last) as u8
    };
    let mut colours: Vec<_> =
        (0..steps).map(|step| [blend(step, 0), blend(step, 1), blend(step, 2)]).collect();
    if !motif.is_opaque() && steps > 2 {
        colours[1] = [255; 3];
    }
    colours
}

/// Each row starts with a new byte.
pub(super) fn pack(indexes: &[u8], width: usize, bits: u8) -> Vec<u8> {
    if bits >= 8 {
        return indexes.to_vec();
    }
    let per_byte = usize::from(8 / bits.max(1));
    let pack_byte = |part: &[u8]| {
        let start = 8 - bits;
        part.iter()
            .enumerate()
            .fold(0, |byte, (at, index)| byte | (index << start.saturating_sub(bits * at as u8)))
    };
    indexes.chunks(width.max(1)).flat_map(|row| row.chunks(per_byte).map(pack_byte)).collect()
}

fn opaque(canvas: &Canvas) -> Vec<u8> {
    canvas.pixels.iter().flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
}

fn grey(pixel: &[u8; 4]) -> u8 {
    let [red, green, blue, _] = pixel.map(u32::from);
    ((red * 299 + green * 587 + blue * 114) / 1_000) as u8
}

pub(super) fn by_library(motif: &Motif, size: u32, format: ImageFormat) -> Option<Vec<u8>> {
    let canvas = motif.draw(size);
    let image = match format {
        ImageFormat::Jpeg => {
            let rgb = opaque(&canvas.on([255; 3]));
            DynamicImage::ImageRgb8(image::RgbImage::from_raw(size, size, rgb)?)
        }
        ImageFormat::Bmp if motif.is_opaque() => {
            let rgb = opaque(&canvas);
            DynamicImage::ImageRgb8(image::RgbImage::from_raw(size, size, rgb)?)
        }
        _ => DynamicImage::ImageRgba8(RgbaImage::from_raw(size, size, canvas.rgba())?),
    };
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).ok()?;
    Some(bytes.into_inner())
}
