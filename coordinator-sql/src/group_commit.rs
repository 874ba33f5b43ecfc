//! Group commit: completions of one process that overlap in time share a transaction.
//!
//! Every completion changes its stage's counter, whose row is locked until the commit. A completion
//! that arrives while another one holds that row waits, and the next transaction carries all that
//! arrived meanwhile. A completion that arrives alone starts immediately; none is delayed to wait
//! for others.
//!
//! The row is not locked while the disk is written: the transaction commits without waiting for the
//! disk, and then the log is flushed. No caller is answered before the flush. Transactions that saw
//! the unflushed commit are safe: the log keeps its order, so theirs cannot survive a crash that
//! loses this one.
//!
//! If the transaction of a group fails, or the call that sent it is cancelled, each other caller
//! completes its own job again. The fence makes that safe: a job is not completed twice.

use std::sync::{self, PoisonError};

use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard, oneshot};

use crate::{
    completion::{Completion, complete_flushed},
    error::Error,
    job::Fence,
    pool::Pool,
};

/// Largest number of jobs in one transaction; 500 take about 30 ms of Postgres' processor.
const MAX_GROUP_JOBS: usize = 500;

/// The completions of a coordinator's clones that wait for the next transaction.
#[derive(Debug, Default)]
pub(crate) struct GroupCommit {
    waiting: sync::Mutex<Vec<Waiting>>,
    turn: Mutex<()>,
}

#[derive(Debug)]
struct Waiting {
    fence: Fence,
    stats: Value,
    answer: oneshot::Sender<Completion>,
}

impl GroupCommit {
    fn waiting(&self) -> sync::MutexGuard<'_, Vec<Waiting>> {
        // Nothing panics between changes, so a poisoned list is whole.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes a job that records no rows, together with those that meet it.
    pub(crate) async fn complete(
        &self,
        pool: &Pool,
        fence: Fence,
        stats: &Value,
    ) -> Result<Completion, Error> {
        let mut answer = self.join(fence, stats);
        let answered = loop {
            let turn = tokio::select! {
                biased;
                answered = &mut answer => break answered,
                turn = self.turn.lock() => turn,
            };
            if !self.is_waiting(fence) {
                drop(turn);
                break answer.await;
            }
            self.lead(pool, turn).await?;
        };
        match answered {
            Ok(completion) => Ok(completion),
            // Whoever took it along has failed, and says so to its own caller only.
            Err(_) => {
                let mut alone = complete_flushed(pool, &[fence], &[stats], || ()).await?;
                alone.pop().ok_or(Error::Unexpected("no completion".into()))
            }
        }
    }

    fn join(&self, fence: Fence, stats: &Value) -> oneshot::Receiver<Completion> {
        let (answer, receiver) = oneshot::channel();
        self.waiting().push(Waiting { fence, stats: stats.clone(), answer });
        receiver
    }

    fn is_waiting(&self, fence: Fence) -> bool {
        self.waiting().iter().any(|waiting| waiting.fence == fence)
    }

    /// Completes the first of what waits; the turn is the next one's while the log is flushed.
    async fn lead(&self, pool: &Pool, turn: MutexGuard<'_, ()>) -> Result<(), Error> {
        let together: Vec<Waiting> = {
            let mut waiting = self.waiting();
            waiting.retain(|waiting| !waiting.answer.is_closed());
            let count = waiting.len().min(MAX_GROUP_JOBS);
            waiting.drain(..count).collect()
        };
        let fences: Vec<Fence> = together.iter().map(|waiting| waiting.fence).collect();
        let stats: Vec<&Value> = together.iter().map(|waiting| &waiting.stats).collect();
        // The next group starts when this one has released the counter, while the log is flushed.
        let flushed = complete_flushed(pool, &fences, &stats, || drop(turn)).await;
        match flushed {
            Ok(completions) => {
                for (waiting, completion) in together.into_iter().zip(completions) {
                    // Whoever asked may be gone; the job is completed all the same.
                    let _ = waiting.answer.send(completion);
                }
                Ok(())
            }
            // Of one, the error is its own; of several, it may be another's.
            Err(error) if together.len() == 1 => Err(error),
            Err(_) => Ok(()),
        }
    }
}
