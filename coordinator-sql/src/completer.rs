//! Completions that meet go together: one transaction, one wait for the disk, one turn at the
//! stage's counter.
//!
//! Every completion changes its stage's counter and holds its row until the commit is on disk, so
//! completions that go one by one wait for the disk one after the other. Here a call that comes
//! while another is on its way waits for that, and then takes along all that came meanwhile.
//! Nothing is held back: a call that meets none goes at once. Nobody is answered before the commit.
//!
//! A call answers for itself alone. Where a transaction of several fails, or whoever made it is
//! gone, the others ask again, which the fence makes safe: what was recorded is not recorded twice.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::{Completion, Coordinator, Error, Fence};

/// Jobs of one transaction at most.
const MOST: usize = 500;

/// The completions of a coordinator's clones that wait for their turn.
#[derive(Debug, Default)]
pub(crate) struct Completer {
    waiting: Mutex<Vec<Waiting>>,
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Waiting {
    fence: Fence,
    stats: Value,
    answer: oneshot::Sender<Completion>,
}

impl Completer {
    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        // Nothing panics between changes, so a poisoned list is whole.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes a job that records no rows, together with those that meet it.
    pub(crate) async fn complete(
        &self,
        coordinator: &Coordinator,
        fence: Fence,
        stats: &Value,
    ) -> Result<Completion, Error> {
        let mut answer = self.join(fence, stats);
        let _turn = self.turn.lock().await;
        loop {
            match answer.try_recv() {
                Ok(completion) => return Ok(completion),
                // Whoever took it along has failed, and says so to its own caller only.
                Err(TryRecvError::Closed) => {
                    let mut alone = coordinator.complete_at_once(&[fence], &[stats]).await?;
                    return alone.pop().ok_or(Error::Unexpected("no completion".into()));
                }
                Err(TryRecvError::Empty) => self.go(coordinator).await?,
            }
        }
    }

    fn join(&self, fence: Fence, stats: &Value) -> oneshot::Receiver<Completion> {
        let (answer, receiver) = oneshot::channel();
        self.waiting().push(Waiting { fence, stats: stats.clone(), answer });
        receiver
    }

    /// Completes the first of what waits.
    async fn go(&self, coordinator: &Coordinator) -> Result<(), Error> {
        let together: Vec<Waiting> = {
            let mut waiting = self.waiting();
            waiting.retain(|waiting| !waiting.answer.is_closed());
            let most = waiting.len().min(MOST);
            waiting.drain(..most).collect()
        };
        let fences: Vec<Fence> = together.iter().map(|waiting| waiting.fence).collect();
        let stats: Vec<&Value> = together.iter().map(|waiting| &waiting.stats).collect();
        match coordinator.complete_at_once(&fences, &stats).await {
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
