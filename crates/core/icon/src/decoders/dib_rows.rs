//! Decodes a DIB's pixel data. If the data end early, the complete rows are drawn and the other
//! rows are transparent.

pub(crate) struct DibRows {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) top_down: bool,
    pub(crate) bits: usize,
    pub(crate) palette: Vec<[u8; 3]>,
    pub(crate) masks: [u32; 4],
}

impl DibRows {
    fn row(&self, stored: usize) -> usize {
        if self.top_down { stored } else { self.height - 1 - stored }
    }

    /// Returns the number of complete rows in `length` bytes. The last row counts without its
    /// padding, because many files omit it.
    pub(crate) fn received(&self, length: usize) -> usize {
        let stride = (self.width * self.bits).div_ceil(32) * 4;
        let row_bytes = (self.width * self.bits).div_ceil(8);
        let last = usize::from(length % stride >= row_bytes && length / stride + 1 == self.height);
        (length / stride + last).min(self.height)
    }

    /// An index beyond the palette is black, as in browsers.
    fn colour(&self, index: usize) -> [u8; 4] {
        let [red, green, blue] = self.palette.get(index).copied().unwrap_or_default();
        [red, green, blue, 255]
    }
}

#[derive(Clone, Copy)]
struct Channel {
    shift: u32,
    most: u32,
}

impl Channel {
    fn new(mask: u32) -> Option<Self> {
        let shift = mask.trailing_zeros() % 32;
        let most = mask >> shift;
        (most.wrapping_add(1) & most == 0).then_some(Self { shift, most })
    }

    /// Extracts this channel and scales it to 0..=255. Returns `absent` if the mask is empty.
    fn of(self, pixel: u32, absent: u8) -> u8 {
        if self.most == 0 {
            return absent;
        }
        let (value, most) = (u64::from(pixel >> self.shift & self.most), u64::from(self.most));
        ((value * 255 + most / 2) / most) as u8
    }
}

/// Decodes all complete uncompressed rows. Rows are padded to a multiple of 4 bytes.
///
/// # Errors
/// Returns an error if no row is complete, or if a mask's bits are not contiguous.
pub(crate) fn decode_rows(rows: &DibRows, data: &[u8]) -> Result<Vec<u8>, &'static str> {
    let stride = (rows.width * rows.bits).div_ceil(32) * 4;
    let row_bytes = (rows.width * rows.bits).div_ceil(8);
    let received = rows.received(data.len());
    if received == 0 {
        return Err("pixel data end early");
    }
    let mut channels = [Channel { shift: 0, most: 0 }; 4];
    for (channel, mask) in channels.iter_mut().zip(rows.masks) {
        *channel = Channel::new(mask).ok_or("a colour mask whose bits are not contiguous")?;
    }
    let mut rgba = vec![0; rows.width * rows.height * 4];
    for stored in 0..received {
        let source = &data[stored * stride..][..row_bytes];
        let target = &mut rgba[rows.row(stored) * rows.width * 4..][..rows.width * 4];
        for (x, pixel) in target.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *pixel = match rows.bits {
                16 => {
                    packed(&channels, u32::from(source[2 * x + 1]) << 8 | u32::from(source[2 * x]))
                }
                24 => [source[3 * x + 2], source[3 * x + 1], source[3 * x], 255],
                32 => {
                    let bytes = &source[4 * x..4 * x + 4];
                    packed(&channels, u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
                }
                bits => {
                    let at = x * bits;
                    let byte = usize::from(source[at / 8]);
                    rows.colour(byte >> (8 - bits - at % 8) & ((1 << bits) - 1))
                }
            };
        }
    }
    Ok(rgba)
}

fn packed(channels: &[Channel; 4], pixel: u32) -> [u8; 4] {
    let [red, green, blue, alpha] = channels;
    [red.of(pixel, 0), green.of(pixel, 0), blue.of(pixel, 0), alpha.of(pixel, 255)]
}

/// Decodes run-length encoding with 4 or 8 bits per pixel. Returns the pixels and the number of
/// finished rows. As in Chromium, pixels that no run sets are black, and unfinished rows are
/// transparent.
///
/// # Errors
/// Returns an error if no row is finished.
pub(crate) fn decode_rle(rows: &DibRows, data: &[u8]) -> Result<(Vec<u8>, usize), &'static str> {
    let black = [0, 0, 0, 255].repeat(rows.width * rows.height);
    let mut canvas = RleCanvas { rows, rgba: black, x: 0, stored: 0 };
    let mut rest = data;
    while canvas.stored < rows.height {
        let Some(after) = canvas.run(rest) else { break };
        rest = after;
    }
    let received = canvas.stored.min(rows.height);
    if received == 0 {
        return Err("run-length data end early");
    }
    for stored in received..rows.height {
        canvas.rgba[rows.row(stored) * rows.width * 4..][..rows.width * 4].fill(0);
    }
    Ok((canvas.rgba, received))
}

fn literal_index(bytes: &[u8], index: usize, bits: usize) -> usize {
    let byte = usize::from(bytes[index * bits / 8]);
    if bits == 8 { byte } else { byte >> (4 - index % 2 * 4) & 15 }
}

