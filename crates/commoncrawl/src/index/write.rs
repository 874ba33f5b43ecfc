//! Writes the columnar index of a live crawl: parquet files as Common Crawl's table has them.
//!
//! The schema is that of Common Crawl's files, values are compressed with gzip, and a dictionary is
//! used where it is smaller, as there. Rows come in the order of [`CaptureOrder`], so that a
//! reader finds the rows of a host together and skips row groups by their statistics.
//!
//! Invariants: the bytes are a pure function of the rows; memory is bounded by one row group and
//! the metadata of those before it; a row that a reader would not understand is an error that names
//! its URL. Must not know: where the file is stored, which captures a crawl indexes.

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

/// A row group is written as soon as its values have this many bytes before compression, so this
/// bounds what the writer keeps. Common Crawl's row groups have about 128 MB compressed; smaller
/// ones cost a few KB of metadata each.
pub const MAX_GROUP_BYTES: usize = 32 << 20;
/// Greatest number of rows of a row group: bounds what lengths, nulls and numbers take, which is up
/// to 280 bytes a row.
pub const MAX_GROUP_ROWS: usize = 100_000;
/// The name of the writer in the metadata. A version would make equal rows give other bytes.
const CREATED_BY: &str = "everytab-commoncrawl";

const _: () = assert!(MAX_ROW_BYTES < MAX_GROUP_BYTES);

/// The reason why an index cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum IndexWriteError {
    /// A row cannot be in an index.
    #[error(transparent)]
    Row(#[from] CaptureRowError),
    /// A row belongs before the one that was written last.
    #[error("the capture of {url:?} comes after one that it belongs before")]
    Unsorted {
        /// URL of the row, at most the first 200 characters.
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
}

impl<W: Write + Send> IndexWriter<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// The output fails.
    pub fn new(output: W) -> Result<Self, IndexWriteError> {
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
        Ok(Self { file, columns, group_bytes: 0, group_rows: 0, rows: 0, last: None })
    }

    /// Adds a row. Rows must come in ascending [`CaptureRow::order`].
    ///
    /// # Errors
    /// A row that no index can have, or that comes too late; then the file is as it was before. Or
    /// the output fails.
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
        if self.group_bytes >= MAX_GROUP_BYTES || self.group_rows >= MAX_GROUP_ROWS {
            self.write_group()?;
        }
        Ok(())
    }

    /// Returns the number of rows so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes what is left and the metadata, and returns the output.
    ///
    /// # Errors
    /// The output fails.
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
