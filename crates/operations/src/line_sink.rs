//! Where an operation's lines go.

use std::fmt::Arguments;

use crate::error::OperationError;

/// Receives the lines of an operation. The command line writes them to standard output and
/// standard error; a test collects them.
pub trait LineSink: Send + Sync {
    /// Takes one line of the result, without its line feed.
    ///
    /// # Errors
    /// When the line cannot be written, and data would be lost.
    fn data(&self, line: Arguments<'_>) -> Result<(), OperationError>;

    /// Takes one line for a person: progress, a warning, a summary.
    fn note(&self, line: Arguments<'_>);
}
