//! One process that performs: started, spoken to, and looked at when it has died.
//!
//! Must not know: what is done about a death.

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

/// Bytes of a pipe: what Linux allows everybody.
const PIPE_BYTES: usize = 1 << 20;
/// How long a process whose output has ended may take to be gone.
const ENDS_WITHIN: Duration = Duration::from_secs(5);
/// How often it is looked whether it is.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// Whose doing a death was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// That of the item: what performed it crashed, did what it may not, or answered nonsense.
    Own(String),
    /// Another's: the kernel's for want of memory, an operator's; or the item took too much
    /// processor time, which depends on the machine.
    Other(String),
}

#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
    pub(crate) confinement: Confinement,
    /// Number of items that it was sent.
    pub(crate) items: usize,
}

impl Process {
    /// Starts a process without environment and files, in a group of its own: signals of a terminal
    /// are for who sends items.
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
        // A batch goes over at once. Where pipes may not be so large it takes more turns.
        let _ = fcntl_setpipe_size(&input, PIPE_BYTES);
        let _ = fcntl_setpipe_size(&output, PIPE_BYTES);
        let (input, mut output) = (BufWriter::new(input), BufReader::new(output));
        let confinement = match read_greeting(&mut output) {
            Ok(Ok(confinement)) => confinement,
            greeting => {
                // It may be gone already.
                let _ = child.kill();
                let status = child.wait()?;
                return Err(match greeting {
                    Ok(Err(reason)) => io::Error::other(reason),
                    _ => io::Error::other(format!("it ended without a word: {status}")),
                });
            }
        };
        Ok(Self { child, input, output, confinement, items: 0 })
    }

    pub(crate) fn send(&mut self, items: &[&[u8]]) -> io::Result<()> {
        self.items += items.len();
        write_batch(&mut self.input, items)
    }

    /// The answer to the next item. An error is the death of the process, or a reason for it.
    pub(crate) fn answer(&mut self) -> io::Result<Vec<u8>> {
        read_bytes(&mut self.output, MAX_ANSWER_BYTES)
    }

    /// Ends a process that gives no good answer, and says whose doing that was.
    pub(crate) fn death(mut self, error: &io::Error) -> Death {
        if error.kind() == io::ErrorKind::InvalidData {
            return Death::Own("an answer that is none".to_owned());
        }
        let until = Instant::now() + ENDS_WITHIN;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return whose(status),
                Ok(None) if Instant::now() < until => thread::sleep(LOOK_INTERVAL),
                Ok(None) => return Death::Own("no more answers".to_owned()),
                Err(error) => return Death::Other(error.to_string()),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn whose(status: ExitStatus) -> Death {
    let by_others = [Signal::KILL, Signal::XCPU, Signal::TERM, Signal::INT, Signal::HUP];
    match status.signal() {
        Some(signal) if by_others.iter().any(|one| one.as_raw() == signal) => {
            Death::Other(status.to_string())
        }
        _ => Death::Own(status.to_string()),
    }
}
