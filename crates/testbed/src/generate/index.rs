//! The columnar index: one parquet file a part and subset, with the columns of cc-index-table.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, Int16Builder, Int32Builder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, GzipLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::site::Capture;
use super::warc::Written;
use crate::error::TestbedError;

/// Rows held until they are written as a batch.
const BATCH_ROWS: usize = 4_096;
/// Rows of a row group: small enough that a file has several.
const ROW_GROUP_ROWS: usize = 16_384;

/// A file of the index being written.
pub(super) struct IndexFile {
    path: PathBuf,
    writer: ArrowWriter<File>,
    schema: Arc<Schema>,
    columns: Columns,
}

#[derive(Default)]
struct Columns {
    /// The string columns in the order of `STRINGS`.
    strings: Vec<StringBuilder>,
    port: Int32Builder,
    fetch_time: TimestampMicrosecondBuilder,
    status: Int16Builder,
    record_id: BinaryBuilder,
    offset: Int32Builder,
    length: Int32Builder,
    rows: usize,
}

/// The columns in the order of the real schema; `required` is what it says.
const COLUMNS: [(&str, Kind, bool); 31] = [
    ("url_surtkey", Kind::String, true),
    ("url", Kind::String, true),
    ("url_host_name", Kind::String, true),
    ("url_host_tld", Kind::String, false),
    ("url_host_2nd_last_part", Kind::String, false),
    ("url_host_3rd_last_part", Kind::String, false),
    ("url_host_4th_last_part", Kind::String, false),
    ("url_host_5th_last_part", Kind::String, false),
    ("url_host_registry_suffix", Kind::String, false),
    ("url_host_registered_domain", Kind::String, false),
    ("url_host_private_suffix", Kind::String, false),
    ("url_host_private_domain", Kind::String, false),
    ("url_host_name_reversed", Kind::String, false),
    ("url_protocol", Kind::String, true),
    ("url_port", Kind::Port, false),
    ("url_path", Kind::String, true),
    ("url_query", Kind::String, false),
    ("fetch_time", Kind::FetchTime, true),
    ("fetch_status", Kind::Status, true),
    ("fetch_redirect", Kind::String, false),
    ("content_digest", Kind::String, false),
    ("content_mime_type", Kind::String, false),
    ("content_mime_detected", Kind::String, false),
    ("content_charset", Kind::String, false),
    ("content_languages", Kind::String, false),
    ("content_truncated", Kind::String, false),
    ("warc_record_id", Kind::RecordId, true),
    ("warc_filename", Kind::String, true),
    ("warc_record_offset", Kind::Offset, true),
    ("warc_record_length", Kind::Length, true),
    ("warc_segment", Kind::String, true),
];

#[derive(Clone, Copy)]
enum Kind {
    String,
    Port,
    FetchTime,
    Status,
    RecordId,
    Offset,
    Length,
}

impl Kind {
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

    /// Writes the rest and the footer.
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
        let strings = COLUMNS.iter().filter(|(_, kind, _)| matches!(kind, Kind::String)).count();
        Self { strings: (0..strings).map(|_| StringBuilder::new()).collect(), ..Self::default() }
    }

    fn push(&mut self, capture: &Capture, written: &Written, warc_name: &str, segment: &str) {
        let url = capture.url();
        let labels: Vec<&str> = capture.host.rsplit('.').collect();
        let reversed = labels.join(".");
        let label = |at: usize| labels.get(at).copied();
        // No public suffix lies under a name that no one can own: the rule "*" decides.
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
        // The real columns are 32 bits too; a part's WARC file is far below 2 GiB.
        self.offset.append_value(written.offset as i32);
        self.length.append_value(written.length as i32);
        self.rows += 1;
    }

    fn finish(mut self) -> Vec<ArrayRef> {
        let mut strings = self.strings.iter_mut();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(COLUMNS.len());
        for (_, kind, _) in COLUMNS {
            arrays.push(match kind {
                Kind::String => match strings.next() {
                    Some(column) => Arc::new(column.finish()),
                    None => Arc::new(StringBuilder::new().finish()),
                },
                Kind::Port => Arc::new(self.port.finish()),
                Kind::FetchTime => Arc::new(self.fetch_time.finish().with_timezone("UTC")),
                Kind::Status => Arc::new(self.status.finish()),
                Kind::RecordId => Arc::new(self.record_id.finish()),
                Kind::Offset => Arc::new(self.offset.finish()),
                Kind::Length => Arc::new(self.length.finish()),
            });
        }
        arrays
    }
}
