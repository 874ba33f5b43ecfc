//! Reads Huffman codes and the bits of a scan (ITU-T T.81, annexes C and F) as libjpeg does: an
//! invalid code gives the symbol 0, and all bits after a marker are 0.

use super::input::{Input, Stop};

const LOOKUP_BITS: u32 = 8;
const FULL_BITS: u32 = 57;
/// Maximum code length in bits.
const MAX_BITS: usize = 16;

#[derive(Debug, Clone)]
pub(super) struct Huffman {
    /// The length and symbol of the code that each sequence of `LOOKUP_BITS` bits starts with. The
    /// length is 0 if the code is longer.
    lookup: [(u8, u8); 1 << LOOKUP_BITS],
    /// The last code with each length, or -1. The entry for length 17 is greater than every code.
    last: [i32; MAX_BITS + 2],
    /// For each length, the number to add to a code to get the index of its symbol.
    offset: [i32; MAX_BITS + 1],
    symbols: [u8; 256],
}

impl Huffman {
    /// `counts[i]` is the number of codes of length `i + 1`. `None` if more codes of a length are
    /// declared than exist. The code with only 1-bits is reserved.
    pub(super) fn new(counts: &[u8; MAX_BITS], symbols: &[u8]) -> Option<Self> {
        let mut table = Self {
            lookup: [(0, 0); 1 << LOOKUP_BITS],
            last: [-1; MAX_BITS + 2],
            offset: [0; MAX_BITS + 1],
            symbols: [0; 256],
        };
        table.symbols.get_mut(..symbols.len())?.copy_from_slice(symbols);
        let (mut code, mut first) = (0, 0);
        for (length, &count) in (1..).zip(counts) {
            let count = usize::from(count);
            table.offset[length] = first as i32 - code;
            for &symbol in symbols.get(first..first + count)? {
                if let Some(free) = LOOKUP_BITS.checked_sub(length as u32) {
                    let start = (code as usize) << free;
                    let entries = table.lookup.get_mut(start..start + (1 << free))?;
                    entries.fill((length as u8, symbol));
                }
                code += 1;
            }
            if count > 0 {
                table.last[length] = code - 1;
                if code >= 1 << length {
                    return None;
                }
            }
            first += count;
            code <<= 1;
        }
        table.last[MAX_BITS + 1] = i32::MAX;
        Some(table)
    }

    pub(super) fn within(&self, most: u8) -> bool {
        self.symbols.iter().all(|&symbol| symbol <= most)
    }
}

#[derive(Debug)]
pub(super) struct ScanBits<'s, 'a> {
    pub(super) input: &'s mut Input<'a>,
    buffer: u64,
    left: u32,
    /// True if a marker appeared too early. Blocks then do not change until the next restart
    /// marker.
    pub(super) starved: bool,
}

impl<'s, 'a> ScanBits<'s, 'a> {
    pub(super) fn new(input: &'s mut Input<'a>) -> Self {
        Self { input, buffer: 0, left: 0, starved: false }
    }

    pub(super) fn restart(&mut self, expected: u8) -> Result<(), Stop> {
        self.left = 0;
        self.input.restart(expected)?;
        self.starved &= self.input.marker.is_some();
        Ok(())
    }

    /// Fills the buffer, and appends zeros if a marker follows before `wanted` bits are available.
    /// As in libjpeg, this returns [`Stop::Cut`] if the file ends before the buffer is full, even
    /// if `wanted` bits are available.
    #[inline(never)]
    fn fill(&mut self, wanted: u32) -> Result<(), Stop> {
        while self.input.marker.is_none() && self.left < FULL_BITS {
            if let Some(next) = self.input.rest().first_chunk::<8>()
                && !next.contains(&0xFF)
            {
                let bytes = (64 - self.left) / 8;
                let next = u64::from_be_bytes(*next);
                self.buffer = match bytes {
                    8 => next,
                    _ => self.buffer << (8 * bytes) | next >> (64 - 8 * bytes),
                };
                self.left += 8 * bytes;
                self.input.skip(bytes as usize);
                break;
            }
            let mut byte = self.input.byte()?;
            if byte == 0xFF {
                while byte == 0xFF {
                    byte = self.input.byte()?;
                }
                if byte != 0 {
                    self.input.marker = Some(byte);
                    break;
                }
                byte = 0xFF;
            }
            self.buffer = self.buffer << 8 | u64::from(byte);
            self.left += 8;
        }
        if wanted > self.left {
            self.starved = true;
            self.input.starved = true;
            self.buffer <<= FULL_BITS - self.left;
            self.left = FULL_BITS;
        }
        Ok(())
    }

    /// `count` is at most 16.
    #[inline]
    pub(super) fn take(&mut self, count: u32) -> Result<i32, Stop> {
        if self.left < count {
            self.fill(count)?;
        }
        self.left -= count;
        Ok((self.buffer >> self.left) as i32 & ((1 << count) - 1))
    }

    /// Reads a signed number, which is positive if its first bit is 1 (T.81, F.2.2.1).
    #[inline]
    pub(super) fn signed(&mut self, count: u32) -> Result<i32, Stop> {
        let number = self.take(count)?;
        let positive = number >> count.saturating_sub(1) != 0;
        Ok(if positive { number } else { number - (1 << count) + 1 })
    }

    #[inline]
    pub(super) fn symbol(&mut self, table: &Huffman) -> Result<u8, Stop> {
        if self.left < LOOKUP_BITS {
            self.fill(0)?;
            if self.left < LOOKUP_BITS {
                return self.long_symbol(table, 1);
            }
        }
        let next = (self.buffer >> (self.left - LOOKUP_BITS)) as u8;
        let (length, symbol) = table.lookup[usize::from(next)];
        if length == 0 {
            return self.long_symbol(table, LOOKUP_BITS + 1);
        }
        self.left -= u32::from(length);
        Ok(symbol)
    }

    /// An invalid code gives the symbol 0.
    #[inline(never)]
    fn long_symbol(&mut self, table: &Huffman, length: u32) -> Result<u8, Stop> {
        let mut code = self.take(length)?;
        let mut length = length as usize;
        while code > table.last[length] {
            code = code << 1 | self.take(1)?;
            length += 1;
        }
        let Some(offset) = table.offset.get(length) else { return Ok(0) };
        Ok(table.symbols[(code + offset) as usize & 0xFF])
    }
}