struct RleCanvas<'a> {
    rows: &'a DibRows,
    rgba: Vec<u8>,
    x: usize,
    stored: usize,
}

impl RleCanvas<'_> {
    fn run<'d>(&mut self, data: &'d [u8]) -> Option<&'d [u8]> {
        let ([count, value], rest) = data.split_first_chunk::<2>()?;
        let bits = self.rows.bits;
        match (*count, *value) {
            (0, 0) => (self.x, self.stored) = (0, self.stored + 1),
            (0, 1) => self.stored = self.rows.height,
            (0, 2) => {
                let ([right, up], after) = rest.split_first_chunk::<2>()?;
                self.x += usize::from(*right);
                self.stored += usize::from(*up);
                return Some(after);
            }
            (0, count) => {
                let count = usize::from(count);
                let bytes = (count * bits).div_ceil(8);
                let literal = rest.get(..bytes)?;
                for index in 0..count {
                    self.put(literal_index(literal, index, bits));
                }
                return Some(rest.get(bytes.next_multiple_of(2)..).unwrap_or_default());
            }
            (count, value) => {
                for index in 0..usize::from(count) {
                    self.put(literal_index(&[value], index % (8 / bits), bits));
                }
            }
        }
        Some(rest)
    }

    fn put(&mut self, index: usize) {
        if self.x < self.rows.width && self.stored < self.rows.height {
            let at = (self.rows.row(self.stored) * self.rows.width + self.x) * 4;
            self.rgba[at..at + 4].copy_from_slice(&self.rows.colour(index));
        }
        self.x += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(bits: usize, width: usize, height: usize) -> DibRows {
        let palette = (0..16).map(|index| [index * 16, 0, index]).collect();
        DibRows { width, height, top_down: true, bits, palette, masks: [0xF800, 0x07E0, 0x1F, 0] }
    }

    #[test]
    fn each_depth_reads_its_bits_from_the_left() {
        let reds = |bits, data: &[u8]| -> Vec<u8> {
            let rgba = decode_rows(&rows(bits, 4, 1), data).unwrap();
            rgba.chunks(4).map(|pixel| pixel[0]).collect()
        };
        assert_eq!(reds(1, &[0b1010_0000]), [16, 0, 16, 0]);
        assert_eq!(reds(2, &[0b1101_1000]), [48, 16, 32, 0]);
        assert_eq!(reds(4, &[0x1F, 0x20]), [16, 240, 32, 0]);
        assert_eq!(reds(8, &[1, 2, 3, 99]), [16, 32, 48, 0]);
        assert_eq!(reds(16, &[0, 0xF8, 0, 0, 0xFF, 0x07, 0, 0x80]), [255, 0, 0, 132]);
        let alphas = |length| -> Vec<u8> {
            let rgba = decode_rows(&rows(8, 4, 2), &[0; 8][..length]).unwrap();
            rgba.chunks(4).map(|pixel| pixel[3]).collect()
        };
        assert_eq!(alphas(8), [255; 8]);
        assert_eq!(alphas(7), [255, 255, 255, 255, 0, 0, 0, 0]);
        assert!(decode_rows(&rows(8, 4, 2), &[0; 3]).is_err());
    }

    #[test]
    fn run_lengths_draw_runs_literals_and_deltas() {
        let reds = |rows: &DibRows, data: &[u8]| -> Vec<u8> {
            let (rgba, received) = decode_rle(rows, data).unwrap();
            let rows_of_alpha: Vec<bool> =
                rgba.chunks(4 * rows.width).map(|row| row.chunks(4).all(|p| p[3] == 255)).collect();
            assert_eq!(
                rows_of_alpha,
                (0..rows.height).map(|row| row < received).collect::<Vec<_>>()
            );
            rgba.chunks(4).map(|pixel| pixel[0]).collect()
        };
        let data = [2, 0x12, 0, 4, 0x34, 0x56, 0, 0, 0, 2, 1, 0, 1, 0x70, 0, 1];
        assert_eq!(reds(&rows(4, 6, 2), &data), [16, 32, 48, 64, 80, 96, 0, 112, 0, 0, 0, 0]);
        let small = rows(8, 2, 2);
        assert_eq!(reds(&small, &[1, 1, 0, 0, 2, 1]), [16, 0, 0, 0]);
        assert_eq!(reds(&small, &[2, 1, 0, 2, 0, 1]), [16, 16, 0, 0]);
        assert_eq!(reds(&small, &[0, 1]), [0; 4]);
        assert_eq!(reds(&small, &[9, 1, 0, 0, 0, 4, 1, 2, 3, 4, 0, 1]), [16, 16, 16, 32]);
        assert_eq!(reds(&small, &[0, 2, 255, 0, 2, 1, 0, 0, 2, 2, 0, 1]), [0, 0, 32, 32]);
        assert_eq!(reds(&small, &[2, 1, 0, 2, 255, 255, 2, 2]), [16, 16, 0, 0]);
        for unfinished in [&[4][..], &[2, 1], &[0, 2, 1]] {
            assert!(decode_rle(&rows(8, 4, 2), unfinished).is_err());
        }
    }
}
