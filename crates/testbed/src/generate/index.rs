//! The columnar index: one parquet file for each part and subset, with the columns of
//! cc-index-table.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{
        BinaryBuilder, Int16Builder, Int32Builder, StringBuilder, TimestampMicrosecondBuilder,
    },
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::{
    arrow::{ArrowWriter, arrow_writer::ArrowWriterOptions},
    basic::{Compression, GzipLevel},
    errors::ParquetError,
    file::properties::WriterProperties,
};

use super::{site::Capture, warc::Written};
use crate::error::TestbedError;

/// The rows kept in memory until they are written as a batch.
const BATCH_ROWS: usize = 4_096;
/// The rows of a row group: few, so that a file has several.
const ROW_GROUP_ROWS: usize = 16_384;

/// An index file that is being written.
pub(super) struct IndexFile {
    path: PathBuf,
    writer: ArrowWriter<File>,
    schema: Arc<Schema>,
    columns: Columns,
}

#[derive(Default)]
struct Columns {
    /// The string columns in the order of `COLUMNS`.
    strings: Vec<StringBuilder>,
    port: Int32Builder,
    fetch_time: TimestampMicrosecondBuilder,
    status: Int16Builder,
    record_id: BinaryBuilder,
    offset: Int32Builder,
    length: Int32Builder,
    rows: usize,
}

/// The columns in the order of the real schema: name, kind, and whether it is required.
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
    fn data_type(self) -> DataType {
        match self {
            Self::String => DataType::Utf8,
            Self::Port | Self::Offset | Self::Length => DataType::Int32,
            Self::FetchTime => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Status => DataType::Int16,
            Self::RecordId => DataType::Binary,
        }
    }
}

impl IndexFile {
    pub(super) fn create(path: &Path) -> Result<Self, TestbedError> {
        let fields: Vec<_> = COLUMNS
            .iter()
            .map(|(name, kind, required)| Field::new(*name, kind.data_type(), !required))
            .collect();
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_created_by("everytab-testbed".to_owned())
            .build();
        let options =
            ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let file = File::create(path).map_err(TestbedError::file(path))?;
        let writer = ArrowWriter::try_new_with_options(file, Arc::clone(&schema), options)
            .map_err(parquet_error(path))?;
        Ok(Self { path: path.to_owned(), writer, schema, columns: Columns::new() })
    }

    /// Adds the row of a capture. Rows must come sorted by `url_surtkey`.
    pub(super) fn row(
        &mut self,
        capture: &Capture,
        written: &Written,
        warc_name: &str,
        segment: &str,
    ) -> Result<(), TestbedError> {
        self.columns.push(capture, written, warc_name, segment);
        if self.columns.rows >= BATCH_ROWS {
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

    fn flush(&mut self) -> Result<(), ParquetError> {
        let columns = std::mem::replace(&mut self.columns, Columns::new());
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns.finish())?;
        self.writer.write(&batch)
    }
}

fn parquet_error(path: &Path) -> impl FnOnce(ParquetError) -> TestbedError {
    let path = path.to_owned();
    move |source| TestbedError::Parquet { path, source }
}

impl Columns {
    fn new() -> Self {
        let strings =
            COLUMNS.iter().filter(|(_, kind, _)| matches!(kind, ColumnKind::String)).count();
        Self { strings: (0..strings).map(|_| StringBuilder::new()).collect(), ..Self::default() }
    }

    fn push(&mut self, capture: &Capture, written: &Written, warc_name: &str, segment: &str) {
        let url = capture.url();
        let labels: Vec<&str> = capture.host.rsplit('.').collect();
        let reversed = labels.join(".");
        let label = |at: usize| labels.get(at).copied();
        // `.example` is not in the public suffix list, so its rule "*" applies.
        let suffix = label(0);
        let domain = label(1).map(|second| format!("{second}.{}", suffix.unwrap_or_default()));
        let values = [
            Some(capture.surt.as_str()),
            Some(&url),
            Some(&capture.host),
            suffix,
            label(1),
            label(2),
            label(3),
            label(4),
            suffix,
            domain.as_deref(),
            suffix,
            domain.as_deref(),
            Some(&reversed),
            Some(if capture.https { "https" } else { "http" }),
            Some(&capture.path),
            capture.query.as_deref(),
            capture.redirect.as_deref(),
            Some(&written.digest),
            Some(capture.mime),
            Some(capture.mime),
            capture.charset,
            capture.language,
            None,
            Some(warc_name),
            Some(segment),
        ];
        for (column, value) in self.strings.iter_mut().zip(values) {
            column.append_option(value);
        }
        self.port.append_option(capture.port.map(i32::from));
        self.fetch_time.append_value(capture.fetch_time_us());
        self.status.append_value(capture.status as i16);
        self.record_id.append_value(written.record_id);
        // The real columns have 32 bits, too; a part's WARC file is far below 2 GiB.
        self.offset.append_value(written.offset as i32);
        self.length.append_value(written.length as i32);
        self.rows += 1;
    }

    fn finish(mut self) -> Vec<ArrayRef> {
        let mut strings = self.strings.iter_mut();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(COLUMNS.len());
        for (_, kind, _) in COLUMNS {
            arrays.push(match kind {
                ColumnKind::String => match strings.next() {
                    Some(column) => Arc::new(column.finish()),
                    None => Arc::new(StringBuilder::new().finish()),
                },
                ColumnKind::Port => Arc::new(self.port.finish()),
                ColumnKind::FetchTime => Arc::new(self.fetch_time.finish().with_timezone("UTC")),
                ColumnKind::Status => Arc::new(self.status.finish()),
                ColumnKind::RecordId => Arc::new(self.record_id.finish()),
                ColumnKind::Offset => Arc::new(self.offset.finish()),
                ColumnKind::Length => Arc::new(self.length.finish()),
            });
        }
        arrays
    }
}
