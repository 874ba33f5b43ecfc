//! The parent process: sends batches, handles deaths, and finds the item that caused a death.

use std::{ffi::OsString, io};

use parking_lot::Mutex;

use crate::{
    confine::Confinement,
    frames::{MAX_BATCH_BYTES, MAX_BATCH_ITEMS, MAX_ITEM_BYTES},
    process::{Death, Process},
};

/// An item counts as crashed after this many deaths that it caused. After this many deaths with
/// other causes, the sandbox returns [`SandboxError::Ended`].
const DEATHS: usize = 2;
/// A process is replaced after this many items, because a decoder may leak 250 KB of memory with
/// each item. Starting a process takes 3 ms.
const MAX_PROCESS_ITEMS: usize = 1_024;

/// An item that caused the deaths of two processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// How the second process died, for example its signal.
    pub how: String,
}

/// Why items were not processed. The items are not at fault.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// No process could be started or sandboxed.
    #[error("cannot start a decoder process: {0}")]
    Start(io::Error),
    /// Two processes were killed from outside, or exceeded their CPU time limit, while they
    /// processed the same item.
    #[error("decoder processes were killed from outside, the last one by {0}")]
    Ended(String),
    /// An item exceeds the maximum size.
    #[error("an item has {0} bytes, which is too large")]
    TooLarge(usize),
}

/// Child processes that handle items. Another one is started when all are busy.
#[derive(Debug)]
pub struct Sandbox {
    program: OsString,
    arguments: Vec<String>,
    idle: Mutex<Vec<Process>>,
}

impl Sandbox {
    /// Creates a sandbox. Its processes run `program` with these arguments, and `program` must call
    /// [`crate::serve`].
    pub fn new(program: impl Into<OsString>, arguments: Vec<String>) -> Self {
        Self { program: program.into(), arguments, idle: Mutex::default() }
    }

    /// Returns how processes are sandboxed.
    ///
    /// # Errors
    /// Returns [`SandboxError::Start`] if no process can be started.
    pub fn confinement(&self) -> Result<Confinement, SandboxError> {
        let process = self.take()?;
        let confinement = process.confinement;
        self.keep(process);
        Ok(confinement)
    }

    /// Processes items and passes the index and reply of each to `on_reply`, in order. Blocks the
    /// thread.
    ///
    /// # Errors
    /// Returns a [`SandboxError`]. Some items may already have had replies.
    pub fn perform(
        &self,
        items: &[&[u8]],
        mut on_reply: impl FnMut(usize, Result<Vec<u8>, Crash>),
    ) -> Result<(), SandboxError> {
        if let Some(large) = items.iter().find(|item| item.len() > MAX_ITEM_BYTES) {
            return Err(SandboxError::TooLarge(large.len()));
        }
        let mut first = 0;
        while let Some(rest) = items.get(first..).filter(|rest| !rest.is_empty()) {
            let mut process = self.take()?;
            let most = MAX_PROCESS_ITEMS.saturating_sub(process.items);
            let batch = rest.get(..batch_length(rest, most)).unwrap_or(rest);
            match replies(&mut process, batch, |i, reply| on_reply(first + i, Ok(reply))) {
                Ok(()) => {
                    self.keep(process);
                    first += batch.len();
                }
                Err(Failure { number, item, error }) => {
                    let reply = self.perform_alone(item, process.death(&error))?;
                    on_reply(first + number, reply);
                    first += number + 1;
                }
            }
        }
        Ok(())
    }

    /// Processes an item alone until there is a reply or enough processes have died.
    fn perform_alone(
        &self,
        item: &[u8],
        first: Death,
    ) -> Result<Result<Vec<u8>, Crash>, SandboxError> {
        let (mut own, mut others) = (0, 0);
        let mut death = first;
        loop {
            match death {
                Death::Own(_) => own += 1,
                Death::Other(_) => others += 1,
            }
            match death {
                Death::Own(how) if own >= DEATHS => return Ok(Err(Crash { how })),
                Death::Other(how) if others >= DEATHS => return Err(SandboxError::Ended(how)),
                Death::Own(_) | Death::Other(_) => {}
            }
            let mut process = self.start()?;
            let mut reply = Vec::new();
            match replies(&mut process, &[item], |_, bytes| reply = bytes) {
                Ok(()) => {
                    self.keep(process);
                    return Ok(Ok(reply));
                }
                Err(failure) => death = process.death(&failure.error),
            }
        }
    }

    fn take(&self) -> Result<Process, SandboxError> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| self.start(), Ok)
    }

    fn keep(&self, process: Process) {
        if process.items < MAX_PROCESS_ITEMS {
            self.idle.lock().push(process);
        }
    }

    fn start(&self) -> Result<Process, SandboxError> {
        Process::start(&self.program, &self.arguments).map_err(SandboxError::Start)
    }
}

struct Failure<'a> {
    number: usize,
    item: &'a [u8],
    error: io::Error,
}

/// If sending fails, the first item counts as the one without a reply.
fn replies<'a>(
    process: &mut Process,
    batch: &[&'a [u8]],
    mut on_reply: impl FnMut(usize, Vec<u8>),
) -> Result<(), Failure<'a>> {
    let mut sent = process.send(batch);
    for (number, item) in batch.iter().enumerate() {
        let reply = std::mem::replace(&mut sent, Ok(())).and_then(|()| process.read_reply());
        match reply {
            Ok(reply) => on_reply(number, reply),
            Err(error) => return Err(Failure { number, item, error }),
        }
    }
    Ok(())
}

fn batch_length(items: &[&[u8]], most: usize) -> usize {
    let mut bytes = 0;
    let fits = |item: &&&[u8]| {
        bytes += item.len();
        bytes <= MAX_BATCH_BYTES
    };
    items.iter().take(MAX_BATCH_ITEMS.min(most)).take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_at_least_one_item_and_at_most_its_maximum_bytes() {
        let half = vec![0; MAX_BATCH_BYTES / 2];
        assert_eq!(batch_length(&[&half, &half, &half], 3), 2);
        let large = vec![0; MAX_BATCH_BYTES + 1];
        assert_eq!(batch_length(&[&large, b"x"], 2), 1);
        let many = vec![&b"x"[..]; MAX_BATCH_ITEMS + 1];
        assert_eq!(batch_length(&many, usize::MAX), MAX_BATCH_ITEMS);
        assert_eq!(batch_length(&many, 7), 7);
    }
}
