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

    /// Paints the lines that `frame` makes for a number of columns over those painted before.
    /// False: there is no terminal, and nothing was painted.
    fn paint(&self, frame: &dyn Fn(usize) -> Vec<String>) -> bool {
        let _ = frame;
        false
    }

    /// Leaves the last frame where it is; later lines stand below it.
    fn end_painting(&self) {}

    /// The columns that a line of data should fit into; no limit unless a terminal shows it.
    fn columns(&self) -> usize {
        usize::MAX
    }

    /// Writes log lines of another process above the frame, if frames are painted.
    fn log_writer(&self) -> Option<fn(&[u8])> {
        None
    }
}
