//! Errors when reading an index file. Their messages omit the file's path.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use parquet::errors::ParquetError;

/// Why an index file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The file neither starts nor ends like a parquet file.
    #[error("not a parquet file: {0}")]
    NotParquet(&'static str),
    /// The file starts like a parquet file, but its end is missing.
    #[error("truncated parquet file: {0}")]
    Truncated(String),
    /// The file is encrypted.
    #[error("the parquet file is encrypted, which is not supported")]
    Encrypted,
    /// A needed column is missing.
    #[error("the parquet file has no column {0}")]
    MissingColumn(&'static str),
    /// A column has a type that the index has never used.
    #[error("column {name} has the unsupported type {found}")]
    ColumnType {
        /// Column name.
        name: &'static str,
        /// This column's type in the file.
        found: String,
    },
    /// A column is stored in an unsupported way.
    #[error("column {name} is {what}, which is not supported")]
    Unsupported {
        /// Column name.
        name: &'static str,
        /// How this column is stored.
        what: String,
    },
    /// A row group's needed columns are larger than the limit.
    #[error("row group {row_group} needs {bytes} bytes, more than the limit of {max_bytes}")]
    RowGroupTooLarge {
        /// Number of this row group, from 0.
        row_group: usize,
        /// Compressed or uncompressed size of the needed columns in bytes, whichever is larger.
        bytes: u64,
        /// Limit in bytes.
        max_bytes: u64,
    },
    /// The bytes violate the format or contradict themselves.
    #[error("corrupt parquet file: {0}")]
    Corrupt(String),
    /// The caller supplied other bytes than requested.
    #[error("wrong bytes supplied: {0}")]
    WrongSupply(String),
}

/// Returns an error if the parquet crate panics, because it asserts on numbers from the file. After
/// this error, do not use values that `work` borrowed.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, IndexError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(IndexError::Corrupt(one_line(&error.to_string()))),
        Err(panic) => Err(IndexError::Corrupt(one_line(panic_message(&*panic)))),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the decoder panicked")
}

fn one_line(text: &str) -> String {
    /// Maximum characters in a message, because this becomes one log line.
    const MAX_CHARS: usize = 300;
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_CHARS).collect()
}
