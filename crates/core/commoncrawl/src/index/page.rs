//! Reads the rows in a column's page, in ascending order.

use bytes::Bytes;

use super::{
    chunk::ColumnPage,
    hybrid::{Hybrid, OutOfValues},
    inflate::{Codec, Inflater, split_levels},
    recoded::{known, recode},
    thrift::PageKind,
    width::Width,
};

// Numbers of `Encoding` in parquet.thrift.
const PLAIN: i64 = 0;
const PLAIN_DICTIONARY: i64 = 2;
const RLE: i64 = 3;
const RLE_DICTIONARY: i64 = 8;

fn encoding_name(encoding: i64) -> String {
    let name = match (encoding, known(encoding)) {
        (4, _) => "BIT_PACKED".to_owned(),
        (_, Some(known)) => known.to_string(),
        _ => format!("encoding {encoding}"),
    };
    format!("{name}, which is not supported")
}

pub(super) type Wanted = [Option<&'static [u8]>; 2];

#[derive(Debug, Default)]
pub(super) struct Dictionary {
    bytes: Vec<u8>,
    spans: Vec<(u32, u32)>,
    /// Codes for the wanted values. `None` if a value is not in the dictionary.
    wanted: [Option<u32>; 2],
}

impl Dictionary {
    pub(super) fn open(
        page: &ColumnPage,
        width: Width,
        codec: Codec,
        inflater: &mut Inflater,
        wanted: Wanted,
    ) -> Result<Self, String> {
        let header = &page.header;
        if !matches!(header.encoding, PLAIN | PLAIN_DICTIONARY) {
            return Err(format!("a dictionary in {}", encoding_name(header.encoding)));
        }
        let mut bytes = vec![0; header.plain_bytes];
        inflater.inflate(codec, &page.body, &mut bytes)?;
        let mut spans = Vec::new();
        let mut at = 0;
        for _ in 0..header.values {
            let (start, end) = plain_value(&bytes, at, width).ok_or("a dictionary cut short")?;
            let span = u32::try_from(start).ok().zip(u32::try_from(end).ok());
            spans.push(span.ok_or("a dictionary too large")?);
            at = end;
        }
        let mut dictionary = Self { bytes, spans, wanted: [None; 2] };
        dictionary.wanted = wanted.map(|value| dictionary.code_of(value?));
        Ok(dictionary)
    }

    fn get(&self, code: u32) -> Option<&[u8]> {
        let (start, end) = self.spans.get(code as usize)?;
        self.bytes.get(*start as usize..*end as usize)
    }

    fn code_of(&self, value: &[u8]) -> Option<u32> {
        (0..).zip(&self.spans).map(|(code, _)| code).find(|code| self.get(*code) == Some(value))
    }
}

fn plain_value(bytes: &[u8], at: usize, width: Width) -> Option<(usize, usize)> {
    let (start, length) = match width {
        Width::Fixed(length) => (at, length),
        Width::Varying => {
            let length = bytes.get(at..)?.first_chunk()?;
            (at + 4, u32::from_le_bytes(*length) as usize)
        }
    };
    let end = start.checked_add(length)?;
    (end <= bytes.len()).then_some((start, end))
}

#[derive(Debug, Clone, Copy)]
enum Values {
    Plain { at: usize },
    Codes(Hybrid),
}

#[derive(Debug)]
pub(super) struct OpenPage {
    /// The decompressed page, or only its levels if the values are not needed.
    bytes: Vec<u8>,
    length: usize,
    row: u64,
    /// The levels, and the offset where they end. `None` if every row has a value.
    levels: Option<(Hybrid, usize)>,
    values: Values,
    width: Width,
}

impl Default for OpenPage {
    fn default() -> Self {
        let values = Values::Plain { at: 0 };
        Self { bytes: Vec::new(), length: 0, row: 0, levels: None, values, width: Width::Varying }
    }
}

const CUT_SHORT: &str = "a page cut short";

impl From<OutOfValues> for String {
    fn from(_: OutOfValues) -> Self {
        CUT_SHORT.into()
    }
}

impl OpenPage {
    pub(super) fn open(
        &mut self,
        page: &ColumnPage,
        width: Width,
        is_optional: bool,
        codec: Codec,
        inflater: &mut Inflater,
    ) -> Result<(), String> {
        let header = &page.header;
        self.row = 0;
        self.width = width;
        self.length = header.plain_bytes;
        if self.bytes.len() < self.length {
            self.bytes.resize(self.length, 0);
        }
        let out = self.bytes.get_mut(..self.length).ok_or(CUT_SHORT)?;
        let values_at = if header.kind == PageKind::DataV2 {
            let [repetition, definition] = header.level_bytes;
            let levels_end = repetition.checked_add(definition).ok_or(CUT_SHORT)?;
            let (levels, values) = page.body.split_at_checked(levels_end).ok_or(CUT_SHORT)?;
            let (front, rest) = out.split_at_mut_checked(levels_end).ok_or(CUT_SHORT)?;
            front.copy_from_slice(levels);
            let codec = if header.is_compressed { codec } else { Codec::None };
            inflater.inflate(codec, values, rest)?;
            self.levels = is_optional.then(|| (Hybrid::new(1, repetition), levels_end));
            levels_end
        } else {
            inflater.inflate(codec, &page.body, out)?;
            self.levels = None;
            if is_optional {
                check_levels(header.level_encoding)?;
                let (levels, _) = split_levels(out).ok_or(CUT_SHORT)?;
                let levels_end = 4 + levels.len();
                self.levels = Some((Hybrid::new(1, 4), levels_end));
                levels_end
            } else {
                0
            }
        };
        self.values = match header.encoding {
            PLAIN => Values::Plain { at: values_at },
            PLAIN_DICTIONARY | RLE_DICTIONARY => {
                // A page with only nulls may omit the bit width.
                let bit_width = out.get(values_at).copied().unwrap_or(0);
                if bit_width > 32 {
                    return Err("dictionary codes of over 32 bits".into());
                }
                Values::Codes(Hybrid::new(bit_width, values_at + 1))
            }
            other => {
                self.recode(other, header.values, values_at)?;
                Values::Plain { at: values_at }
            }
        };
        Ok(())
    }

    /// Converts the values to plain encoding. `rows` includes rows without a value.
    fn recode(&mut self, encoding: i64, rows: u64, values_at: usize) -> Result<(), String> {
        let Some(encoding) = known(encoding) else {
            return Err(format!("values in {}", encoding_name(encoding)));
        };
        let bytes = self.bytes.get(..self.length).ok_or(CUT_SHORT)?;
        let count = match self.levels {
            Some((mut levels, end)) => {
                levels.count_ones(bytes.get(..end).ok_or(CUT_SHORT)?, rows)?
            }
            None => rows,
        };
        let encoded = Bytes::copy_from_slice(bytes.get(values_at..).ok_or(CUT_SHORT)?);
        let plain = recode(encoded, encoding, self.width, count)?;
        self.bytes.truncate(values_at);
        self.bytes.extend_from_slice(&plain);
        self.length = self.bytes.len();
        Ok(())
    }

    pub(super) fn open_levels(
        &mut self,
        page: &ColumnPage,
        codec: Codec,
        inflater: &mut Inflater,
    ) -> Result<(), String> {
        let header = &page.header;
        self.row = 0;
        if header.kind == PageKind::DataV2 {
            let [repetition, definition] = header.level_bytes;
            let levels = page.body.get(repetition..).and_then(|rest| rest.get(..definition));
            self.bytes.clear();
            self.bytes.extend_from_slice(levels.ok_or(CUT_SHORT)?);
        } else {
            check_levels(header.level_encoding)?;
            inflater.levels(codec, &page.body, header.plain_bytes, &mut self.bytes)?;
        }
        self.length = self.bytes.len();
        self.levels = Some((Hybrid::new(1, 0), self.length));
        Ok(())
    }

    pub(super) fn has_value(&mut self, row: u64) -> Result<bool, String> {
        let passed = row.saturating_sub(self.row);
        self.row = row + 1;
        let Some((levels, end)) = &mut self.levels else { return Ok(true) };
        let bytes = self.bytes.get(..*end).ok_or(CUT_SHORT)?;
        levels.skip(bytes, passed)?;
        Ok(levels.next(bytes)? == 1)
    }

    pub(super) fn get<'a>(
        &'a mut self,
        row: u64,
        dictionary: &'a Dictionary,
    ) -> Result<Option<&'a [u8]>, String> {
        let mut passed = row.saturating_sub(self.row);
        self.row = row + 1;
        let bytes = self.bytes.get(..self.length).ok_or(CUT_SHORT)?;
        let mut is_here = true;
        if let Some((levels, end)) = &mut self.levels {
            let bytes = bytes.get(..*end).ok_or(CUT_SHORT)?;
            passed = levels.count_ones(bytes, passed)?;
            is_here = levels.next(bytes)? == 1;
        }
        match &mut self.values {
            Values::Plain { at } => {
                match self.width {
                    Width::Fixed(length) => {
                        let skipped =
                            usize::try_from(passed).ok().and_then(|n| n.checked_mul(length));
                        *at = skipped.and_then(|n| at.checked_add(n)).ok_or(CUT_SHORT)?;
                    }
                    Width::Varying => {
                        for _ in 0..passed {
                            *at = plain_value(bytes, *at, Width::Varying).ok_or(CUT_SHORT)?.1;
                        }
                    }
                }
                if !is_here {
                    return Ok(None);
                }
                let (start, end) = plain_value(bytes, *at, self.width).ok_or(CUT_SHORT)?;
                *at = end;
                Ok(bytes.get(start..end))
            }
            Values::Codes(codes) => {
                codes.skip(bytes, passed)?;
                if !is_here {
                    return Ok(None);
                }
                let code = codes.next(bytes)?;
                Ok(Some(dictionary.get(code).ok_or("a code that is not in the dictionary")?))
            }
        }
    }

    pub(super) fn find(
        &mut self,
        wanted: Wanted,
        end: u64,
        dictionary: &Dictionary,
    ) -> Result<Option<(u64, usize)>, String> {
        if self.levels.is_some() {
            for row in self.row..end {
                let found = self.get(row, dictionary)?.and_then(|value| index_of(wanted, value));
                if let Some(index) = found {
                    return Ok(Some((row, index)));
                }
            }
            return Ok(None);
        }
        let bytes = self.bytes.get(..self.length).ok_or(CUT_SHORT)?;
        let (first, count) = (self.row, end.saturating_sub(self.row));
        let found = match &mut self.values {
            Values::Plain { at } => find_plain(bytes, at, self.width, wanted, count)?,
            Values::Codes(codes) => match dictionary.wanted {
                [Some(code), None] => codes.find(bytes, code, count)?.map(|before| (before, 0)),
                [None, Some(code)] => codes.find(bytes, code, count)?.map(|before| (before, 1)),
                [None, None] => {
                    codes.skip(bytes, count)?;
                    None
                }
                both => find_codes(bytes, codes, both, count)?,
            },
        };
        self.row = found.map_or(end, |(before, _)| first + before + 1);
        Ok(found.map(|(before, index)| (first + before, index)))
    }
}

