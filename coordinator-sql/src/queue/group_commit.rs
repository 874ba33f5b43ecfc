//! Group commit: overlapping completions in one process share a transaction.
//!
//! Every completion updates its stage's counter, and this row is locked until the commit. While one
//! completion holds the lock, later ones wait, and the next transaction contains all of them.
//!
//! The row is not locked during the disk write: the transaction commits without waiting for the
//! disk, and then the log is flushed. No caller gets a reply before the flush. Others may see the
//! commit before, which is safe because the log keeps its order: if a crash loses this commit, it
//! also loses theirs.
//!
//! If a group's transaction fails, or the call that sent it is cancelled, each of the other callers
//! completes its own job again. The fence prevents a second completion.

use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard, oneshot};

use crate::{
    connection::pool::Pool,
    error::Error,
    queue::{
        completion::{Completion, complete_flushed},
        job::Fence,
    },
};

/// Maximum jobs per transaction, which take about 30 ms of Postgres' CPU time.
const MAX_GROUP_JOBS: usize = 500;

/// Completions that wait for the next transaction.
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
            // The leader reports its error only to its own caller.
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

    /// The next leader starts as soon as this transaction has committed and released the counter,
    /// while its log is flushed.
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
                    // The caller may have been cancelled, but its job is completed.
                    let _ = waiting.answer.send(completion);
                }
                Ok(())
            }
            // In a larger group, another job may have caused the error, so each caller retries
            // alone.
            Err(error) if together.len() == 1 => Err(error),
            Err(_) => Ok(()),
        }
    }
}
