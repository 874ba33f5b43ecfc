//! Parses page headers in Thrift's compact protocol (thrift-compact-protocol.md; parquet.thrift,
//! `PageHeader`).

#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeaderError {
    /// The bytes end within the header.
    Short,
    /// The header is invalid.
    Wrong(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageKind {
    /// A dictionary page: a chunk's distinct values.
    Dictionary,
    /// A version 1 data page, whose levels and values are compressed together.
    Data,
    /// A version 2 data page, whose levels precede the values and are not compressed.
    DataV2,
    /// Any other page, which the reader skips.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageHeader {
    pub(super) kind: PageKind,
    /// Decompressed size in bytes. In version 2, it includes the levels.
    pub(super) plain_bytes: usize,
    pub(super) stored_bytes: usize,
    pub(super) values: u64,
    /// How values are encoded, as a number in parquet.thrift's `Encoding`.
    pub(super) encoding: i64,
    /// How definition levels are encoded, which only version 1 declares.
    pub(super) level_encoding: i64,
    /// Size in bytes of the repetition and definition levels in version 2, otherwise 0.
    pub(super) level_bytes: [usize; 2],
    pub(super) is_compressed: bool,
}

/// Maximum nesting depth for structures in a header, because skipping a structure is recursive.
/// Real headers nest two levels deep.
const MAX_DEPTH: u8 = 8;

pub(super) fn page_header(bytes: &[u8]) -> Result<(PageHeader, usize), HeaderError> {
    let mut input = Input { bytes, at: 0 };
    let header = read_header(&mut input)?;
    Ok((header, input.at))
}

const DATA: i64 = 5;
const DICTIONARY: i64 = 7;
const DATA_V2: i64 = 8;

fn read_header(input: &mut Input<'_>) -> Result<PageHeader, HeaderError> {
    let mut kind = None;
    let (mut plain, mut stored) = (None, None);
    let mut inner = [None; 9];
    let mut has_inner = 0;
    let mut is_compressed = true;
    let mut field = 0;
    while let Some(wire) = input.field(&mut field)? {
        match (field, wire) {
            (1, I32) => kind = Some(input.zigzag()?),
            (2, I32) => plain = Some(input.size()?),
            (3, I32) => stored = Some(input.size()?),
            (DATA | DICTIONARY | DATA_V2, STRUCT) => {
                has_inner = field;
                let mut number = 0;
                while let Some(wire) = input.field(&mut number)? {
                    match (usize::try_from(number).ok().and_then(|n| inner.get_mut(n)), wire) {
                        (Some(slot), I32) => *slot = Some(input.zigzag()?),
                        (_, FALSE) if field == DATA_V2 && number == 7 => is_compressed = false,
                        _ => input.skip(wire, 0)?,
                    }
                }
            }
            _ => input.skip(wire, 0)?,
        }
    }
    let wrong = |what| move || HeaderError::Wrong(what);
    let kind = match (kind.ok_or_else(wrong("no page type"))?, has_inner) {
        (0, DATA) => PageKind::Data,
        (2, DICTIONARY) => PageKind::Dictionary,
        (3, DATA_V2) => PageKind::DataV2,
        (0 | 2 | 3, _) => return Err(HeaderError::Wrong("no header of the page's type")),
        _ => PageKind::Other,
    };
    let number = |at: usize| inner.get(at).copied().flatten();
    let size = |at: usize| usize::try_from(number(at).unwrap_or(0)).ok();
    let values = match kind {
        PageKind::Other => Some(0),
        _ => number(1).and_then(|values| u64::try_from(values).ok()),
    };
    let is_v2 = kind == PageKind::DataV2;
    let level_bytes = if is_v2 { size(6).zip(size(5)) } else { Some((0, 0)) };
    let (repetition, definition) = level_bytes.ok_or_else(wrong("negative level bytes"))?;
    Ok(PageHeader {
        kind,
        plain_bytes: plain.ok_or_else(wrong("no page size"))?,
        stored_bytes: stored.ok_or_else(wrong("no compressed page size"))?,
        values: values.ok_or_else(wrong("no number of values"))?,
        encoding: number(if is_v2 { 4 } else { 2 }).unwrap_or(-1),
        level_encoding: number(3).unwrap_or(-1),
        level_bytes: [repetition, definition],
        is_compressed,
    })
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I8: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Input<'_> {
    fn byte(&mut self) -> Result<u8, HeaderError> {
        let byte = *self.bytes.get(self.at).ok_or(HeaderError::Short)?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, HeaderError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(HeaderError::Wrong("a number of over 64 bits"))
    }

    fn zigzag(&mut self) -> Result<i64, HeaderError> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn size(&mut self) -> Result<usize, HeaderError> {
        usize::try_from(self.zigzag()?).map_err(|_| HeaderError::Wrong("a negative size"))
    }

    /// Returns the next field's wire type and updates its id. `None` if this structure ends.
    fn field(&mut self, number: &mut i64) -> Result<Option<u8>, HeaderError> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *number = match byte >> 4 {
            0 => self.zigzag()?,
            delta => number.checked_add(delta.into()).ok_or(HeaderError::Wrong("field number"))?,
        };
        Ok(Some(byte & 0x0f))
    }

    fn skip(&mut self, wire: u8, depth: u8) -> Result<(), HeaderError> {
        if depth > MAX_DEPTH {
            return Err(HeaderError::Wrong("nested too deep"));
        }
        match wire {
            TRUE | FALSE => Ok(()),
            I8 => self.byte().map(drop),
            I16 | I32 | I64 => self.varint().map(drop),
            DOUBLE => self.skip_bytes(8),
            BINARY => {
                let length = self.varint()?;
                self.skip_bytes(length)
            }
            LIST | SET => {
                let head = self.byte()?;
                let length = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                self.skip_elements(length, &[head & 0x0f], depth)
            }
            MAP => {
                let length = self.varint()?;
                if length == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                self.skip_elements(length, &[kinds >> 4, kinds & 0x0f], depth)
            }
            STRUCT => {
                let mut number = 0;
                while let Some(wire) = self.field(&mut number)? {
                    self.skip(wire, depth + 1)?;
                }
                Ok(())
            }
            _ => Err(HeaderError::Wrong("an unknown wire type")),
        }
    }

    fn skip_elements(&mut self, count: u64, kinds: &[u8], depth: u8) -> Result<(), HeaderError> {
        for _ in 0..count {
            for kind in kinds {
                match *kind {
                    // In a list, a boolean takes one byte.
                    TRUE | FALSE => self.byte().map(drop)?,
                    kind => self.skip(kind, depth + 1)?,
                }
            }
        }
        Ok(())
    }

    fn skip_bytes(&mut self, count: u64) -> Result<(), HeaderError> {
        let end = usize::try_from(count).ok().and_then(|count| self.at.checked_add(count));
        self.at = end.filter(|end| *end <= self.bytes.len()).ok_or(HeaderError::Short)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data page header as written by parquet-mr: type 0, sizes 300 and 200 bytes, 1,000 values.
    const DATA_PAGE: [u8; 21] = [
        0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x90, 0x03, 0x15, 0x06, 0x1c, 0x15, 0xd0, 0x0f, 0x15,
        0x04, 0x15, 0x06, 0x15, 0x08, 0x00,
    ];

    #[test]
    fn the_header_of_a_data_page_gives_its_sizes_and_encodings() {
        let mut bytes = DATA_PAGE.to_vec();
        bytes.push(0);
        let (header, length) = page_header(&bytes).unwrap();
        assert_eq!(length, bytes.len());
        assert_eq!((header.kind, header.values), (PageKind::Data, 1_000));
        assert_eq!((header.plain_bytes, header.stored_bytes), (300, 200));
        assert_eq!((header.encoding, header.level_encoding), (2, 3));
    }

    #[test]
    fn every_shorter_piece_of_a_header_is_short_and_not_wrong() {
        let mut bytes = DATA_PAGE.to_vec();
        bytes.push(0);
        for end in 0..bytes.len() {
            assert_eq!(page_header(&bytes[..end]), Err(HeaderError::Short), "{end}");
        }
    }

    #[test]
    fn impossible_headers_are_wrong() {
        assert_eq!(page_header(&[0]), Err(HeaderError::Wrong("no page type")));
        assert_eq!(
            page_header(&[0x15, 0x00, 0x15, 0x01]),
            Err(HeaderError::Wrong("a negative size"))
        );
        let deep = [0x1c; 40];
        assert_eq!(page_header(&deep), Err(HeaderError::Wrong("nested too deep")));
        let unknown = [0x1d];
        assert_eq!(page_header(&unknown), Err(HeaderError::Wrong("an unknown wire type")));
        let endless = [0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(page_header(&endless), Err(HeaderError::Wrong("a number of over 64 bits")));
    }
}
