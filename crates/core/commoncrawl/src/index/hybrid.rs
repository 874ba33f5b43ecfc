//! Reads levels and dictionary codes (parquet-format, Encodings.md, "RLE / bit-packing hybrid").
//!
//! A run is `varint header, data`. An even header means `header / 2` equal values. An odd header
//! means `header / 2` groups with eight values each. A value has `bit_width` bits, lowest bit
//! first.

/// A position among the values. The caller must pass the same bytes to each call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hybrid {
    bit_width: u32,
    at: usize,
    run: Run,
}

#[derive(Debug, Clone, Copy)]
enum Run {
    Equal {
        left: u64,
        value: u32,
    },
    Packed {
        left: u64,
        /// The next value's offset in bits.
        bit: u64,
    },
}

#[derive(Debug)]
pub(super) struct OutOfValues;

impl Hybrid {
    /// `bit_width` is at most 32.
    pub(super) fn new(bit_width: u8, at: usize) -> Self {
        let run = Run::Equal { left: 0, value: 0 };
        Self { bit_width: u32::from(bit_width).min(32), at, run }
    }

    fn refill(&mut self, bytes: &[u8]) -> Result<(), OutOfValues> {
        while matches!(self.run, Run::Equal { left: 0, .. } | Run::Packed { left: 0, .. }) {
            let header = self.varint(bytes)?;
            if header & 1 == 0 {
                let width = self.bit_width.div_ceil(8) as usize;
                let end = self.at.checked_add(width).ok_or(OutOfValues)?;
                let stored = bytes.get(self.at..end).ok_or(OutOfValues)?;
                let value =
                    stored.iter().rev().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
                self.at = end;
                self.run = Run::Equal { left: header >> 1, value };
            } else {
                let groups = header >> 1;
                let bit = (self.at as u64).checked_mul(8).ok_or(OutOfValues)?;
                let data = groups.checked_mul(self.bit_width.into()).ok_or(OutOfValues)?;
                // Some writers omit the last group's unused values.
                let here = bytes.len().saturating_sub(self.at) as u64;
                let whole = groups.checked_mul(8).ok_or(OutOfValues)?;
                let left = match here.min(data).checked_mul(8) {
                    Some(bits) if data > here => bits / u64::from(self.bit_width.max(1)),
                    Some(_) => whole,
                    None => return Err(OutOfValues),
                };
                self.at += usize::try_from(here.min(data)).map_err(|_| OutOfValues)?;
                self.run = Run::Packed { left, bit };
            }
        }
        Ok(())
    }

    fn varint(&mut self, bytes: &[u8]) -> Result<u64, OutOfValues> {
        let mut value = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = *bytes.get(self.at).ok_or(OutOfValues)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(OutOfValues)
    }

    fn packed(&self, bytes: &[u8], bit: u64) -> u32 {
        let first = usize::try_from(bit / 8).unwrap_or(usize::MAX);
        let word = match first.checked_add(8).and_then(|end| bytes.get(first..end)) {
            Some(eight) => eight.try_into().map_or(0, u64::from_le_bytes),
            None => {
                let rest = bytes.get(first..).unwrap_or_default();
                rest.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
            }
        };
        let mask = (1_u64 << self.bit_width) - 1;
        // A 32-bit value shifted by up to 7 bits fits into the word, and the mask keeps at most 32
        // bits.
        (word >> (bit % 8) & mask) as u32
    }

    pub(super) fn next(&mut self, bytes: &[u8]) -> Result<u32, OutOfValues> {
        self.refill(bytes)?;
        match &mut self.run {
            Run::Equal { left, value } => {
                *left -= 1;
                Ok(*value)
            }
            Run::Packed { left, bit } => {
                let here = *bit;
                *left -= 1;
                *bit += u64::from(self.bit_width);
                Ok(self.packed(bytes, here))
            }
        }
    }

    pub(super) fn skip(&mut self, bytes: &[u8], mut count: u64) -> Result<(), OutOfValues> {
        while count > 0 {
            self.refill(bytes)?;
            match &mut self.run {
                Run::Equal { left, .. } => {
                    let passed = count.min(*left);
                    *left -= passed;
                    count -= passed;
                }
                Run::Packed { left, bit } => {
                    let passed = count.min(*left);
                    *left -= passed;
                    *bit += passed * u64::from(self.bit_width);
                    count -= passed;
                }
            }
        }
        Ok(())
    }

    pub(super) fn count_ones(&mut self, bytes: &[u8], mut count: u64) -> Result<u64, OutOfValues> {
        let mut ones = 0;
        while count > 0 {
            self.refill(bytes)?;
            match self.run {
                Run::Equal { left, value } => {
                    let passed = count.min(left);
                    ones += passed * u64::from(value & 1);
                    self.run = Run::Equal { left: left - passed, value };
                    count -= passed;
                }
                Run::Packed { left, bit } => {
                    // After the shift, a word contains at least 57 bits.
                    let passed = count.min(left).min(56);
                    let first = usize::try_from(bit / 8).unwrap_or(usize::MAX);
                    let rest = bytes.get(first..).unwrap_or_default();
                    let eight = rest.iter().take(8).rev();
                    let word = eight.fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
                    let wanted = word >> (bit % 8) & ((1 << passed) - 1);
                    ones += u64::from(wanted.count_ones());
                    self.run = Run::Packed { left: left - passed, bit: bit + passed };
                    count -= passed;
                }
            }
        }
        Ok(ones)
    }

