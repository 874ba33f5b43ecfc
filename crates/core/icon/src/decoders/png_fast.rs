//! Decodes the most common PNGs in half the time of the `png` crate: those with at most 8 bits per
//! sample that are neither interlaced nor animated.
//!
//! Invariant: this returns the same pixels as the `png` crate, or `None` if the `png` crate must
//! decode the file.

use std::cell::RefCell;

use libdeflater::{Decompressor, crc32};

use crate::{
    limits::MAX_SIDE_PIXELS,
    pixels::Pixels,
    png::format::{GREY, GREY_ALPHA, INDEXED, RGB, RGBA, SIGNATURE, paeth},
};

/// A decoder may skip a chunk if its name's first letter has this bit.
const ANCILLARY: u8 = 0x20;

/// Maximum size in bytes of a row buffer that a thread reuses for its next file. A new buffer would
/// cost a page fault for every page.
const MAX_KEPT_BYTES: usize = 4 << 20;

thread_local! {
    static DECOMPRESSOR: RefCell<Decompressor> = RefCell::new(Decompressor::new());
    static ROWS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub(crate) struct PngParts<'a> {
    pub(crate) header: &'a [u8],
    width: usize,
    height: usize,
    depth: usize,
    pub(crate) colour_type: u8,
    pub(crate) palette: &'a [u8],
    pub(crate) transparency: Option<&'a [u8]>,
    first_data: &'a [u8],
    more_data: Vec<u8>,
}

pub(crate) fn decode(parts: &PngParts<'_>) -> Option<Pixels> {
    let channels = match parts.colour_type {
        GREY | INDEXED => 1,
        RGB => 3,
        GREY_ALPHA => 2,
        _ => 4,
    };
    let stride = (parts.width * parts.depth * channels).div_ceil(8);
    let mut rows = ROWS.take();
    rows.resize((stride + 1) * parts.height, 0);
    let rgba = parts.rgba(&mut rows, stride, channels);
    if rows.capacity() <= MAX_KEPT_BYTES {
        ROWS.set(rows);
    }
    let (width, height) = parts.sides();
    Pixels::new(width, height, rgba?)
}

/// `None` if the chunk is truncated or its CRC is wrong. The CRC of ancillary chunks is checked
/// only for tRNS.
fn chunk(bytes: &[u8]) -> Option<([u8; 4], &[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = u32::from_be_bytes(*length) as usize;
    let named = rest.get(..length.checked_add(4)?)?;
    let (sum, rest) = rest[named.len()..].split_first_chunk::<4>()?;
    let (name, data) = named.split_first_chunk::<4>()?;
    let checked = name[0] & ANCILLARY == 0 || name == b"tRNS";
    (!checked || crc32(named) == u32::from_be_bytes(*sum)).then_some((*name, data, rest))
}

/// Returns false if a palette's length is not a multiple of 3, because the `png` crate (0.18.1)
/// panics in this case.
pub(crate) fn has_whole_palette(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(SIGNATURE.len()..).unwrap_or_default();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        if after.starts_with(b"PLTE") && !length.is_multiple_of(3) {
            return false;
        }
        rest = after.get(length.saturating_add(8)..).unwrap_or_default();
    }
    true
}

