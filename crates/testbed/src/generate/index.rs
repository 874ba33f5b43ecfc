//! The columnar index: one Parquet file for each part and subset, with cc-index-table's columns.
//!
//! The parquet crate's low-level writer writes one column chunk after the other. Its arrow feature
//! would compile a dozen more crates for the same bytes.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use parquet::{
    basic::{Compression, GzipLevel, LogicalType, Repetition, TimeUnit, Type as PhysicalType},
    data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type},
    errors::ParquetError,
    file::{
        properties::WriterProperties,
        writer::{SerializedColumnWriter, SerializedFileWriter},
    },
    schema::types::{Type, TypePtr},
};

use super::{site::GeneratedCapture, warc::WrittenRecord};
use crate::error::TestbedError;

/// Rows per row group: few, so that a file has several groups.
const ROW_GROUP_ROWS: usize = 16_384;
/// The definition level for a present value in an optional column.
const PRESENT: i16 = 1;

/// An index file that is being written.
pub(super) struct IndexFileWriter {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    columns: Vec<ColumnChunkWriter>,
    rows: usize,
}

/// The columns in the real schema's order: name, kind, and whether it is required.
const COLUMNS: [(&str, ColumnKind, bool); 31] = [
    ("url_surtkey", ColumnKind::String, true),
    ("url", ColumnKind::String, true),
    ("url_host_name", ColumnKind::String, true),
    ("url_host_tld", ColumnKind::String, false),
    ("url_host_2nd_last_part", ColumnKind::String, false),
    ("url_host_3rd_last_part", ColumnKind::String, false),
    ("url_host_4th_last_part", ColumnKind::String, false),
    ("url_host_5th_last_part", ColumnKind::String, false),
    ("url_host_registry_suffix", ColumnKind::String, false),
    ("url_host_registered_domain", ColumnKind::String, false),
    ("url_host_private_suffix", ColumnKind::String, false),
    ("url_host_private_domain", ColumnKind::String, false),
    ("url_host_name_reversed", ColumnKind::String, false),
    ("url_protocol", ColumnKind::String, true),
    ("url_port", ColumnKind::Port, false),
    ("url_path", ColumnKind::String, true),
    ("url_query", ColumnKind::String, false),
    ("fetch_time", ColumnKind::FetchTime, true),
    ("fetch_status", ColumnKind::Status, true),
    ("fetch_redirect", ColumnKind::String, false),
    ("content_digest", ColumnKind::String, false),
    ("content_mime_type", ColumnKind::String, false),
    ("content_mime_detected", ColumnKind::String, false),
    ("content_charset", ColumnKind::String, false),
    ("content_languages", ColumnKind::String, false),
    ("content_truncated", ColumnKind::String, false),
    ("warc_record_id", ColumnKind::RecordId, true),
    ("warc_filename", ColumnKind::String, true),
    ("warc_record_offset", ColumnKind::Offset, true),
    ("warc_record_length", ColumnKind::Length, true),
    ("warc_segment", ColumnKind::String, true),
];

/// A column's type in cc-index-table's schema.
#[derive(Clone, Copy)]
enum ColumnKind {
    String,
    Port,
    FetchTime,
    Status,
    RecordId,
    Offset,
    Length,
}

impl ColumnKind {
    fn physical(self) -> PhysicalType {
        match self {
            Self::String | Self::RecordId => PhysicalType::BYTE_ARRAY,
            Self::Port | Self::Offset | Self::Length | Self::Status => PhysicalType::INT32,
            Self::FetchTime => PhysicalType::INT64,
        }
    }

    fn logical(self) -> Option<LogicalType> {
        match self {
            Self::String => Some(LogicalType::String),
            Self::FetchTime => Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
            Self::Status => Some(LogicalType::integer(16, true)),
            Self::Port | Self::RecordId | Self::Offset | Self::Length => None,
        }
    }
}

/// One column's value in one row.
enum Cell<'a> {
    Null,
    Bytes(&'a [u8]),
    Int32(i32),
    Int64(i64),
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Bytes(text.as_bytes())
    }
}

impl<'a> From<Option<&'a str>> for Cell<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::from)
    }
}

/// One column's values in the current row group, and which rows have one.
struct ColumnChunkWriter {
    values: ChunkValues,
    /// One definition level per row. `None` if the column is required.
    levels: Option<Vec<i16>>,
}

enum ChunkValues {
    Bytes(Vec<ByteArray>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
}

impl ColumnChunkWriter {
    fn new((_, kind, required): &(&str, ColumnKind, bool)) -> Self {
        let values = match kind.physical() {
            PhysicalType::INT64 => ChunkValues::Int64(Vec::new()),
            PhysicalType::INT32 => ChunkValues::Int32(Vec::new()),
            _ => ChunkValues::Bytes(Vec::new()),
        };
        Self { values, levels: (!required).then(Vec::new) }
    }

    fn push(&mut self, cell: &Cell<'_>) {
        if let Some(levels) = &mut self.levels {
            levels.push(if matches!(cell, Cell::Null) { 0 } else { PRESENT });
        }
        match (&mut self.values, cell) {
            (ChunkValues::Bytes(values), Cell::Bytes(bytes)) => {
                values.push(ByteArray::from(bytes.to_vec()));
            }
            (ChunkValues::Int32(values), Cell::Int32(value)) => values.push(*value),
            (ChunkValues::Int64(values), Cell::Int64(value)) => values.push(*value),
            // `cells` gives each column its kind; a missing row is an error in the writer.
            _ => {}
        }
    }

