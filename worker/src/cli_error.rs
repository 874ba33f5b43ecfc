//! The errors of commands, and the exit codes.

use std::process::ExitCode;

pub use everytab_console::OperationError as CliError;

/// Exit codes for `everytab-worker`, as in docs/cli.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded.
    Done = 0,
    /// The command failed.
    Failed = 1,
    /// The command line is invalid.
    Usage = 2,
    /// The scan finished with discarded jobs.
    Discards = 3,
    /// The command received a signal to stop, and shut down cleanly.
    Drained = 4,
}

impl Exit {
    /// Returns the exit code for a failed command.
    pub fn of(error: &CliError) -> Self {
        if error.is_usage { Self::Usage } else { Self::Failed }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// A command's result.
pub type CliResult = Result<Exit, CliError>;
