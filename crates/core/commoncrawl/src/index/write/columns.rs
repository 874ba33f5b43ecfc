//! Buffers one column's values until its row group is written. Strings share one allocation.

use std::mem::take;

use bytes::Bytes;
use parquet::{
    column::writer::ColumnWriter,
    data_type::ByteArray,
    errors::{ParquetError, Result},
};

/// Maximum strings or levels that are passed to the parquet crate in one call.
const BATCH_VALUES: usize = 1_024;
/// Definition levels in an optional column.
const VALUE: i16 = 1;
const NULL: i16 = 0;

#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Bytes(Option<&'a [u8]>),
    Int(Option<i32>),
    Long(Option<i64>),
}

#[derive(Debug)]
pub(super) struct ColumnBuffer {
    values: Values,
    levels: Option<Vec<i16>>,
}

#[derive(Debug)]
enum Values {
    /// The concatenated values, and the offset where each value ends.
    Bytes(Vec<u8>, Vec<usize>),
    Int(Vec<i32>),
    Long(Vec<i64>),
}

impl ColumnBuffer {
    pub(super) fn bytes(is_optional: bool) -> Self {
        Self::new(Values::Bytes(Vec::new(), Vec::new()), is_optional)
    }

    pub(super) fn int(is_optional: bool) -> Self {
        Self::new(Values::Int(Vec::new()), is_optional)
    }

    pub(super) fn long(is_optional: bool) -> Self {
        Self::new(Values::Long(Vec::new()), is_optional)
    }

    fn new(values: Values, is_optional: bool) -> Self {
        Self { values, levels: is_optional.then(Vec::new) }
    }

    /// Adds a value and returns its size in bytes. If this column has no nulls, a null becomes an
    /// empty string or zero.
    pub(super) fn push(&mut self, value: Value<'_>) -> usize {
        let is_null = matches!(value, Value::Bytes(None) | Value::Int(None) | Value::Long(None));
        if let Some(levels) = &mut self.levels {
            levels.push(if is_null { NULL } else { VALUE });
            if is_null {
                return 0;
            }
        }
        match (&mut self.values, value) {
            (Values::Bytes(data, ends), Value::Bytes(bytes)) => {
                let bytes = bytes.unwrap_or_default();
                data.extend_from_slice(bytes);
                ends.push(data.len());
                bytes.len()
            }
            (Values::Int(values), Value::Int(value)) => {
                values.push(value.unwrap_or_default());
                size_of::<i32>()
            }
            (Values::Long(values), Value::Long(value)) => {
                values.push(value.unwrap_or_default());
                size_of::<i64>()
            }
            // Unreachable, because values are in the schema's order. A test checks this.
            (Values::Bytes(..) | Values::Int(_) | Values::Long(_), _) => 0,
        }
    }

    pub(super) fn write(&mut self, writer: &mut ColumnWriter<'_>) -> Result<()> {
        let levels = self.levels.as_mut().map(take);
        let levels = levels.as_deref();
        match (&mut self.values, writer) {
            (Values::Bytes(data, ends), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                let (data, ends) = (Bytes::from(take(data)), take(ends));
                let mut start = 0;
                let values = ends.iter().map(|end| {
                    let value = data.slice(start..*end);
                    start = *end;
                    ByteArray::from(value)
                });
                in_batches(values, levels, |values, levels| {
                    writer.write_batch(values, levels, None).map(drop)
                })
            }
            (Values::Int(values), ColumnWriter::Int32ColumnWriter(writer)) => {
                writer.write_batch(&take(values), levels, None).map(drop)
            }
            (Values::Long(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(&take(values), levels, None).map(drop)
            }
            _ => Err(ParquetError::General("a column has an unexpected type".into())),
        }
    }
}

fn in_batches<T>(
    mut values: impl Iterator<Item = T>,
    levels: Option<&[i16]>,
    mut write: impl FnMut(&[T], Option<&[i16]>) -> Result<()>,
) -> Result<()> {
    if let Some(levels) = levels {
        for levels in levels.chunks(BATCH_VALUES) {
            let count = levels.iter().filter(|level| **level == VALUE).count();
            let batch: Vec<T> = values.by_ref().take(count).collect();
            write(&batch, Some(levels))?;
        }
        return Ok(());
    }
    loop {
        let batch: Vec<T> = values.by_ref().take(BATCH_VALUES).collect();
        if batch.is_empty() {
            return Ok(());
        }
        write(&batch, None)?;
    }
}
