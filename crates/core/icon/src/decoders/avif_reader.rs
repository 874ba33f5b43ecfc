//! Reads the boxes of an ISO base media file (ISO/IEC 14496-12), and single bits. Functions return
//! `None` if the bytes end too early.

pub(crate) type Name = [u8; 4];

#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn array<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn sized(&mut self, bytes: u8) -> Option<u64> {
        match bytes {
            0 => Some(0),
            4 => self.u32().map(u64::from),
            8 => self.array().map(u64::from_be_bytes),
            _ => None,
        }
    }

    pub(crate) fn id(&mut self, is_long: bool) -> Option<u32> {
        if is_long { self.u32() } else { self.u16().map(u32::from) }
    }

    pub(crate) fn version_and_flags(&mut self) -> Option<(u8, u32)> {
        let [version, flags @ ..] = self.array::<4>()?;
        Some((version, u32::from_be_bytes([0, flags[0], flags[1], flags[2]])))
    }

    pub(crate) fn next_box(&mut self) -> Option<(Name, &'a [u8])> {
        let mut reader = *self;
        let size = reader.u32()?;
        let name = reader.array()?;
        let length = match size {
            0 => reader.0.len(),
            1 => usize::try_from(reader.sized(8)?.checked_sub(16)?).ok()?,
            _ => size.checked_sub(8)? as usize,
        };
        let (body, rest) = reader.0.split_at_checked(length)?;
        self.0 = rest;
        Some((name, body))
    }

    /// Returns the body of the first box with this name. Searches only the boxes before the first
    /// truncated one.
    pub(crate) fn find_box(mut self, name: &Name) -> Option<&'a [u8]> {
        self.boxes().find(|(found, _)| found == name).map(|(_, body)| body)
    }

    pub(crate) fn boxes(&mut self) -> impl Iterator<Item = (Name, &'a [u8])> {
        std::iter::from_fn(|| self.next_box())
    }
}

#[derive(Debug)]
pub(crate) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        let byte = self.bytes.get(self.at / 8)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit == 1)
    }

    pub(crate) fn number(&mut self, bits: u32) -> Option<u32> {
        let mut number = 0;
        for _ in 0..bits {
            number = number << 1 | u32::from(self.flag()?);
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_boxes_are_not_read() {
        let long = b"\0\0\0\x01long\0\0\0\0\0\0\0\x12xy\0\0\0\0lastz";
        assert_eq!(Reader(long).find_box(b"long"), Some(b"xy".as_slice()));
        assert_eq!(Reader(long).find_box(b"last"), Some(b"z".as_slice()));
        let none: [&[u8]; 5] = [
            b"\0\0\0\x09name",
            b"\0\0\0\x07name",
            b"\0\0\0\x01name\0\0\0\0\0\0\0\x0f",
            b"\0\0\0\x01name\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\0\0\0\x08nam",
        ];
        for bytes in none {
            assert_eq!(Reader(bytes).next_box(), None, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn bits_are_read_from_the_most_significant_one() {
        let mut bits = Bits::new(&[0b1011_0000, 0b1000_0000]);
        assert_eq!((bits.flag(), bits.number(3), bits.number(5)), (Some(true), Some(3), Some(1)));
        assert_eq!((bits.number(7), bits.flag(), bits.number(0)), (Some(0), None, Some(0)));
    }
}
