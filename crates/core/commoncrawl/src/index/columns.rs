//! Finds the columns that the filter and captures need, and reads their values.
//!
//! The schema has changed over the years: `fetch_time` was INT96 until the end of 2019, integers
//! have several widths, and strings may lack their annotation.

use bytes::Bytes;
use parquet::{
    basic::{ConvertedType, IntType, LogicalType, TimeUnit, TimestampType, Type as PhysicalType},
    file::metadata::{ParquetMetaData, RowGroupMetaData},
    schema::types::{ColumnDescriptor, SchemaDescriptor},
};

use super::{
    column::{Column, ColumnReading},
    error::IndexError,
    formats::Formats,
    inflate::{Codec, Inflater},
    page::Wanted,
    width::Width,
    windows::ColumnProgress,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnName {
    Hostname,
    Protocol,
    Path,
    FetchTime,
    Status,
    MimeType,
    WarcFilename,
    Offset,
    Length,
    Query,
    Port,
}

/// The needed columns, their names in the file, their use, and whether a file must contain them.
const NEEDED: [(ColumnName, &str, Use, bool); 11] = [
    (ColumnName::Hostname, "url_host_name", Use::Text, true),
    (ColumnName::Protocol, "url_protocol", Use::Text, true),
    (ColumnName::Path, "url_path", Use::Text, true),
    (ColumnName::FetchTime, "fetch_time", Use::Time, true),
    (ColumnName::Status, "fetch_status", Use::Integer, true),
    (ColumnName::MimeType, "content_mime_type", Use::Text, true),
    (ColumnName::WarcFilename, "warc_filename", Use::Text, true),
    (ColumnName::Offset, "warc_record_offset", Use::Integer, true),
    (ColumnName::Length, "warc_record_length", Use::Integer, true),
    (ColumnName::Query, "url_query", Use::Presence, false),
    (ColumnName::Port, "url_port", Use::Presence, false),
];

/// Home page paths. The empty path is only counted.
const PATHS: Wanted = [Some(b"/"), Some(b"")];

#[derive(Debug, Clone, Copy)]
enum Use {
    Text,
    Integer,
    Time,
    /// The filter checks only whether a row has this value, and whether it is empty.
    Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Text,
    Signed,
    Unsigned,
    Int96,
    Since1970 {
        /// Units per second.
        per_second: i64,
    },
    AlwaysNull,
    Presence,
}

#[derive(Debug)]
struct Needed {
    name: ColumnName,
    leaf: usize,
    kind: ValueKind,
    column: Column,
}

#[derive(Debug)]
pub(super) struct Columns {
    needed: Vec<Needed>,
    inflater: Inflater,
}

impl Columns {
    pub(super) fn of(schema: &SchemaDescriptor) -> Result<Self, IndexError> {
        let mut needed = Vec::with_capacity(NEEDED.len());
        for (name, text, usage, is_required) in NEEDED {
            let leaves = schema.columns().iter();
            let mut leaves = leaves.enumerate();
            let found = leaves.find(|(_, leaf)| {
                leaf.max_rep_level() == 0 && leaf.path().parts().len() == 1 && leaf.name() == text
            });
            match found {
                Some((leaf, descriptor)) => {
                    let kind = kind(descriptor, usage);
                    let (kind, width) = kind.ok_or_else(|| IndexError::ColumnType {
                        name: text,
                        found: type_name(descriptor),
                    })?;
                    let is_optional = descriptor.max_def_level() > 0;
                    let is_presence = matches!(kind, ValueKind::Presence);
                    let wanted = if name == ColumnName::Path { PATHS } else { [None; 2] };
                    let reading =
                        ColumnReading { name: text, width, is_optional, is_presence, wanted };
                    needed.push(Needed { name, leaf, kind, column: Column::new(reading) });
                }
                None if is_required => return Err(IndexError::MissingColumn(text)),
                None => {}
            }
        }
        Ok(Self { needed, inflater: Inflater::new() })
    }

    /// Leaf indexes of the columns in the file. [`push`](Self::push) numbers columns in this order.
    pub(super) fn leaves(&self) -> Vec<usize> {
        self.needed.iter().map(|needed| needed.leaf).collect()
    }

    pub(super) fn formats(&self, metadata: &ParquetMetaData) -> Result<Formats, IndexError> {
        let mut formats = Formats::default();
        for group in metadata.row_groups() {
            for needed in &self.needed {
                if let Some(chunk) = group.columns().get(needed.leaf) {
                    formats.add(needed.column.name(), chunk)?;
                }
            }
        }
        Ok(formats)
    }

    pub(super) fn enter(&mut self, group: &RowGroupMetaData) -> Result<(), IndexError> {
        let rows = group.num_rows().unsigned_abs();
        for needed in &mut self.needed {
            let Some(chunk) = group.columns().get(needed.leaf) else {
                return Err(IndexError::Corrupt("a row group lacks a column".into()));
            };
            let codec = Codec::of(chunk.compression()).ok_or_else(|| IndexError::Unsupported {
                name: needed.column.name(),
                what: "compressed with an unknown codec".into(),
            })?;
            needed.column.enter(codec, chunk.compressed_size().unsigned_abs(), rows);
        }
        Ok(())
    }

    pub(super) fn push(&mut self, index: usize, bytes: Bytes) -> Result<(), IndexError> {
        match self.needed.get_mut(index) {
            Some(needed) => needed.column.push(bytes),
            None => Err(IndexError::WrongSupply("a piece of an unknown column".into())),
        }
    }

    pub(super) fn rows_here(&self) -> u64 {
        self.needed.iter().map(|needed| needed.column.progress().rows).min().unwrap_or(0)
    }

    pub(super) fn progress(&self) -> Vec<ColumnProgress> {
        self.needed.iter().map(|needed| needed.column.progress()).collect()
    }

    pub(super) fn find_root(
        &mut self,
        from: u64,
        end: u64,
    ) -> Result<Option<(u64, bool)>, IndexError> {
        let Some((path, inflater)) = self.column(ColumnName::Path) else { return Ok(None) };
        if path.kind == ValueKind::AlwaysNull {
            return Ok(None);
        }
        let found = path.column.find(from, end, inflater)?;
        Ok(found.map(|(row, index)| (row, index == 1)))
    }

    fn column(&mut self, name: ColumnName) -> Option<(&mut Needed, &mut Inflater)> {
        let needed = self.needed.iter_mut().find(|needed| needed.name == name)?;
        Some((needed, &mut self.inflater))
    }

    fn bytes(
        &mut self,
        name: ColumnName,
        row: u64,
    ) -> Result<Option<(ValueKind, &[u8])>, IndexError> {
        match self.column(name) {
            Some((needed, inflater)) if needed.kind != ValueKind::AlwaysNull => {
                let kind = needed.kind;
                Ok(needed.column.get(row, inflater)?.map(|bytes| (kind, bytes)))
            }
            _ => Ok(None),
        }
    }

    /// `None` if this value is null or not UTF-8.
    pub(super) fn text(&mut self, name: ColumnName, row: u64) -> Result<Option<&str>, IndexError> {
        let bytes = self.bytes(name, row)?;
        Ok(bytes.and_then(|(_, bytes)| std::str::from_utf8(bytes).ok()))
    }

    /// `None` if this value is null or out of range.
    pub(super) fn integer(
        &mut self,
        name: ColumnName,
        row: u64,
    ) -> Result<Option<i64>, IndexError> {
        let Some((kind, bytes)) = self.bytes(name, row)? else { return Ok(None) };
        let four = || bytes.first_chunk().copied();
        let eight = || bytes.first_chunk().copied();
        Ok(match (kind, bytes.len()) {
            (ValueKind::Signed, 4) => four().map(i32::from_le_bytes).map(i64::from),
            (ValueKind::Signed, 8) => eight().map(i64::from_le_bytes),
            (ValueKind::Unsigned, 4) => four().map(u32::from_le_bytes).map(i64::from),
            (ValueKind::Unsigned, 8) => {
                eight().map(u64::from_le_bytes).and_then(|value| value.try_into().ok())
            }
            _ => None,
        })
    }

    /// Returns microseconds since 1970. `None` if this value is null or out of range.
    pub(super) fn micros(&mut self, name: ColumnName, row: u64) -> Result<Option<i64>, IndexError> {
        let Some((kind, bytes)) = self.bytes(name, row)? else { return Ok(None) };
        Ok(match kind {
            ValueKind::Int96 => int96_micros(bytes),
            ValueKind::Since1970 { per_second } => {
                let value = bytes.first_chunk().copied().map(i64::from_le_bytes);
                value.and_then(|value| match per_second {
                    1_000_000_000 => Some(value.div_euclid(1_000)),
                    _ => value.checked_mul(1_000_000 / per_second),
                })
            }
            _ => None,
        })
    }

    /// Call this at most once per row.
    pub(super) fn is_empty_text(
        &mut self,
        name: ColumnName,
        row: u64,
    ) -> Result<Option<bool>, IndexError> {
        match self.column(name) {
            Some((needed, inflater)) if needed.kind != ValueKind::AlwaysNull => {
                needed.column.is_empty_text(row, inflater)
            }
            _ => Ok(None),
        }
    }

    pub(super) fn is_null(&mut self, name: ColumnName, row: u64) -> Result<bool, IndexError> {
        match self.column(name) {
            Some((needed, inflater)) if needed.kind != ValueKind::AlwaysNull => {
                needed.column.is_null(row, inflater)
            }
            _ => Ok(true),
        }
    }
}

/// INT96 has nanoseconds since midnight in 8 bytes and the Julian day in 4 bytes.
fn int96_micros(bytes: &[u8]) -> Option<i64> {
    const JULIAN_DAY_OF_1970: i64 = 2_440_588;
    const MICROS_A_DAY: i64 = 86_400 * 1_000_000;
    let (nanos, day) = bytes.split_first_chunk()?;
    let day = i64::from(u32::from_le_bytes(*day.first_chunk()?)) - JULIAN_DAY_OF_1970;
    let micros = i64::from_le_bytes(*nanos).div_euclid(1_000);
    day.checked_mul(MICROS_A_DAY)?.checked_add(micros)
}

fn kind(column: &ColumnDescriptor, usage: Use) -> Option<(ValueKind, Width)> {
    let physical = column.physical_type();
    let width = match physical {
        PhysicalType::INT32 | PhysicalType::FLOAT => Width::Fixed(4),
        PhysicalType::INT64 | PhysicalType::DOUBLE => Width::Fixed(8),
        PhysicalType::INT96 => Width::Fixed(12),
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            Width::Fixed(usize::try_from(column.type_length()).ok()?)
        }
        PhysicalType::BYTE_ARRAY => Width::Varying,
        // Never used, because for a boolean we read only whether a row has a value.
        PhysicalType::BOOLEAN => Width::Fixed(1),
    };
    let logical = column.logical_type_ref();
    if matches!(logical, Some(LogicalType::Unknown)) {
        return Some((ValueKind::AlwaysNull, width));
    }
    let is_number = matches!(physical, PhysicalType::INT32 | PhysicalType::INT64);
    let kind = match usage {
        Use::Presence => ValueKind::Presence,
        Use::Text if physical == PhysicalType::BYTE_ARRAY => ValueKind::Text,
        Use::Integer if is_number => match (logical, column.converted_type()) {
            (Some(LogicalType::Integer(IntType { is_signed: false, .. })), _)
            | (
                None,
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64,
            ) => ValueKind::Unsigned,
            (Some(LogicalType::Integer(_)), _)
            | (
                None,
                ConvertedType::NONE
                | ConvertedType::INT_8
                | ConvertedType::INT_16
                | ConvertedType::INT_32
                | ConvertedType::INT_64,
            ) => ValueKind::Signed,
            _ => return None,
        },
        Use::Time if physical == PhysicalType::INT96 => ValueKind::Int96,
        Use::Time if physical == PhysicalType::INT64 => {
            let per_second = match (logical, column.converted_type()) {
                (Some(LogicalType::Timestamp(TimestampType { unit, .. })), _) => match unit {
                    TimeUnit::MILLIS => 1_000,
                    TimeUnit::MICROS => 1_000_000,
                    TimeUnit::NANOS => 1_000_000_000,
                },
                (None, ConvertedType::TIMESTAMP_MILLIS) => 1_000,
                (None, ConvertedType::TIMESTAMP_MICROS) => 1_000_000,
                _ => return None,
            };
            ValueKind::Since1970 { per_second }
        }
        _ => return None,
    };
    Some((kind, width))
}

fn type_name(column: &ColumnDescriptor) -> String {
    let physical = column.physical_type();
    match column.logical_type_ref() {
        Some(logical) => format!("{physical} ({logical:?})"),
        None => physical.to_string(),
    }
}
