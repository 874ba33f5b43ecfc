//! Limits concurrent filter tests, because each uses a core for up to two seconds.
//!
//! Invariant: a key runs one test at a time. A test counts until its guard is dropped, even if the
//! client has disconnected.

use std::{collections::HashSet, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::problem::Problem;

/// Maximum requests that test URLs at a time.
const TRIALS_AT_A_TIME: usize = 2;
/// Maximum requests that wait for lists, or for a permit after that. Requests beyond this limit are
/// rejected, because each holds its URLs in memory.
const TRIALS_THAT_WAIT: usize = 8;

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

/// Dropping the guard allows the key's next test.
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
    Problem::unavailable("too many filters are being tested; retry later", 1)
}

impl Trials {
    pub(crate) fn of_key(self: &Arc<Self>, key: &str) -> Result<KeyTrial, Problem> {
        if !self.keys.lock().insert(key.to_owned()) {
            return Err(Problem::unavailable("another filter of this key is being tested", 1));
        }
        Ok(KeyTrial { trials: Arc::clone(self), key: key.to_owned() })
    }

    pub(crate) fn permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| busy())
    }

    pub(crate) async fn next_permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.permits).acquire_owned().await.map_err(|_| busy())
    }

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
        assert!(trials.of_key("a").is_err(), "a key has one test at a time");
        let other = trials.of_key("b").unwrap();
        assert!(trials.permit().is_ok());
        drop((one, permit));
        assert!(trials.of_key("a").is_ok() && trials.of_key("b").is_err());
        drop(other);
    }
}