impl<'a> PngParts<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (name, header, mut rest) = chunk(bytes.strip_prefix(SIGNATURE)?)?;
        let (&width, sides) = header.split_first_chunk::<4>()?;
        let (&height, &[depth, colour_type, 0, 0, 0]) = sides.split_first_chunk::<4>()? else {
            return None;
        };
        let (width, height) = (u32::from_be_bytes(width), u32::from_be_bytes(height));
        let sides = 1..=MAX_SIDE_PIXELS;
        let known = matches!((colour_type, depth), (0 | 3, 1 | 2 | 4) | (0 | 2 | 3 | 4 | 6, 8));
        if &name != b"IHDR" || !known || !sides.contains(&width) || !sides.contains(&height) {
            return None;
        }
        let mut parts = Self {
            header,
            width: width as usize,
            height: height as usize,
            depth: usize::from(depth),
            colour_type,
            palette: &[],
            transparency: None,
            first_data: &[],
            more_data: Vec::new(),
        };
        loop {
            let (name, data, after) = chunk(rest)?;
            match &name {
                b"IDAT" => break,
                b"PLTE" if parts.palette.is_empty() && parts.transparency.is_none() => {
                    parts.palette = data;
                }
                b"tRNS" if parts.transparency.is_none() => parts.transparency = Some(data),
                b"acTL" | b"fcTL" => return None,
                _ if name[0] & ANCILLARY == 0 => return None,
                _ => {}
            }
            rest = after;
        }
        while let Some((name, data, after)) = chunk(rest) {
            if &name != b"IDAT" {
                break;
            }
            if parts.first_data.is_empty() {
                parts.first_data = data;
            } else {
                if parts.more_data.is_empty() {
                    parts.more_data.extend_from_slice(parts.first_data);
                }
                parts.more_data.extend_from_slice(data);
            }
            rest = after;
        }
        Some(parts)
    }

    pub(crate) fn sides(&self) -> (u32, u32) {
        (self.width as u32, self.height as u32)
    }

    pub(crate) fn data(&self) -> &[u8] {
        if self.more_data.is_empty() { self.first_data } else { &self.more_data }
    }

    fn rgba(&self, rows: &mut [u8], stride: usize, channels: usize) -> Option<Vec<u8>> {
        let inflate = |d: &mut Decompressor| d.zlib_decompress(self.data(), rows);
        if DECOMPRESSOR.with_borrow_mut(inflate).ok()? != rows.len() {
            return None;
        }
        unfilter(rows, stride, channels)?;
        self.expand(rows, stride)
    }

    fn expand(&self, rows: &[u8], stride: usize) -> Option<Vec<u8>> {
        if (self.colour_type, self.transparency) == (RGBA, None) {
            let mut rgba = Vec::with_capacity(self.width * self.height * 4);
            rows.chunks_exact(stride + 1).for_each(|row| rgba.extend_from_slice(&row[1..]));
            return Some(rgba);
        }
        let mut rgba = vec![0; self.width * self.height * 4];
        let targets = rgba.chunks_exact_mut(self.width * 4).map(|row| row.as_chunks_mut::<4>().0);
        let rows = targets.zip(rows.chunks_exact(stride + 1).map(|row| &row[1..]));
        match (self.colour_type, self.depth) {
            (GREY | INDEXED, depth) => {
                let colours = self.colours()?;
                let mut most = 0;
                for (target, row) in rows {
                    if depth == 8 {
                        for (pixel, &sample) in target.iter_mut().zip(row) {
                            *pixel = colours.rgba[usize::from(sample)];
                            most = most.max(sample);
                        }
                        continue;
                    }
                    for (x, pixel) in target.iter_mut().enumerate() {
                        let at = x * depth;
                        let sample = row[at / 8] >> (8 - depth - at % 8) & ((1 << depth) - 1);
                        *pixel = colours.rgba[usize::from(sample)];
                        most = most.max(sample);
                    }
                }
                (usize::from(most) < colours.count).then_some(rgba)
            }
            (RGB, _) => {
                let key = self.key::<3>()?;
                for (target, row) in rows {
                    for (pixel, &sample) in target.iter_mut().zip(row.as_chunks::<3>().0) {
                        let [red, green, blue] = sample;
                        let alpha = if key == Some(sample) { 0 } else { 255 };
                        *pixel = [red, green, blue, alpha];
                    }
                }
                Some(rgba)
            }
            _ if self.transparency.is_some() => None,
            _ => {
                for (target, row) in rows {
                    for (pixel, &[grey, alpha]) in target.iter_mut().zip(row.as_chunks::<2>().0) {
                        *pixel = [grey, grey, grey, alpha];
                    }
                }
                Some(rgba)
            }
        }
    }

    /// Returns the transparent colour in a tRNS chunk. The outer `None` means that the `png` crate
    /// must decode the file.
    fn key<const N: usize>(&self) -> Option<Option<[u8; N]>> {
        let Some(bytes) = self.transparency else { return Some(None) };
        let samples = bytes.as_chunks::<2>().0.iter().map(|sample| sample[1]);
        let key = samples.collect::<Vec<_>>().try_into().ok()?;
        (bytes.len() == 2 * N).then_some(Some(key))
    }

    fn colours(&self) -> Option<SampleColours> {
        let mut rgba = [[0, 0, 0, 255]; 256];
        if self.colour_type == GREY {
            if self.depth < 8 && self.transparency.is_some() {
                return None;
            }
            let most = (1usize << self.depth) - 1;
            for (sample, colour) in rgba.iter_mut().enumerate().take(most + 1) {
                *colour = [(sample * 255 / most) as u8; 4];
                colour[3] = 255;
            }
            if let Some([key]) = self.key::<1>()? {
                rgba[usize::from(key)][3] = 0;
            }
            return Some(SampleColours { rgba, count: 256 });
        }
        let (entries, rest) = self.palette.as_chunks::<3>();
        let transparency = self.transparency.unwrap_or_default();
        if !rest.is_empty() || entries.len() > 256 || transparency.len() > entries.len() {
            return None;
        }
        for (colour, &[red, green, blue]) in rgba.iter_mut().zip(entries) {
            *colour = [red, green, blue, 255];
        }
        for (colour, &alpha) in rgba.iter_mut().zip(transparency) {
            colour[3] = alpha;
        }
        Some(SampleColours { rgba, count: entries.len() })
    }
}

struct SampleColours {
    rgba: [[u8; 4]; 256],
    /// A sample value that is not below this number is an error.
    count: usize,
}

/// Reverses the filters of all rows (PNG 9). `step` is the number of bytes per pixel.
fn unfilter(rows: &mut [u8], stride: usize, step: usize) -> Option<()> {
    match step {
        1 => unfilter_by::<1>(rows, stride),
        2 => unfilter_by::<2>(rows, stride),
        3 => unfilter_by::<3>(rows, stride),
        _ => unfilter_by::<4>(rows, stride),
    }
}

fn unfilter_by<const N: usize>(rows: &mut [u8], stride: usize) -> Option<()> {
    let nothing = vec![0; stride];
    let mut above: &[u8] = &nothing;
    for row in rows.chunks_exact_mut(stride + 1) {
        let (filter, row) = row.split_first_mut()?;
        let (mut left, mut corner) = ([0; N], [0; N]);
        let pixels = row.as_chunks_mut::<N>().0.iter_mut().zip(above.as_chunks::<N>().0);
        match filter {
            0 => {}
            1 => {
                for (pixel, _) in pixels {
                    left = std::array::from_fn(|i| pixel[i].wrapping_add(left[i]));
                    *pixel = left;
                }
            }
            2 => {
                for (byte, above) in row.iter_mut().zip(above) {
                    *byte = byte.wrapping_add(*above);
                }
            }
            3 => {
                for (pixel, above) in pixels {
                    left =
                        std::array::from_fn(|i| pixel[i].wrapping_add(left[i].midpoint(above[i])));
                    *pixel = left;
                }
            }
            4 => {
                for (pixel, above) in pixels {
                    left = std::array::from_fn(|i| {
                        pixel[i].wrapping_add(paeth(left[i], above[i], corner[i]))
                    });
                    corner = *above;
                    *pixel = left;
                }
            }
            _ => return None,
        }
        above = row;
    }
    Some(())
}
