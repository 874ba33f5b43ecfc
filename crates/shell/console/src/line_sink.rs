//! The destination of an operation's lines.

use std::fmt::Arguments;

use crate::operation_error::OperationError;

/// Receives an operation's lines.
pub trait LineSink: Send + Sync {
    /// Writes one line of the result, without a line feed.
    ///
    /// # Errors
    /// Returns an error if the line cannot be written, because this loses data.
    fn data(&self, line: Arguments<'_>) -> Result<(), OperationError>;

    /// Writes one line for the operator: progress, a warning, a summary.
    fn note(&self, line: Arguments<'_>);

    /// Calls `frame` with the terminal's number of columns, and paints the returned lines over the
    /// last frame. Returns false if there is no terminal.
    fn paint(&self, frame: &dyn Fn(usize) -> Vec<String>) -> bool {
        let _ = frame;
        false
    }

    /// Leaves the last frame on the screen, so that later lines appear below it.
    fn end_painting(&self) {}

    /// Returns how many columns a line of the result should fit into.
    fn columns(&self) -> usize {
        usize::MAX
    }

    /// Returns a function that writes another process's log lines above the frame.
    fn log_writer(&self) -> Option<fn(&[u8])> {
        None
    }
}