fn check_levels(encoding: i64) -> Result<(), String> {
    let levels = || format!("levels in {}", encoding_name(encoding));
    (encoding == RLE).then_some(()).ok_or_else(levels)
}

fn index_of(wanted: Wanted, value: &[u8]) -> Option<usize> {
    wanted.iter().position(|wanted| *wanted == Some(value))
}

/// Returns how many values precede the first `wanted` one, and this value's index.
fn find_plain(
    bytes: &[u8],
    at: &mut usize,
    width: Width,
    wanted: Wanted,
    count: u64,
) -> Result<Option<(u64, usize)>, &'static str> {
    let longest = wanted.iter().flatten().map(|value| value.len()).max().unwrap_or(0);
    for before in 0..count {
        let (start, end) = plain_value(bytes, *at, width).ok_or(CUT_SHORT)?;
        *at = end;
        if end - start > longest {
            continue;
        }
        if let Some(index) = bytes.get(start..end).and_then(|value| index_of(wanted, value)) {
            return Ok(Some((before, index)));
        }
    }
    Ok(None)
}

fn find_codes(
    bytes: &[u8],
    codes: &mut Hybrid,
    wanted: [Option<u32>; 2],
    count: u64,
) -> Result<Option<(u64, usize)>, OutOfValues> {
    for before in 0..count {
        let code = codes.next(bytes)?;
        if let Some(index) = wanted.iter().position(|wanted| *wanted == Some(code)) {
            return Ok(Some((before, index)));
        }
    }
    Ok(None)
}
