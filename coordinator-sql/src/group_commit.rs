//! Group commit: overlapping completions of one process share a transaction.
//!
//! Every completion changes its stage's counter, whose row is locked until the commit. While one
//! completion holds this row, later ones wait, and the next transaction carries all of them. A
//! completion that arrives alone starts immediately; none is delayed to wait for others.
//!
//! The row is not locked during the disk write: the transaction commits without waiting for the
//! disk, and then the log is flushed. No caller gets a reply before the flush. Transactions that
//! saw the unflushed commit are safe: the log keeps its order, so theirs cannot survive a crash
//! that loses this one.
//!
//! If the transaction of a group fails, or the call that sent it is cancelled, each other caller
//! completes its own job again. The fence makes this safe: a job is not completed twice.

use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard, oneshot};

use crate::{
    completion::{Completion, complete_flushed},
    error::Error,
    job::Fence,
    pool::Pool,
};

/// Maximum jobs in one transaction; 500 take about 30 ms of Postgres' CPU.
const MAX_GROUP_JOBS: usize = 500;

/// Completions from a coordinator's clones that wait for the next transaction.
#[derive(Debug, Default)]
pub(crate) struct GroupCommit {
    waiting: parking_lot::Mutex<Vec<Waiting>>,
    leader: Mutex<()>,
}

#[derive(Debug)]
struct Waiting {
    fence: Fence,
    stats: Value,
    answer: oneshot::Sender<Completion>,
}

impl GroupCommit {
    /// Completes a job that records no rows, in one transaction with other waiting ones.
    pub(crate) async fn complete(
        &self,
        pool: &Pool,
        fence: Fence,
        stats: &Value,
    ) -> Result<Completion, Error> {
        let mut answer = self.join(fence, stats);
        let answered = loop {
            let leading = tokio::select! {
                biased;
                answered = &mut answer => break answered,
                leading = self.leader.lock() => leading,
            };
            if !self.is_waiting(fence) {
                drop(leading);
                break answer.await;
            }
            self.lead(pool, leading).await?;
        };
        match answered {
            Ok(completion) => Ok(completion),
            // The call that led the group failed, and reports that to its own caller only.
            Err(_) => {
                let mut alone = complete_flushed(pool, &[fence], &[stats], || ()).await?;
                alone.pop().ok_or(Error::Unexpected("no completion".into()))
            }
        }
    }

    fn join(&self, fence: Fence, stats: &Value) -> oneshot::Receiver<Completion> {
        let (answer, receiver) = oneshot::channel();
        self.waiting.lock().push(Waiting { fence, stats: stats.clone(), answer });
        receiver
    }

    fn is_waiting(&self, fence: Fence) -> bool {
        self.waiting.lock().iter().any(|waiting| waiting.fence == fence)
    }

    /// Completes the waiting jobs, up to [`MAX_GROUP_JOBS`]. The next call leads once this one has
    /// released the counter, while the log is flushed.
    async fn lead(&self, pool: &Pool, leading: MutexGuard<'_, ()>) -> Result<(), Error> {
        let together: Vec<Waiting> = {
            let mut waiting = self.waiting.lock();
            waiting.retain(|waiting| !waiting.answer.is_closed());
            let count = waiting.len().min(MAX_GROUP_JOBS);
            waiting.drain(..count).collect()
        };
        let fences: Vec<Fence> = together.iter().map(|waiting| waiting.fence).collect();
        let stats: Vec<&Value> = together.iter().map(|waiting| &waiting.stats).collect();
        let flushed = complete_flushed(pool, &fences, &stats, || drop(leading)).await;
        match flushed {
            Ok(completions) => {
                for (waiting, completion) in together.into_iter().zip(completions) {
                    // The caller may have been cancelled; its job is completed all the same.
                    let _ = waiting.answer.send(completion);
                }
                Ok(())
            }
            // The error of a single job is returned to its caller; in a group it may be another
            // job's fault.
            Err(error) if together.len() == 1 => Err(error),
            Err(_) => Ok(()),
        }
    }
}
