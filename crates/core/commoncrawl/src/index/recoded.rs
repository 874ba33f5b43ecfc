//! Converts values to plain encoding from encodings that [`page`](super::page) does not read. No
//! crawl has used these yet (docs/decisions/0143-index-reader.md).

use std::sync::Arc;

use bytes::Bytes;
use parquet::{
    basic::{Encoding, Type as PhysicalType},
    column::{
        page::{Page, PageMetadata, PageReader},
        reader::ColumnReaderImpl,
    },
    data_type::{AsBytes, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type},
    errors::{ParquetError, Result as ParquetResult},
    schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, Type},
};

use super::{delta::end_of_numbers, error::guarded, inflate::MAX_PAGE_BYTES, width::Width};

/// Maximum values in a batch.
const MAX_BATCH: usize = 1_024;

pub(super) fn is_recoded(encoding: Encoding) -> bool {
    [5, 6, 7, 9].into_iter().any(|number| known(number) == Some(encoding))
}

pub(super) fn known(number: i64) -> Option<Encoding> {
    match number {
        5 => Some(Encoding::DELTA_BINARY_PACKED),
        6 => Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
        7 => Some(Encoding::DELTA_BYTE_ARRAY),
        9 => Some(Encoding::BYTE_STREAM_SPLIT),
        _ => None,
    }
}

pub(super) fn recode(
    encoded: Bytes,
    encoding: Encoding,
    width: Width,
    count: u64,
) -> Result<Vec<u8>, String> {
    let fits = |count: u64| u32::try_from(count).map_err(|_| "too many values".to_owned());
    let count = fits(count)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    check_counts(&encoded, encoding, u64::from(count))?;
    let bytes = encoded.len();
    let page = Page::DataPage {
        buf: encoded,
        num_values: count,
        encoding,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    let plain = guarded(|| match width {
        Width::Fixed(4) => values::<Int32Type>(page, bytes, count, append),
        Width::Fixed(8) => values::<Int64Type>(page, bytes, count, append),
        Width::Varying => values::<ByteArrayType>(page, bytes, count, append_text),
        Width::Fixed(other) => {
            Err(ParquetError::General(format!("values of {other} bytes in {encoding}")))
        }
    });
    plain.map_err(|error| error.to_string())
}

/// Checks the value counts inside the encoded values, because the crate allocates memory by them.
fn check_counts(encoded: &[u8], encoding: Encoding, count: u64) -> Result<(), &'static str> {
    match encoding {
        Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY => {
            end_of_numbers(encoded, count)?;
        }
        Encoding::DELTA_BYTE_ARRAY => {
            let prefixes = end_of_numbers(encoded, count)?;
            end_of_numbers(encoded.get(prefixes..).unwrap_or_default(), count)?;
        }
        _ => {}
    }
    Ok(())
}

/// Reads all values. A value is never longer than the page, so a batch takes at most
/// [`MAX_PAGE_BYTES`].
fn values<T: DataType>(
    page: Page,
    bytes: usize,
    count: u32,
    append: fn(&mut Vec<u8>, &T::T),
) -> ParquetResult<Vec<u8>> {
    let column = column_of(T::get_physical_type())?;
    let mut reader = ColumnReaderImpl::<T>::new(column, Box::new(OnePage(Some(page))));
    let batch = (MAX_PAGE_BYTES / bytes.max(1)).clamp(1, MAX_BATCH);
    let mut plain = Vec::new();
    let mut read = 0;
    let mut values = Vec::with_capacity(batch);
    while read < count as usize {
        values.clear();
        let (_, here, _) = reader.read_records(batch, None, None, &mut values)?;
        if here == 0 {
            let what = format!("{read} values in a page of {count}");
            return Err(ParquetError::General(what));
        }
        read += here;
        for value in &values {
            append(&mut plain, value);
        }
        if plain.len() > MAX_PAGE_BYTES {
            let what = format!("a page of more than {MAX_PAGE_BYTES} bytes when decoded");
            return Err(ParquetError::General(what));
        }
    }
    Ok(plain)
}

fn append<T: AsBytes>(plain: &mut Vec<u8>, value: &T) {
    plain.extend_from_slice(value.as_bytes());
}

fn append_text(plain: &mut Vec<u8>, value: &ByteArray) {
    // A value is part of a page, and pages are smaller than 4 GiB.
    let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
    plain.extend_from_slice(&length.to_le_bytes());
    plain.extend_from_slice(value.data());
}

/// Returns a column without nulls, because `page` reads the levels itself.
fn column_of(physical: PhysicalType) -> ParquetResult<ColumnDescPtr> {
    let value = Type::primitive_type_builder("value", physical).build()?;
    let path = ColumnPath::new(vec!["value".into()]);
    Ok(Arc::new(ColumnDescriptor::new(Arc::new(value), 0, 0, path)))
}

struct OnePage(Option<Page>);

impl Iterator for OnePage {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageReader for OnePage {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        Ok(self.0.take())
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        Ok(None)
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.0 = None;
        Ok(())
    }
}
