//! What a command failed with, and the exit code.

use std::process::ExitCode;

pub use everytab_operations::OperationError as CliError;

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

impl Exit {
    /// The exit code of a command that failed.
    pub fn of(error: &CliError) -> Self {
        if error.is_usage { Self::Usage } else { Self::Failed }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        // The discriminants are the codes.
        Self::from(exit as u8)
    }
}

/// The result of every command: the exit code, or why it failed.
pub type CliResult = Result<Exit, CliError>;
