//! Reads and writes LEB128 numbers and byte ranges.

use super::frame::ChunkError;

/// Appends a number as LEB128: 7 bits per byte, the lowest first.
pub(crate) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkReader<'a> {
    rest: &'a [u8],
}

impl<'a> ChunkReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn take(
        &mut self,
        count: usize,
        field: &'static str,
    ) -> Result<&'a [u8], ChunkError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(ChunkError::Field(field))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self, field: &'static str) -> Result<u8, ChunkError> {
        let (byte, rest) = self.rest.split_first().ok_or(ChunkError::Field(field))?;
        self.rest = rest;
        Ok(*byte)
    }

    /// An encoding that is longer than necessary is an error, so that each number has exactly one
    /// encoding.
    pub(crate) fn number(&mut self, field: &'static str) -> Result<u64, ChunkError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(field)?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 || byte == 0 && shift > 0 {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(ChunkError::Field(field))
    }

    pub(crate) fn small<N: TryFrom<u64>>(&mut self, field: &'static str) -> Result<N, ChunkError> {
        N::try_from(self.number(field)?).map_err(|_| ChunkError::Field(field))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn malformed_numbers_are_errors() {
        let number = |bytes: &[u8]| ChunkReader::new(bytes).number("n");
        let error = Err(ChunkError::Field("n"));
        assert_eq!(number(&[]), error);
        assert_eq!(number(&[0x80]), error);
        assert_eq!(number(&[0x80, 0]), error);
        assert_eq!(number(&[0xff; 10]), error);
        assert_eq!(number(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), error);
        let mut greatest = [0xff; 10];
        greatest[9] = 1;
        assert_eq!(number(&greatest), Ok(u64::MAX));
        assert_eq!(ChunkReader::new(&[0x80, 2]).small::<u8>("n"), error.map(|_| 0));
    }

    proptest! {
        #[test]
        fn numbers_round_trip(number: u64, shift in 0..64) {
            let number = number >> shift;
            let mut bytes = Vec::new();
            push_number(&mut bytes, number);
            let mut reader = ChunkReader::new(&bytes);
            prop_assert_eq!(reader.number("n"), Ok(number));
            prop_assert_eq!(reader.remaining(), 0);
        }
    }
}
