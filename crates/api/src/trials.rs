//! Turns of requests that test filters: each has a core for up to two seconds.
//!
//! Invariant: a key has one turn at a time, so that none keeps others from theirs. A turn ends when
//! its guard is dropped, whether or not the client still waits. Does not depend on what a test
//! does.

use std::{collections::HashSet, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::problem::Problem;

/// Requests that test URLs at a time, each with a core: others have something to do as well.
const TRIALS_AT_A_TIME: usize = 2;
/// Requests that wait for lists, or for their turn after that: each holds its URLs, of up to 8 MiB.
const TRIALS_THAT_WAIT: usize = 8;

/// The requests of a process that test filters.
#[derive(Debug)]
pub(crate) struct Trials {
    permits: Arc<Semaphore>,
    seats: Semaphore,
    keys: Mutex<HashSet<String>>,
}

impl Default for Trials {
    fn default() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(TRIALS_AT_A_TIME)),
            seats: Semaphore::new(TRIALS_THAT_WAIT),
            keys: Mutex::default(),
        }
    }
}

/// The only test of a key.
#[derive(Debug)]
pub(crate) struct KeyTrial {
    trials: Arc<Trials>,
    key: String,
}

impl Drop for KeyTrial {
    fn drop(&mut self) {
        self.trials.keys.lock().remove(&self.key);
    }
}

fn busy() -> Problem {
    Problem::unavailable("other filters are being tested", 1)
}

impl Trials {
    /// Begins the test of a key.
    ///
    /// # Errors
    /// Returns a problem if another test of the key goes on.
    pub(crate) fn of_key(self: &Arc<Self>, key: &str) -> Result<KeyTrial, Problem> {
        if !self.keys.lock().insert(key.to_owned()) {
            return Err(Problem::unavailable("another filter of this key is being tested", 1));
        }
        Ok(KeyTrial { trials: Arc::clone(self), key: key.to_owned() })
    }

    /// Returns a permit to test URLs.
    ///
    /// # Errors
    /// Returns a problem if there is none.
    pub(crate) fn permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| busy())
    }

    /// Waits for a permit to test URLs.
    pub(crate) async fn next_permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.permits).acquire_owned().await.map_err(|_| busy())
    }

    /// Returns a seat to wait for lists.
    ///
    /// # Errors
    /// Returns a problem if there is none.
    pub(crate) fn seat(&self) -> Result<SemaphorePermit<'_>, Problem> {
        self.seats.try_acquire().map_err(|_| busy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_test_at_a_time_and_others_go_on() {
        let trials = Arc::<Trials>::default();
        let one = trials.of_key("a").unwrap();
        let permit = trials.permit().unwrap();
        assert!(trials.of_key("a").is_err(), "it holds no second permit");
        let other = trials.of_key("b").unwrap();
        assert!(trials.permit().is_ok());
        drop((one, permit));
        assert!(trials.of_key("a").is_ok() && trials.of_key("b").is_err());
        drop(other);
    }
}