    /// Skips values up to the first `wanted` one, but at most `count`. Returns how many precede it.
    pub(super) fn find(
        &mut self,
        bytes: &[u8],
        wanted: u32,
        count: u64,
    ) -> Result<Option<u64>, OutOfValues> {
        let mut passed = 0;
        while passed < count {
            self.refill(bytes)?;
            match self.run {
                Run::Equal { left, value } => {
                    if value == wanted {
                        self.run = Run::Equal { left: left - 1, value };
                        return Ok(Some(passed));
                    }
                    let here = left.min(count - passed);
                    self.run = Run::Equal { left: left - here, value };
                    passed += here;
                }
                Run::Packed { left, bit } => {
                    let here = left.min(count - passed);
                    let width = u64::from(self.bit_width);
                    for step in 0..here {
                        if self.packed(bytes, bit + step * width) == wanted {
                            let seen = step + 1;
                            self.run = Run::Packed { left: left - seen, bit: bit + seen * width };
                            return Ok(Some(passed + step));
                        }
                    }
                    self.run = Run::Packed { left: left - here, bit: bit + here * width };
                    passed += here;
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(values: &[u32], bit_width: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut rest = values;
        while !rest.is_empty() {
            let equal = rest.iter().take_while(|value| **value == rest[0]).count();
            if equal >= 8 || rest.len() < 8 {
                bytes.push(u8::try_from(equal.min(60) * 2).unwrap());
                let stored = rest[0].to_le_bytes();
                bytes.extend_from_slice(&stored[..bit_width.div_ceil(8) as usize]);
                rest = &rest[equal.min(60)..];
            } else {
                bytes.push(3);
                let word = (0..8)
                    .fold(0_u128, |word, i| word | u128::from(rest[i]) << (i as u32 * bit_width));
                bytes.extend_from_slice(&word.to_le_bytes()[..bit_width as usize]);
                rest = &rest[8..];
            }
        }
        bytes
    }

    fn sequences() -> impl Strategy<Value = (u32, Vec<u32>)> {
        (1_u32..=13).prop_flat_map(|width| {
            let stretch = (0..1_u32 << width, 1_usize..20);
            let stretches = prop::collection::vec(stretch, 0..30);
            stretches.prop_map(move |list| {
                (width, list.into_iter().flat_map(|(value, n)| vec![value; n]).collect())
            })
        })
    }

    proptest! {
        #[test]
        fn reads_and_skips_give_what_was_encoded((width, values) in sequences(), step in 0_u64..9) {
            let bytes = encode(&values, width);
            let mut hybrid = Hybrid::new(width as u8, 0);
            let mut at = 0;
            while at < values.len() {
                prop_assert_eq!(hybrid.next(&bytes).unwrap(), values[at]);
                let passed = step.min((values.len() - at - 1) as u64);
                hybrid.skip(&bytes, passed).unwrap();
                at += 1 + passed as usize;
            }
        }

        #[test]
        fn finding_stops_at_each_place_of_the_value((width, values) in sequences()) {
            let bytes = encode(&values, width);
            let wanted = values.first().copied().unwrap_or(0);
            let expected: Vec<u64> =
                (0..).zip(&values).filter(|(_, value)| **value == wanted).map(|(i, _)| i).collect();
            let mut hybrid = Hybrid::new(width as u8, 0);
            let mut found = Vec::new();
            let mut at = 0;
            let count = values.len() as u64;
            while let Some(before) = hybrid.find(&bytes, wanted, count - at).unwrap() {
                found.push(at + before);
                at += before + 1;
            }
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn ones_are_counted(bits in prop::collection::vec(0_u32..2, 0..300), first in 0_u64..300) {
            let bytes = encode(&bits, 1);
            let first = first.min(bits.len() as u64);
            let mut hybrid = Hybrid::new(1, 0);
            let ones = |bits: &[u32]| bits.iter().map(|bit| u64::from(*bit)).sum::<u64>();
            let (head, tail) = bits.split_at(first as usize);
            prop_assert_eq!(hybrid.count_ones(&bytes, first).unwrap(), ones(head));
            prop_assert_eq!(hybrid.count_ones(&bytes, tail.len() as u64).unwrap(), ones(tail));
        }

        #[test]
        fn any_bytes_give_a_value_or_an_end(bytes: Vec<u8>, width in 0_u8..=32, wanted: u32) {
            let mut hybrid = Hybrid::new(width, 0);
            let _ = (0..10_000).try_for_each(|_| hybrid.next(&bytes).map(drop));
            let _ = Hybrid::new(width, 0).skip(&bytes, 1 << 20);
            let _ = Hybrid::new(width, 0).find(&bytes, wanted, 1 << 20);
            let _ = Hybrid::new(1, 0).count_ones(&bytes, 1 << 20);
        }
    }
}
