//! Lines of data for whoever reads stdout.
//!
//! Invariant: a reader that has seen enough (`| head`) neither ends a command halfway nor makes it
//! fail; any other trouble with stdout does, because data would be lost.

use std::{
    fmt::Display,
    io::{ErrorKind, Write},
};

use crate::cli_error::CliError;

/// Prints a line at once.
///
/// # Errors
/// When stdout cannot be written, as on a full disk.
pub fn line(text: impl Display) -> Result<(), CliError> {
    print(format_args!("{text}\n")).map(drop)
}

/// Prints at once. False: nobody reads any more.
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
