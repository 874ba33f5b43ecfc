//! The output of `inspect`.

use std::io::{self, BufWriter, ErrorKind, Stdout, Write};

use serde::Serialize;

use crate::cli_error::{CliError, CliResult, Exit};

/// Returns the command's result. A closed pipe is not a failure, because its reader needs no more
/// lines.
pub(super) fn command_result(printed: io::Result<bool>) -> CliResult {
    match printed {
        Ok(false) => Ok(Exit::Done),
        Ok(true) => Ok(Exit::Failed),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Exit::Done),
        Err(error) => Err(CliError::new(format!("cannot write to standard output: {error}"))),
    }
}

pub(super) struct Lines {
    pub(super) out: BufWriter<Stdout>,
    /// Whether an input failed as a whole.
    pub(super) has_failed: bool,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self { out: BufWriter::with_capacity(64 << 10, io::stdout()), has_failed: false }
    }

    pub(super) fn print(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }

    pub(super) fn fail(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.has_failed = true;
        self.print(line)
    }

    /// Reports bad input on stderr, for human-readable output.
    pub(super) fn complain(&mut self, input: &str, error: &str) {
        self.has_failed = true;
        eprintln!("error: {input}: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_not_a_failure() {
        assert_eq!(command_result(Err(ErrorKind::BrokenPipe.into())).unwrap(), Exit::Done);
        assert_eq!(command_result(Ok(true)).unwrap(), Exit::Failed);
        assert!(command_result(Err(ErrorKind::StorageFull.into())).is_err());
    }
}
