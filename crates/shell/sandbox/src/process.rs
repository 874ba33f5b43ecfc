//! One child process: starts it, exchanges items and replies, and finds out why it died.

use std::{
    ffi::OsStr,
    io::{self, BufReader, BufWriter},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::{pipe::fcntl_setpipe_size, process::Signal};

use crate::{
    confine::Confinement,
    frames::{MAX_ANSWER_BYTES, read_bytes, read_greeting, write_batch},
};

/// Capacity of a pipe in bytes: the maximum that Linux allows to unprivileged users by default.
const PIPE_BYTES: usize = 1 << 20;
/// How long a process may take to exit after it has closed its output.
const ENDS_WITHIN: Duration = Duration::from_secs(5);
/// How often we check whether a process has exited.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// The item's handler crashed, made a forbidden call, or wrote a malformed reply.
    Own(String),
    /// The kernel killed the process because memory was short, an operator killed it, or the item
    /// took too much CPU time, which depends on the host.
    Other(String),
}

#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
    pub(crate) confinement: Confinement,
    pub(crate) items: usize,
}

impl Process {
    /// The process has its own process group, because signals from a terminal are meant for the
    /// parent.
    pub(crate) fn start(program: &OsStr, arguments: &[String]) -> io::Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        // Larger pipes take fewer writes per batch. This is only an optimization, so errors are
        // ignored.
        let _ = fcntl_setpipe_size(&input, PIPE_BYTES);
        let _ = fcntl_setpipe_size(&output, PIPE_BYTES);
        let input = BufWriter::new(input);
        let mut output = BufReader::new(output);
        let confinement = match read_greeting(&mut output) {
            Ok(Ok(confinement)) => confinement,
            greeting => {
                // It may already have exited.
                let _ = child.kill();
                let status = child.wait()?;
                return Err(match greeting {
                    Ok(Err(reason)) => io::Error::other(reason),
                    _ => io::Error::other(format!("it exited without a greeting: {status}")),
                });
            }
        };
        Ok(Self { child, input, output, confinement, items: 0 })
    }

    pub(crate) fn send(&mut self, items: &[&[u8]]) -> io::Result<()> {
        self.items += items.len();
        write_batch(&mut self.input, items)
    }

    /// After an error, the caller must pass the error to [`Self::death`].
    pub(crate) fn read_reply(&mut self) -> io::Result<Vec<u8>> {
        read_bytes(&mut self.output, MAX_ANSWER_BYTES)
    }

    pub(crate) fn death(mut self, error: &io::Error) -> Death {
        if error.kind() == io::ErrorKind::InvalidData {
            return Death::Own("a malformed reply".to_owned());
        }
        let until = Instant::now() + ENDS_WITHIN;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return cause_of(status),
                Ok(None) if Instant::now() < until => thread::sleep(LOOK_INTERVAL),
                Ok(None) => return Death::Own("no reply".to_owned()),
                Err(error) => return Death::Other(error.to_string()),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may already have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cause_of(status: ExitStatus) -> Death {
    let by_others = [Signal::KILL, Signal::XCPU, Signal::TERM, Signal::INT, Signal::HUP];
    match status.signal() {
        Some(signal) if by_others.iter().any(|one| one.as_raw() == signal) => {
            Death::Other(status.to_string())
        }
        _ => Death::Own(status.to_string()),
    }
}
