//! What a command failed with: one clear line, and the exit code.

use std::process::ExitCode;

/// The exit codes, as the contract has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Failed.
    Failed = 1,
    /// The command line was not understood.
    Usage = 2,
    /// The scan finished with discarded jobs.
    Discards = 3,
    /// Drained on request.
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
pub struct Failure {
    /// The line.
    pub message: String,
    /// The code.
    pub exit: Exit,
}

impl Failure {
    /// Something went wrong.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit: Exit::Failed }
    }

    /// The command line asked for something that cannot be.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit: Exit::Usage }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

/// What every command answers.
pub type Outcome = Result<Exit, Failure>;
