//! The columns that the filter and a capture need: finding them, and reading their values.
//!
//! Owns what the index's schema has been over the years: `fetch_time` as INT96 (to CC-MAIN-2026-25)
//! or as a timestamp, numbers of several widths, text with or without the string annotation.
//! Invariant: a value is returned only as what it is; a null or a number out of range is `None`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, StringViewArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::SchemaDescriptor;

use super::error::{IndexError, guarded};

/// Columns that every index file must have.
const REQUIRED: [&str; 10] = [
    "url_surtkey",
    "url_host_name",
    "url_protocol",
    "url_path",
    "fetch_time",
    "fetch_status",
    "content_mime_type",
    "warc_filename",
    "warc_record_offset",
    "warc_record_length",
];

/// Columns that count as all null where a file lacks them.
const OPTIONAL: [&str; 2] = ["url_query", "url_port"];

/// The leaf numbers of the needed columns, in the file's order.
pub(super) fn projected_leaves(schema: &SchemaDescriptor) -> Result<Vec<usize>, IndexError> {
    let find = |name: &str| {
        let mut columns = schema.columns().iter();
        columns.position(|column| column.max_rep_level() == 0 && column.path().string() == name)
    };
    let mut leaves = Vec::with_capacity(REQUIRED.len() + OPTIONAL.len());
    for name in REQUIRED {
        leaves.push(find(name).ok_or(IndexError::MissingColumn(name))?);
    }
    leaves.extend(OPTIONAL.into_iter().filter_map(find));
    leaves.sort_unstable();
    Ok(leaves)
}

pub(super) fn projection(schema: &SchemaDescriptor, leaves: &[usize]) -> ProjectionMask {
    ProjectionMask::leaves(schema, leaves.iter().copied())
}

/// How the file's columns are to be decoded: all text as string views (no copy for each value),
/// INT96 as microseconds (as nanoseconds it would overflow in the year 2262). What a writer says
/// about Arrow types is ignored: the index is defined by its parquet types.
pub(super) fn arrow_metadata(
    metadata: &Arc<ParquetMetaData>,
) -> Result<ArrowReaderMetadata, IndexError> {
    let options = || ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    guarded(|| {
        let plain = ArrowReaderMetadata::try_new(Arc::clone(metadata), options())?;
        let parquet_schema = metadata.file_metadata().schema_descr();
        let is_int96 = |name: &str| {
            parquet_schema.columns().iter().any(|column| {
                column.path().string() == name && column.physical_type() == PhysicalType::INT96
            })
        };
        let fields = plain.schema().fields().iter().map(|field| {
            let wanted = match field.data_type() {
                DataType::Utf8 | DataType::Binary if is_needed(field.name()) => DataType::Utf8View,
                DataType::Timestamp(..) if is_int96(field.name()) => {
                    DataType::Timestamp(TimeUnit::Microsecond, None)
                }
                other => other.clone(),
            };
            Field::clone(field).with_data_type(wanted)
        });
        let schema = Schema::new(fields.collect::<Vec<_>>());
        ArrowReaderMetadata::try_new(Arc::clone(metadata), options().with_schema(schema.into()))
    })
}

fn is_needed(name: &str) -> bool {
    REQUIRED.contains(&name) || OPTIONAL.contains(&name)
}

/// The needed columns of one batch of rows, their types checked.
pub(super) struct Columns<'a> {
    pub(super) surtkey: Text<'a>,
    pub(super) hostname: Text<'a>,
    pub(super) protocol: Text<'a>,
    pub(super) path: Text<'a>,
    pub(super) mime_type: Text<'a>,
    pub(super) warc_filename: Text<'a>,
    pub(super) status: Integer<'a>,
    pub(super) offset: Integer<'a>,
    pub(super) length: Integer<'a>,
    pub(super) fetch_time: Moment<'a>,
    pub(super) query: Presence<'a>,
    pub(super) port: Presence<'a>,
}

impl<'a> Columns<'a> {
    pub(super) fn of(batch: &'a RecordBatch) -> Result<Self, IndexError> {
        Ok(Self {
            surtkey: Text::of(batch, "url_surtkey")?,
            hostname: Text::of(batch, "url_host_name")?,
            protocol: Text::of(batch, "url_protocol")?,
            path: Text::of(batch, "url_path")?,
            mime_type: Text::of(batch, "content_mime_type")?,
            warc_filename: Text::of(batch, "warc_filename")?,
            status: Integer::of(batch, "fetch_status")?,
            offset: Integer::of(batch, "warc_record_offset")?,
            length: Integer::of(batch, "warc_record_length")?,
            fetch_time: Moment::of(batch, "fetch_time")?,
            query: Presence(batch.column_by_name("url_query")),
            port: Presence(batch.column_by_name("url_port")),
        })
    }
}

