//! Writes a live crawl's columnar index with the schema and compression of Common Crawl's table.

mod columns;
mod row;
mod schema;

use std::{io::Write, sync::Arc};

use parquet::{
    basic::{Compression, GzipLevel},
    errors::ParquetError,
    file::{
        metadata::SortingColumn,
        properties::{WriterProperties, WriterVersion},
        writer::SerializedFileWriter,
    },
    schema::parser::parse_message_type,
};

use self::columns::ColumnBuffer;
pub use self::row::{
    CaptureOrder, CaptureRow, CaptureRowError, HostDomains, MAX_ROW_BYTES, RowRefusal,
};
pub(crate) use self::row::{CheckedRow, shortened};

/// A row group ends when its uncompressed values reach this many bytes, which bounds the writer's
/// memory.
pub const MAX_GROUP_BYTES: usize = 32 << 20;
/// Maximum rows in a row group. This bounds the memory for lengths, levels and numbers.
pub const MAX_GROUP_ROWS: usize = 100_000;
/// The writer's name in the metadata, without a version, so that an update does not change an
/// index's bytes.
const CREATED_BY: &str = "everytab-commoncrawl";

const _: () = assert!(MAX_ROW_BYTES < MAX_GROUP_BYTES);

/// Why an index cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum IndexWriteError {
    /// This row cannot be in an index.
    #[error(transparent)]
    Row(#[from] CaptureRowError),
    /// A row sorts before the last one written.
    #[error("captures are not sorted: {url:?} must precede the previous capture")]
    Unsorted {
        /// First 200 characters of this row's URL.
        url: String,
    },
    /// The parquet crate or the output failed.
    #[error("cannot write the index: {0}")]
    Parquet(#[from] ParquetError),
}

/// Writes one parquet file to `output`.
pub struct IndexWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<ColumnBuffer>,
    group_bytes: usize,
    group_rows: usize,
    rows: u64,
    last: Option<CaptureOrder>,
    max_group_rows: usize,
}

impl<W: Write + Send> IndexWriter<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// Returns an error if the output fails.
    pub fn new(output: W) -> Result<Self, IndexWriteError> {
        Self::with_group_rows(output, MAX_GROUP_ROWS)
    }

    /// Starts a file whose row groups have at most `max_group_rows` rows.
    ///
    /// # Errors
    /// Returns an error if the output fails.
    pub fn with_group_rows(output: W, max_group_rows: usize) -> Result<Self, IndexWriteError> {
        let schema = Arc::new(parse_message_type(schema::SCHEMA)?);
        let by_key = SortingColumn { column_idx: 0, descending: false, nulls_first: false };
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_created_by(CREATED_BY.to_owned())
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_sorting_columns(Some(vec![by_key]))
            .build();
        let columns = schema::columns(&schema);
        let file = SerializedFileWriter::new(output, schema, Arc::new(properties))?;
        let (group_bytes, group_rows, rows, last) = (0, 0, 0, None);
        Ok(Self { file, columns, group_bytes, group_rows, rows, last, max_group_rows })
    }

    /// Adds a row. Rows must be in ascending [`CaptureRow::order`].
    ///
    /// # Errors
    /// Returns an error if this row is invalid or out of order, or if the output fails.
    pub fn write(&mut self, row: &CaptureRow<'_>) -> Result<(), IndexWriteError> {
        let checked = row.checked()?;
        let order = checked.order();
        if self.last.as_ref().is_some_and(|last| *last > order) {
            return Err(IndexWriteError::Unsorted { url: shortened(row.url) });
        }
        for (column, value) in self.columns.iter_mut().zip(checked.values()) {
            self.group_bytes += column.push(value);
        }
        self.last = Some(order);
        self.rows += 1;
        self.group_rows += 1;
        if self.group_bytes >= MAX_GROUP_BYTES || self.group_rows >= self.max_group_rows {
            self.write_group()?;
        }
        Ok(())
    }

    /// Returns how many rows have been written so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes the remaining rows and the metadata, and returns the output.
    ///
    /// # Errors
    /// Returns an error if the output fails.
    pub fn finish(mut self) -> Result<W, IndexWriteError> {
        if self.group_rows > 0 {
            self.write_group()?;
        }
        Ok(self.file.into_inner()?)
    }

    fn write_group(&mut self) -> Result<(), IndexWriteError> {
        let mut group = self.file.next_row_group()?;
        for buffer in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            buffer.write(column.untyped())?;
            column.close()?;
        }
        group.close()?;
        (self.group_bytes, self.group_rows) = (0, 0);
        Ok(())
    }
}
