//! What a command failed with: one clear line, the exit code, and the errors that caused it.

use std::{error::Error, process::ExitCode};

/// The exit codes of `everytab-worker`; docs/cli.md lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The command did what it was asked for.
    Done = 0,
    /// The command failed.
    Failed = 1,
    /// The command line was not understood.
    Usage = 2,
    /// The scan finished with discarded jobs.
    Discards = 3,
    /// The command was asked to stop, and stopped in good order.
    Drained = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        // The discriminants are the codes.
        Self::from(exit as u8)
    }
}

/// Why a command ended, for a person: one line that names the input and what to do.
#[derive(Debug)]
pub struct CliError {
    /// The line that is printed on standard error.
    pub message: String,
    /// The exit code.
    pub exit: Exit,
    /// The error that the line was made from, if it was made from one.
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl CliError {
    /// A command that failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit: Exit::Failed, source: None }
    }

    /// A command line that asks for something impossible.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit: Exit::Usage, source: None }
    }

    /// The errors behind the message, the nearest one first; empty where the message is all there
    /// is.
    pub fn causes(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        let first: Option<&(dyn Error + 'static)> = match &self.source {
            Some(source) => Some(&**source),
            None => None,
        };
        std::iter::successors(first, |error| (*error).source())
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for CliError {
    fn from(error: E) -> Self {
        Self { message: error.to_string(), exit: Exit::Failed, source: Some(Box::new(error)) }
    }
}

/// The result of every command: the exit code, or why it failed.
pub type CliResult = Result<Exit, CliError>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_what_caused_it() {
        let number = "x".parse::<u8>().unwrap_err();
        let error = CliError::from(std::io::Error::other(number));
        assert_eq!(error.message, "invalid digit found in string");
        assert_eq!(error.causes().count(), 1);
        assert_eq!(CliError::new("no").causes().count(), 0);
    }
}
