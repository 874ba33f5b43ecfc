//! The PNGs that icons mostly are, in half the time: 8 bits and less, not interlaced, one picture.
//!
//! Invariant: it answers what the `png` crate would, or `None`: then that crate is asked, which
//! has the last word on all that is rare or wrong. Checks all that it uses: the order and sums of
//! chunks, the length and the sum of the rows, that indices are in the palette.

use std::cell::RefCell;

use libdeflater::{Decompressor, crc32};

use super::MAX_SIDE_PIXELS;
use crate::pixels::Pixels;
use crate::png::SIGNATURE;

/// Bit of a chunk's first letter that says that a reader may skip it.
const ANCILLARY: u8 = 0x20;

/// Rows of a file that are kept for the next: a new buffer costs a page fault a page.
const KEPT_BYTES: usize = 4 << 20;

thread_local! {
    /// It holds nothing of the last file.
    static DECOMPRESSOR: RefCell<Decompressor> = RefCell::new(Decompressor::new());
    /// Room for rows. What is in it is of the last file, until it is overwritten.
    static ROWS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What is needed of a file.
pub(crate) struct Parts<'a> {
    /// The data of IHDR.
    pub(crate) header: &'a [u8],
    width: usize,
    height: usize,
    depth: usize,
    pub(crate) colour_type: u8,
    pub(crate) palette: &'a [u8],
    pub(crate) transparency: Option<&'a [u8]>,
    /// All of IDAT; copied where it is in several chunks.
    first_data: &'a [u8],
    more_data: Vec<u8>,
}

/// Decodes `bytes`, `None` where the full decoder is to be asked.
pub(crate) fn decode(bytes: &[u8]) -> Option<Pixels> {
    let parts = Parts::read(bytes)?;
    let channels = match parts.colour_type {
        0 | 3 => 1,
        2 => 3,
        4 => 2,
        _ => 4,
    };
    let stride = (parts.width * parts.depth * channels).div_ceil(8);
    let mut rows = ROWS.take();
    rows.resize((stride + 1) * parts.height, 0);
    let rgba = parts.rgba(&mut rows, stride, channels);
    if rows.capacity() <= KEPT_BYTES {
        ROWS.set(rows);
    }
    Pixels::new(parts.width as u32, parts.height as u32, rgba?)
}

/// The next chunk and what follows it; its sum is checked unless a reader may skip it.
fn chunk(bytes: &[u8]) -> Option<([u8; 4], &[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = u32::from_be_bytes(*length) as usize;
    let named = rest.get(..length.checked_add(4)?)?;
    let (sum, rest) = rest[named.len()..].split_first_chunk::<4>()?;
    let (name, data) = named.split_first_chunk::<4>()?;
    let checked = name[0] & ANCILLARY == 0 || name == b"tRNS";
    (!checked || crc32(named) == u32::from_be_bytes(*sum)).then_some((*name, data, rest))
}

/// False where a palette is not of whole entries, at which the `png` crate panics (0.18.1).
pub(crate) fn has_whole_palette(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(SIGNATURE.len()..).unwrap_or_default();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        if after.starts_with(b"PLTE") && !length.is_multiple_of(3) {
            return false;
        }
        // Name and sum.
        rest = after.get(length.saturating_add(8)..).unwrap_or_default();
    }
    true
}

impl<'a> Parts<'a> {
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
                // Of an animation the full decoder knows the first frame.
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

    /// The compressed rows.
    pub(crate) fn data(&self) -> &[u8] {
        if self.more_data.is_empty() { self.first_data } else { &self.more_data }
    }

    /// RGBA, by way of `rows`, which are exactly as long as they must be.
    fn rgba(&self, rows: &mut [u8], stride: usize, channels: usize) -> Option<Vec<u8>> {
        let inflate = |d: &mut Decompressor| d.zlib_decompress(self.data(), rows);
        if DECOMPRESSOR.with_borrow_mut(inflate).ok()? != rows.len() {
            return None;
        }
        unfilter(rows, stride, channels)?;
        self.expand(rows, stride)
    }

    /// Rows with filter bytes in front, unfiltered -> RGBA.
    fn expand(&self, rows: &[u8], stride: usize) -> Option<Vec<u8>> {
        if (self.colour_type, self.transparency) == (6, None) {
            let mut rgba = Vec::with_capacity(self.width * self.height * 4);
            rows.chunks_exact(stride + 1).for_each(|row| rgba.extend_from_slice(&row[1..]));
            return Some(rgba);
        }
        let mut rgba = vec![0; self.width * self.height * 4];
        let targets = rgba.chunks_exact_mut(self.width * 4).map(|row| row.as_chunks_mut::<4>().0);
        let rows = targets.zip(rows.chunks_exact(stride + 1).map(|row| &row[1..]));
        match (self.colour_type, self.depth) {
            (0 | 3, depth) => {
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
            (2, _) => {
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

    /// The one transparent colour, by the low bytes of its samples.
    fn key<const N: usize>(&self) -> Option<Option<[u8; N]>> {
        let Some(bytes) = self.transparency else { return Some(None) };
        let samples = bytes.as_chunks::<2>().0.iter().map(|sample| sample[1]);
        let key = samples.collect::<Vec<_>>().try_into().ok()?;
        (bytes.len() == 2 * N).then_some(Some(key))
    }

    /// What each sample stands for.
    fn colours(&self) -> Option<Colours> {
        let mut rgba = [[0, 0, 0, 255]; 256];
        if self.colour_type == 0 {
            if self.depth < 8 && self.transparency.is_some() {
                return None;
            }
            let most = (1usize << self.depth) - 1;
            for (sample, colour) in rgba.iter_mut().enumerate().take(most + 1) {
                // At most 255.
                *colour = [(sample * 255 / most) as u8; 4];
                colour[3] = 255;
            }
            if let Some([key]) = self.key::<1>()? {
                rgba[usize::from(key)][3] = 0;
            }
            return Some(Colours { rgba, count: 256 });
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
        Some(Colours { rgba, count: entries.len() })
    }
}

struct Colours {
    rgba: [[u8; 4]; 256],
    /// Samples from here on are none.
    count: usize,
}

/// Undoes the filters of all rows (PNG 9); each keeps its filter byte.
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

/// Of three neighbours the one nearest to left + above - corner (PNG 9.4).
#[inline(always)]
pub(crate) fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, above, corner].map(i16::from);
    // Distances of the estimate a + b - c from each, without the estimate itself.
    let (to_a, to_b, to_c) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
    let nearer = if to_b <= to_c { above } else { corner };
    if to_a <= to_b && to_a <= to_c { left } else { nearer }
}
