//! The side that performs: reads batches, answers items, and is confined.
//!
//! Must not know: who sends the items.

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

/// Bytes of answers that are written together.
const ANSWER_BYTES: usize = 256 << 10;

/// What a process may use.
#[derive(Clone, Copy, Debug)]
pub struct ProcessLimits {
    /// Bytes of address space. An allocation beyond it ends the process, by its own doing.
    pub address_space: u64,
    /// Processor time of a batch, in whole seconds: far above what its items may cost, so that it
    /// ends what would never end.
    pub processor_time: Duration,
}

/// Confines this process for good, then performs the items that come by standard input, and answers
/// by standard output, until the input ends. Called before there is another thread.
pub fn serve(limits: ProcessLimits, perform: impl FnMut(&[u8]) -> Vec<u8>) -> ExitCode {
    // Who sends is gone where nothing can be written.
    match answer_all(limits, perform, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn answer_all(
    limits: ProcessLimits,
    mut perform: impl FnMut(&[u8]) -> Vec<u8>,
    input: impl Read,
    output: impl Write,
) -> io::Result<()> {
    let (mut input, mut output) =
        (BufReader::new(input), BufWriter::with_capacity(ANSWER_BYTES, output));
    // The first call looks for the clock, by calls that are not allowed later.
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
        // Together: to wake the other side for each answer costs a twentieth of an icon.
        output.flush()?;
    }
    Ok(())
}

/// Processor time that this process has used, in whole seconds.
fn processor_time() -> u64 {
    clock_gettime(ClockId::ProcessCPUTime).tv_sec.unsigned_abs()
}
