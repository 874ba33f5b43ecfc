//! Huffman codes of a JPEG file (ITU-T T.81, annexes C, F and K.2).

/// Maximum code length in bits.
const MAX_CODE_BITS: usize = 16;
const SYMBOLS: usize = 256;

/// A Huffman table as in a DHT segment: the number of codes with each length (BITS), and the
/// symbols in code order (HUFFVAL).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) lengths: [u8; MAX_CODE_BITS],
    pub(super) symbols: Vec<u8>,
}

#[derive(Debug, Clone)]
pub(super) struct Counts([u32; SYMBOLS]);

impl Default for Counts {
    fn default() -> Self {
        Self([0; SYMBOLS])
    }
}

impl Counts {
    pub(super) fn add(&mut self, symbol: u8) {
        self.0[usize::from(symbol)] += 1;
    }

    /// Computes the shortest codes. The code with only 1-bits remains unused, because the standard
    /// reserves it.
    pub(super) fn table(&self) -> Table {
        let mut counts = [0u64; SYMBOLS + 1];
        for (count, counted) in counts.iter_mut().zip(self.0) {
            *count = u64::from(counted);
        }
        counts[SYMBOLS] = 1;
        let sizes = code_sizes(counts);
        let mut bits = [0usize; SYMBOLS + 1];
        for &size in sizes.iter().filter(|size| **size > 0) {
            bits[size] += 1;
        }
        shorten(&mut bits);
        let mut symbols: Vec<u8> = (0..=u8::MAX).filter(|s| sizes[usize::from(*s)] > 0).collect();
        symbols.sort_by_key(|symbol| sizes[usize::from(*symbol)]);
        // After `shorten`, codes have at most 16 bits, and at most 255 codes have the same length.
        let lengths = std::array::from_fn(|i| bits[i + 1] as u8);
        Table { lengths, symbols }
    }
}

/// Returns each symbol's code length, or 0 for unused symbols (figure K.1).
fn code_sizes(mut counts: [u64; SYMBOLS + 1]) -> [usize; SYMBOLS + 1] {
    let mut sizes = [0; SYMBOLS + 1];
    let mut next: [Option<usize>; SYMBOLS + 1] = [None; SYMBOLS + 1];
    loop {
        let rarest = |but: Option<usize>| {
            let found = (0..=SYMBOLS).filter(|i| counts[*i] > 0 && Some(*i) != but);
            found.min_by_key(|i| (counts[*i], std::cmp::Reverse(*i)))
        };
        let Some(first) = rarest(None) else { return sizes };
        let Some(second) = rarest(Some(first)) else { return sizes };
        counts[first] += counts[second];
        counts[second] = 0;
        let mut at = first;
        sizes[at] += 1;
        while let Some(following) = next[at] {
            at = following;
            sizes[at] += 1;
        }
        next[at] = Some(second);
        at = second;
        sizes[at] += 1;
        while let Some(following) = next[at] {
            at = following;
            sizes[at] += 1;
        }
    }
}

/// Limits every code to 16 bits, then removes the longest code, which is reserved and has no symbol
/// (figure K.3).
fn shorten(bits: &mut [usize; SYMBOLS + 1]) {
    for length in (MAX_CODE_BITS + 1..=SYMBOLS).rev() {
        while bits[length] > 0 {
            let shorter = (1..length - 1).rev().find(|shorter| bits[*shorter] > 0).unwrap_or(1);
            bits[length] -= 2;
            bits[length - 1] += 1;
            bits[shorter + 1] += 2;
            bits[shorter] -= 1;
        }
    }
    if let Some(longest) = (1..=MAX_CODE_BITS).rev().find(|length| bits[*length] > 0) {
        bits[longest] -= 1;
    }
}

#[derive(Debug)]
pub(super) struct Codes([(u16, u8); SYMBOLS]);

impl Codes {
    pub(super) fn of(table: &Table) -> Self {
        let mut codes = [(0, 0); SYMBOLS];
        let mut code = 0u32;
        let mut symbols = table.symbols.iter();
        for (length, &count) in (1..).zip(&table.lengths) {
            for &symbol in symbols.by_ref().take(usize::from(count)) {
                codes[usize::from(symbol)] = (code as u16, length);
                code += 1;
            }
            code <<= 1;
        }
        Self(codes)
    }
}

#[derive(Debug, Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    bits: u32,
    count: u32,
}

impl BitWriter {
    pub(super) fn symbol(&mut self, codes: &Codes, symbol: u8) {
        let (code, length) = codes.0[usize::from(symbol)];
        self.write(u32::from(code), u32::from(length));
    }

    /// `length` is at most 16.
    pub(super) fn write(&mut self, value: u32, length: u32) {
        self.bits = self.bits << length | (value & ((1 << length) - 1));
        self.count += length;
        while self.count >= 8 {
            self.count -= 8;
            let byte = (self.bits >> self.count) as u8;
            self.bytes.push(byte);
            // 0xff starts a marker, so a zero byte must follow if 0xff is data.
            if byte == 0xff {
                self.bytes.push(0);
            }
        }
        self.bits &= (1 << self.count) - 1;
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.write(0xff, 8 - self.count);
        }
        self.bytes
    }
}
