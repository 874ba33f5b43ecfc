//! Waits for events in tests. Durations depend on the host and its load, so tests set no time
//! limits: a test names the event that it waits for, and fails after [`LIMIT`].

#![allow(clippy::panic)]

use std::{
    fmt::Debug,
    thread,
    time::{Duration, Instant},
};

/// Maximum duration of a wait in a test, or of a [`LongWait`] without progress. It is shorter than
/// the test runner's limit, so that a hang reports the event that did not happen.
pub const LIMIT: Duration = Duration::from_secs(240);

/// Timeout for a request to a peer that never responds.
pub const SILENCE: Duration = Duration::from_secs(3);

/// A wait without a total limit. It fails if there is no progress for [`LIMIT`].
#[derive(Debug)]
pub struct LongWait<T> {
    state: Option<T>,
    changed_at: Instant,
}

impl<T: PartialEq + Debug> LongWait<T> {
    /// Starts to wait.
    #[must_use]
    pub fn new() -> Self {
        Self { state: None, changed_at: Instant::now() }
    }

    /// Records the current state.
    ///
    /// # Panics
    ///
    /// Panics if the state has not changed for [`LIMIT`].
    #[track_caller]
    pub fn note(&mut self, state: T) {
        let state = Some(state);
        if self.state != state {
            *self = Self { state, changed_at: Instant::now() };
        }
        assert!(self.changed_at.elapsed() < LIMIT, "there is no progress: {:?}", self.state);
    }
}

impl<T: PartialEq + Debug> Default for LongWait<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Minimum pause between two checks.
const POLL: Duration = Duration::from_millis(10);
/// Maximum pause between two checks.
const MAX_POLL: Duration = Duration::from_millis(300);
/// How many times longer a pause is than the check before it, because a check takes CPU time from
/// the work that the test waits for.
const POLL_FACTOR: u32 = 3;

fn pause_after(began: Instant) -> Duration {
    (began.elapsed() * POLL_FACTOR).clamp(POLL, MAX_POLL)
}

/// Waits until `ready` returns a value, and returns it.
///
/// # Panics
///
/// Panics if there is no value after [`LIMIT`]; the message contains `what`.
#[track_caller]
pub fn wait_for<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let give_up = Instant::now() + LIMIT;
    loop {
        let began = Instant::now();
        if let Some(value) = ready() {
            return value;
        }
        assert!(began < give_up, "waited too long for {what}");
        thread::sleep(pause_after(began));
    }
}

/// Waits like [`wait_for`], in a task.
///
/// # Panics
///
/// Panics like [`wait_for`].
pub async fn eventually<T>(what: &str, mut ready: impl AsyncFnMut() -> Option<T>) -> T {
    let give_up = Instant::now() + LIMIT;
    loop {
        let began = Instant::now();
        if let Some(value) = ready().await {
            return value;
        }
        assert!(began < give_up, "waited too long for {what}");
        tokio::time::sleep(pause_after(began)).await;
    }
}

/// Waits until `is_so` is true, in a task.
///
/// # Panics
///
/// Panics like [`wait_for`].
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    eventually(what, async || is_so().await.then_some(())).await;
}

/// Waits for the end of a future, and returns its output.
///
/// # Panics
///
/// Panics like [`wait_for`].
pub async fn in_time<F: Future>(what: &str, future: F) -> F::Output {
    let ended = tokio::time::timeout(LIMIT, future).await;
    ended.unwrap_or_else(|_| panic!("waited too long for {what}"))
}

#[cfg(doctest)]
# [doc = include_str!("../README.md")]
struct Readme;
