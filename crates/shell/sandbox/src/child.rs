//! The child process: sandboxes itself, reads batches, and writes a reply to each item.

use std::{
    io::{self, BufReader, BufWriter, Read, Write},
    process::ExitCode,
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

use crate::{
    confine::{allow_processor_time, confine},
    frames::{read_batch, write_bytes, write_greeting},
};

/// Buffer size for replies.
const ANSWER_BYTES: usize = 256 << 10;

/// Resource limits for a process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessLimits {
    /// Maximum bytes of address space. A process that exceeds it dies, which counts against the
    /// item.
    pub address_space: u64,
    /// Maximum CPU time for a batch, in whole seconds, which stops endless loops.
    pub processor_time: Duration,
}

/// Sandboxes this process permanently, then handles items from standard input until this ends. Must
/// be called before another thread is started.
pub fn serve(limits: ProcessLimits, perform: impl FnMut(&[u8]) -> Vec<u8>) -> ExitCode {
    // This process could not be sandboxed, or a pipe to the parent process broke.
    match reply_to_all(limits, perform, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn reply_to_all(
    limits: ProcessLimits,
    mut perform: impl FnMut(&[u8]) -> Vec<u8>,
    input: impl Read,
    output: impl Write,
) -> io::Result<()> {
    let (mut input, mut output) =
        (BufReader::new(input), BufWriter::with_capacity(ANSWER_BYTES, output));
    // Loading the clock takes system calls that are denied later, so read the clock once now.
    processor_time();
    let confined = confine(limits.address_space);
    write_greeting(&mut output, &confined)?;
    if confined.is_err() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    while let Some(items) = read_batch(&mut input)? {
        allow_processor_time(processor_time(), limits.processor_time.as_secs())?;
        for item in items {
            write_bytes(&mut output, &perform(&item))?;
        }
        // Waking the parent for each reply would take a twentieth of the time for an icon.
        output.flush()?;
    }
    Ok(())
}

fn processor_time() -> u64 {
    clock_gettime(ClockId::ProcessCPUTime).tv_sec.unsigned_abs()
}
