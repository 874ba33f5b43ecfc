//! Completions that meet go together: one transaction, one turn at the stage's counter.
//!
//! Every completion changes its stage's counter, whose row is locked until the commit. A call that
//! comes while another is at the counter waits for that, and then takes along all that came
//! meanwhile. Nothing is held back: a call that meets none goes at once.
//!
//! Nobody waits for the disk with the counter's row locked, either: the transaction commits without
//! waiting, and then the log is flushed. Nobody is answered before that. What others saw meanwhile
//! is safe to build on: the log keeps its order, so theirs cannot survive where this does not.
//!
//! A call answers for itself alone. Where a transaction of several fails, or whoever made it is
//! gone, the others ask again, which the fence makes safe: what was recorded is not recorded twice.

use std::sync::{self, PoisonError};

use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard, oneshot};

use crate::{Completion, Coordinator, Error, Fence};

/// Jobs of one transaction at most.
const MOST: usize = 500;

/// The completions of a coordinator's clones that wait for their turn.
#[derive(Debug, Default)]
pub(crate) struct Completer {
    waiting: sync::Mutex<Vec<Waiting>>,
    turn: Mutex<()>,
}

#[derive(Debug)]
struct Waiting {
    fence: Fence,
    stats: Value,
    answer: oneshot::Sender<Completion>,
}

impl Completer {
    fn waiting(&self) -> sync::MutexGuard<'_, Vec<Waiting>> {
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
            self.lead(coordinator, turn).await?;
        };
        match answered {
            Ok(completion) => Ok(completion),
            // Whoever took it along has failed, and says so to its own caller only.
            Err(_) => {
                let mut alone = coordinator.complete_at_once(&[fence], &[stats]).await?;
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
    async fn lead(&self, coordinator: &Coordinator, turn: MutexGuard<'_, ()>) -> Result<(), Error> {
        let together: Vec<Waiting> = {
            let mut waiting = self.waiting();
            waiting.retain(|waiting| !waiting.answer.is_closed());
            let most = waiting.len().min(MOST);
            waiting.drain(..most).collect()
        };
        let fences: Vec<Fence> = together.iter().map(|waiting| waiting.fence).collect();
        let stats: Vec<&Value> = together.iter().map(|waiting| &waiting.stats).collect();
        let completed = coordinator.complete_unflushed(&fences, &stats).await;
        drop(turn);
        let flushed = match completed {
            Ok(completions) => coordinator.flush().await.map(|()| completions),
            Err(error) => Err(error),
        };
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
