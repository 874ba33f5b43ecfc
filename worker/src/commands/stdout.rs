//! Lines of data on standard output.
//!
//! Invariant: a reader that closes the pipe early (`| head`) neither ends a command halfway nor makes
//! it fail; any other error of standard output does, because data would be lost.

use std::{
    fmt::{Arguments, Display},
    io::{ErrorKind, Write},
};

use everytab_operations::LineSink;

use crate::cli_error::CliError;

/// Prints a line, and flushes it.
///
/// # Errors
/// When stdout cannot be written, as on a full disk.
pub fn line(text: impl Display) -> Result<(), CliError> {
    print(format_args!("{text}\n")).map(drop)
}

/// Prints, and flushes. False: the reader has closed the pipe.
///
/// # Errors
/// As [`line`].
pub fn print(text: impl Display) -> Result<bool, CliError> {
    let mut stdout = std::io::stdout().lock();
    match write!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CliError::new(format!("cannot write to standard output: {error}"))),
    }
}

/// The lines of an operation: data on standard output, notes on standard error.
#[derive(Debug, Clone, Copy)]
pub struct StandardStreams;

impl LineSink for StandardStreams {
    fn data(&self, text: Arguments<'_>) -> Result<(), CliError> {
        line(text)
    }

    fn note(&self, text: Arguments<'_>) {
        eprintln!("{text}");
    }
}