fn required<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a ArrayRef, IndexError> {
    batch.column_by_name(name).ok_or(IndexError::MissingColumn(name))
}

fn wrong_type(name: &'static str, array: &ArrayRef) -> IndexError {
    IndexError::ColumnType { name, found: array.data_type().to_string() }
}

/// A column of text. `None` stands for a column whose every value is null.
pub(super) struct Text<'a>(Option<&'a StringViewArray>);

impl<'a> Text<'a> {
    fn of(batch: &'a RecordBatch, name: &'static str) -> Result<Self, IndexError> {
        let array = required(batch, name)?;
        match array.data_type() {
            DataType::Utf8View => Ok(Self(array.as_string_view_opt())),
            DataType::Null => Ok(Self(None)),
            _ => Err(wrong_type(name, array)),
        }
    }

    pub(super) fn get(&self, row: usize) -> Option<&'a str> {
        let array = self.0?;
        (row < array.len() && array.is_valid(row)).then(|| array.value(row))
    }
}

/// A column of whole numbers of any width.
pub(super) struct Integer<'a>(&'a ArrayRef);

impl<'a> Integer<'a> {
    fn of(batch: &'a RecordBatch, name: &'static str) -> Result<Self, IndexError> {
        let array = required(batch, name)?;
        let known = array.data_type().is_integer() || *array.data_type() == DataType::Null;
        known.then_some(Self(array)).ok_or_else(|| wrong_type(name, array))
    }

    pub(super) fn get(&self, row: usize) -> Option<i64> {
        let array = self.0;
        if row >= array.len() || array.is_null(row) {
            return None;
        }
        match array.data_type() {
            DataType::Int8 => Some(array.as_primitive::<Int8Type>().value(row).into()),
            DataType::Int16 => Some(array.as_primitive::<Int16Type>().value(row).into()),
            DataType::Int32 => Some(array.as_primitive::<Int32Type>().value(row).into()),
            DataType::Int64 => Some(array.as_primitive::<Int64Type>().value(row)),
            DataType::UInt8 => Some(array.as_primitive::<UInt8Type>().value(row).into()),
            DataType::UInt16 => Some(array.as_primitive::<UInt16Type>().value(row).into()),
            DataType::UInt32 => Some(array.as_primitive::<UInt32Type>().value(row).into()),
            DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).try_into().ok(),
            _ => None,
        }
    }
}

/// A column of moments, read as microseconds since 1970.
pub(super) struct Moment<'a>(&'a ArrayRef);

impl<'a> Moment<'a> {
    fn of(batch: &'a RecordBatch, name: &'static str) -> Result<Self, IndexError> {
        let array = required(batch, name)?;
        let known = matches!(array.data_type(), DataType::Timestamp(..) | DataType::Null);
        known.then_some(Self(array)).ok_or_else(|| wrong_type(name, array))
    }

    pub(super) fn micros(&self, row: usize) -> Option<i64> {
        let array = self.0;
        let DataType::Timestamp(unit, _) = array.data_type() else { return None };
        if row >= array.len() || array.is_null(row) {
            return None;
        }
        match unit {
            TimeUnit::Second => {
                array.as_primitive::<TimestampSecondType>().value(row).checked_mul(1_000_000)
            }
            TimeUnit::Millisecond => {
                array.as_primitive::<TimestampMillisecondType>().value(row).checked_mul(1_000)
            }
            TimeUnit::Microsecond => {
                Some(array.as_primitive::<TimestampMicrosecondType>().value(row))
            }
            TimeUnit::Nanosecond => {
                Some(array.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(1_000))
            }
        }
    }
}

/// A column of which only the presence of a value matters; absent, it is null everywhere.
pub(super) struct Presence<'a>(Option<&'a ArrayRef>);

impl Presence<'_> {
    pub(super) fn is_null(&self, row: usize) -> bool {
        let Some(array) = self.0 else { return true };
        *array.data_type() == DataType::Null || row >= array.len() || array.is_null(row)
    }
}
