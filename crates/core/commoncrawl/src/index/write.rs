//! Writes the columnar index of a live crawl: parquet files like those in Common Crawl's table.
//!
//! The files have the schema of Common Crawl's files. As in these files, values are compressed with
//! gzip, and a dictionary is used if it is smaller. Rows are in the order of [`CaptureOrder`], so a
//! reader finds a host's rows together and can skip row groups by their statistics.
//!
//! Invariants: the bytes depend only on the rows and the row group limit; memory is bounded by one
//! row group and the metadata of the previous ones; if a reader could not understand a row, writing
//! it returns an error that names its URL. This module does not depend on where the file is stored,
//! or on which captures a crawl indexes.

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

/// A row group is written when its uncompressed values reach this many bytes. This bounds the
/// writer's memory. Common Crawl's row groups are larger (about 128 MB compressed), but a smaller
/// row group costs only a few KB of metadata.
pub const MAX_GROUP_BYTES: usize = 32 << 20;
/// Maximum rows in a row group. This bounds the memory for lengths, levels and numbers, which take
/// up to 280 bytes per row.
pub const MAX_GROUP_ROWS: usize = 100_000;
/// The writer's name in the metadata. It has no version, because otherwise the same rows would
/// yield different bytes after an update.
const CREATED_BY: &str = "everytab-commoncrawl";

const _: () = assert!(MAX_ROW_BYTES < MAX_GROUP_BYTES);

/// Why an index cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum IndexWriteError {
    /// A row cannot be in an index.
    #[error(transparent)]
    Row(#[from] CaptureRowError),
    /// A row sorts before the last one written.
    #[error("the capture of {url:?} comes after one that it belongs before")]
    Unsorted {
        /// The row's URL, up to its first 200 characters.
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

    /// Starts a file whose row groups have at most `max_group_rows` rows. Tests use this to create
    /// small files with several row groups.
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
    /// Returns an error if the row cannot be in an index or is out of order, and leaves the file
    /// unchanged; or if the output fails.
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
