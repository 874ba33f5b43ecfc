//! The sink for an operation's lines.

use std::fmt::Arguments;

use crate::operation_error::OperationError;

/// Receives an operation's lines. The command line writes them to standard output and standard
/// error; a test collects them.
pub trait LineSink: Send + Sync {
    /// Writes one line of the result, given without its line feed.
    ///
    /// # Errors
    /// Returns an error if the line cannot be written, so that data would be lost.
    fn data(&self, line: Arguments<'_>) -> Result<(), OperationError>;

    /// Writes one line for people: progress, a warning, a summary.
    fn note(&self, line: Arguments<'_>);

    /// Paints the lines that `frame` returns for a number of columns over those painted before.
    /// Returns false if there is no terminal, and paints nothing.
    fn paint(&self, frame: &dyn Fn(usize) -> Vec<String>) -> bool {
        let _ = frame;
        false
    }

    /// Leaves the last frame in place; later lines appear below it.
    fn end_painting(&self) {}

    /// Returns the columns that a line of data should fit into. Unlimited unless a terminal shows
    /// it.
    fn columns(&self) -> usize {
        usize::MAX
    }

    /// Returns a function that writes another process's log lines above the frame, if frames are
    /// painted.
    fn log_writer(&self) -> Option<fn(&[u8])> {
        None
    }
}
