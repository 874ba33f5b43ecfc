//! What can be wrong with an index file, as one clear line each.
//!
//! Invariant: no message spans lines or names a path; the caller knows the file and puts its name
//! before the message.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;

/// Why an index file cannot be read. Each is final: reading the same bytes again gives the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The file neither begins nor ends as a parquet file does.
    #[error("not a parquet file: {0}")]
    NotParquet(&'static str),
    /// The file begins as a parquet file but its end is missing.
    #[error("truncated parquet file: {0}")]
    Truncated(String),
    /// The file is encrypted.
    #[error("the parquet file is encrypted, which is not supported")]
    Encrypted,
    /// A column that the filter or a capture needs is not there.
    #[error("the parquet file has no column {0}")]
    MissingColumn(&'static str),
    /// A column has a type that no version of the index has had.
    #[error("column {name} has type {found}, which the index never has")]
    ColumnType {
        /// The column.
        name: &'static str,
        /// The Arrow type it has.
        found: String,
    },
    /// A column is stored in a way that this reader does not know.
    #[error("column {name} is {what}, which the index never is")]
    Unsupported {
        /// The column.
        name: &'static str,
        /// How it is stored.
        what: String,
    },
    /// What the projected columns of one row group take is more than the reader may hold.
    #[error("row group {row_group} needs {bytes} bytes, more than the limit of {max_bytes}")]
    RowGroupTooLarge {
        /// Its number, from 0.
        row_group: usize,
        /// Bytes of its projected columns, compressed or not, whichever is more.
        bytes: u64,
        /// The limit in force.
        max_bytes: u64,
    },
    /// The bytes contradict themselves or the format.
    #[error("corrupt parquet file: {0}")]
    Corrupt(String),
    /// The caller supplied something else than what was asked for.
    #[error("wrong bytes supplied: {0}")]
    WrongSupply(String),
}

/// Runs a piece of the parquet crate on bytes from outside, its panics made into errors.
///
/// The crate checks most of what it reads, but some accessors assert (`ColumnChunkMetaData::
/// byte_range`) and some decoders index by numbers from the file; upstream calls such panics on
/// corrupt input bugs, not promises. What `work` borrowed is not used again after an error.
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
    const MAX_CHARS: usize = 300;
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_CHARS).collect()
}
