//! Prints data on standard output.
//!
//! If the reader closes the pipe early (`| head`), the command still completes and succeeds. Any
//! other error fails the command, because data would be lost.

use std::{
    fmt::{Arguments, Display},
    io::{ErrorKind, Write},
};

use everytab_console::LineSink;
use everytab_operations::progress::layout::row;

use crate::{
    cli_error::CliError,
    display::frame::{self, LogLines, Stream},
};

/// Prints a line and flushes it.
///
/// # Errors
/// Returns an error if stdout cannot be written, for example because the disk is full.
pub fn line(text: impl Display) -> Result<(), CliError> {
    print(format_args!("{text}\n")).map(drop)
}

/// Prints a row's parts, on several lines if the terminal is too narrow; see [`row`].
///
/// # Errors
/// Returns an error like [`line`].
pub fn parts(parts: &[&str]) -> Result<(), CliError> {
    line(row(parts, Stream::Stdout.columns()).join("\n"))
}

/// Prints and flushes. Returns false if the reader has closed the pipe.
///
/// # Errors
/// Returns an error like [`line`].
pub fn print(text: impl Display) -> Result<bool, CliError> {
    let mut stdout = std::io::stdout().lock();
    match write!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CliError::new(format!("cannot write to standard output: {error}"))),
    }
}

/// An operation's output: data on standard output, notes on standard error.
#[derive(Debug, Clone, Copy)]
pub struct StandardStreams;

impl LineSink for StandardStreams {
    fn data(&self, text: Arguments<'_>) -> Result<(), CliError> {
        line(text)
    }

    fn note(&self, text: Arguments<'_>) {
        eprintln!("{text}");
    }

    fn paint(&self, frame: &dyn Fn(usize) -> Vec<String>) -> bool {
        if !Stream::Stderr.is_terminal() {
            return false;
        }
        if let Err(error) = frame::paint(Stream::Stderr, |size| frame(size.columns)) {
            // The terminal may be gone. The operation continues.
            tracing::debug!(%error, "the display was not painted");
        }
        true
    }

    fn end_painting(&self) {
        frame::finish();
    }

    fn columns(&self) -> usize {
        Stream::Stdout.columns()
    }

    fn log_writer(&self) -> Option<fn(&[u8])> {
        let write: fn(&[u8]) = |lines| {
            if let Err(error) = LogLines.write_all(lines) {
                tracing::debug!(%error, "a line of another process was not shown");
            }
        };
        Stream::Stderr.is_terminal().then_some(write)
    }
}
