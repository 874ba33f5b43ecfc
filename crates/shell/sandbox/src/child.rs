//! The child process: sandboxes itself, reads batches, and writes a reply to each item.
//!
//! Does not depend on who sends the items.

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

/// Buffer size for replies that are written together.
const ANSWER_BYTES: usize = 256 << 10;

/// Resource limits for a process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessLimits {
    /// Maximum bytes of address space. An allocation beyond it ends the process, which counts
    /// against the item.
    pub address_space: u64,
    /// Maximum CPU time for a batch, in whole seconds. It is far above the cost of its items, and
    /// ends endless loops.
    pub processor_time: Duration,
}

/// Sandboxes this process permanently, then performs items from standard input and writes replies
/// to standard output until the input ends. Call this before starting another thread.
pub fn serve(limits: ProcessLimits, perform: impl FnMut(&[u8]) -> Vec<u8>) -> ExitCode {
    // If nothing can be written, the parent process has exited.
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
    // The first call loads the clock through system calls that are not allowed later.
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
        // Flush once per batch, because waking the parent for each reply costs a twentieth of an
        // icon.
        output.flush()?;
    }
    Ok(())
}

/// Returns the CPU time that this process has used, in whole seconds.
fn processor_time() -> u64 {
    clock_gettime(ClockId::ProcessCPUTime).tv_sec.unsigned_abs()
}
