//! Errors while reading an index file.
//!
//! Invariant: each message is one line and contains no path; the caller knows the file and prepends
//! its name to this message.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use parquet::errors::ParquetError;

/// Why an index file cannot be read. Reading the same bytes again gives the same error.
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
    /// A column that the filter or a capture needs is missing.
    #[error("the parquet file has no column {0}")]
    MissingColumn(&'static str),
    /// A column has a type that has never been used in the index.
    #[error("column {name} has type {found}, which the index never has")]
    ColumnType {
        /// Column name.
        name: &'static str,
        /// Its type in the file.
        found: String,
    },
    /// A column is stored in a way that this reader does not support.
    #[error("column {name} is {what}, which the index never is")]
    Unsupported {
        /// Column name.
        name: &'static str,
        /// How it is stored.
        what: String,
    },
    /// The needed columns in a row group are larger than the limit.
    #[error("row group {row_group} needs {bytes} bytes, more than the limit of {max_bytes}")]
    RowGroupTooLarge {
        /// Row group number, from 0.
        row_group: usize,
        /// Size of its needed columns in bytes, compressed or not, whichever is larger.
        bytes: u64,
        /// The limit in bytes.
        max_bytes: u64,
    },
    /// The bytes contradict themselves or the format.
    #[error("corrupt parquet file: {0}")]
    Corrupt(String),
    /// The caller supplied other bytes than the reader requested.
    #[error("wrong bytes supplied: {0}")]
    WrongSupply(String),
}

/// Calls the parquet crate on untrusted bytes, and returns an error if it panics.
///
/// The crate checks most of its input, but some accessors assert
/// (`ColumnChunkMetaData::byte_range`) and some decoders use numbers from the file as an index. The
/// maintainers treat such panics as bugs. Values that `work` borrowed must not be used again after
/// an error.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, IndexError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(IndexError::Corrupt(one_line(&error.to_string()))),
        Err(panic) => Err(IndexError::Corrupt(one_line(panic_message(&*panic)))),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a decoder gave up")
}

fn one_line(text: &str) -> String {
    /// Maximum characters in a decoder's message. It becomes one log line.
    const MAX_CHARS: usize = 300;
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_CHARS).collect()
}