    fn write(self, mut writer: SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = self.levels.as_deref();
        match &self.values {
            ChunkValues::Bytes(values) => {
                writer.typed::<ByteArrayType>().write_batch(values, levels, None)?;
            }
            ChunkValues::Int32(values) => {
                writer.typed::<Int32Type>().write_batch(values, levels, None)?;
            }
            ChunkValues::Int64(values) => {
                writer.typed::<Int64Type>().write_batch(values, levels, None)?;
            }
        }
        writer.close()
    }
}

impl IndexFileWriter {
    pub(super) fn create(path: &Path) -> Result<Self, TestbedError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_created_by("everytab-testbed".to_owned())
            .build();
        let file = File::create(path).map_err(TestbedError::file(path))?;
        let writer = schema()
            .and_then(|schema| SerializedFileWriter::new(file, schema, Arc::new(properties)))
            .map_err(parquet_error(path))?;
        Ok(Self { path: path.to_owned(), writer, columns: empty_columns(), rows: 0 })
    }

    /// Adds a capture's row. Rows must be sorted by `url_surtkey`.
    pub(super) fn row(
        &mut self,
        capture: &GeneratedCapture,
        written: &WrittenRecord,
        warc_name: &str,
        segment: &str,
    ) -> Result<(), TestbedError> {
        push_row(&mut self.columns, capture, written, warc_name, segment);
        self.rows += 1;
        if self.rows >= ROW_GROUP_ROWS {
            self.flush().map_err(parquet_error(&self.path))?;
        }
        Ok(())
    }

    /// Writes the remaining rows and the footer.
    pub(super) fn finish(mut self) -> Result<(), TestbedError> {
        self.flush().map_err(parquet_error(&self.path))?;
        self.writer.close().map_err(parquet_error(&self.path))?;
        Ok(())
    }

    /// Writes the rows in memory as a row group.
    fn flush(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let mut group = self.writer.next_row_group()?;
        for column in std::mem::replace(&mut self.columns, empty_columns()) {
            if let Some(writer) = group.next_column()? {
                column.write(writer)?;
            }
        }
        group.close()?;
        Ok(())
    }
}

fn empty_columns() -> Vec<ColumnChunkWriter> {
    COLUMNS.iter().map(ColumnChunkWriter::new).collect()
}

fn schema() -> Result<TypePtr, ParquetError> {
    let fields = COLUMNS.iter().map(|(name, kind, required)| {
        let repetition = if *required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        Type::primitive_type_builder(name, kind.physical())
            .with_logical_type(kind.logical())
            .with_repetition(repetition)
            .build()
            .map(Arc::new)
    });
    // The root's name in arrow's writer, so that files do not change.
    let root = Type::group_type_builder("arrow_schema");
    Ok(Arc::new(root.with_fields(fields.collect::<Result<_, _>>()?).build()?))
}

fn parquet_error(path: &Path) -> impl FnOnce(ParquetError) -> TestbedError {
    let path = path.to_owned();
    move |source| TestbedError::Parquet { path, source }
}

fn push_row(
    columns: &mut [ColumnChunkWriter],
    capture: &GeneratedCapture,
    written: &WrittenRecord,
    warc_name: &str,
    segment: &str,
) {
    let url = capture.url();
    let labels: Vec<&str> = capture.host.rsplit('.').collect();
    let reversed = labels.join(".");
    let label = |at: usize| Cell::from(labels.get(at).copied());
    // `.example` is not in the public suffix list, so the list's rule "*" applies.
    let suffix = labels.first().copied();
    let domain = labels.get(1).map(|second| format!("{second}.{}", suffix.unwrap_or_default()));
    let cells: [Cell<'_>; COLUMNS.len()] = [
        capture.surt.as_str().into(),
        url.as_str().into(),
        capture.host.as_str().into(),
        label(0),
        label(1),
        label(2),
        label(3),
        label(4),
        suffix.into(),
        domain.as_deref().into(),
        suffix.into(),
        domain.as_deref().into(),
        reversed.as_str().into(),
        if capture.https { "https" } else { "http" }.into(),
        capture.port.map_or(Cell::Null, |port| Cell::Int32(i32::from(port))),
        capture.path.as_str().into(),
        capture.query.as_deref().into(),
        Cell::Int64(capture.fetch_time_us()),
        Cell::Int32(i32::from(capture.status)),
        capture.redirect.as_deref().into(),
        written.digest.as_str().into(),
        capture.mime.into(),
        capture.mime.into(),
        capture.charset.into(),
        capture.language.into(),
        Cell::Null,
        Cell::Bytes(written.record_id.as_ref()),
        warc_name.into(),
        // The real columns also have 32 bits, and a part's WARC file is far below 2 GiB.
        Cell::Int32(written.offset as i32),
        Cell::Int32(written.length as i32),
        segment.into(),
    ];
    for (column, cell) in columns.iter_mut().zip(&cells) {
        column.push(cell);
    }
}
