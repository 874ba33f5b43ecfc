//! Waits for events in all packages' tests, with a single limit that only a hang reaches.
//!
//! Durations depend on the host and its load, so tests do not set their own time limits. A test
//! names the event that it waits for, and fails after [`LIMIT`]. If a peer is silent on purpose, a
//! test waits until [`SILENCE`] has passed instead.

#![allow(clippy::panic)]

use std::{
    fmt::Debug,
    thread,
    time::{Duration, Instant},
};

/// Maximum duration of a wait in a test, or of a [`LongWait`] without progress. This is far longer
/// than any event takes on a busy host, but shorter than the test runner's limit, so a hang reports
/// the event that did not happen.
pub const LIMIT: Duration = Duration::from_secs(240);

/// Timeout for a request to a peer that never responds. The test waits until this timeout expires.
/// Other peers respond within this time, even on a busy host.
pub const SILENCE: Duration = Duration::from_secs(3);

/// A wait for something long to end, such as a whole crawl. It continues while there is progress,
/// even if a slow host makes little.
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
/// How many times longer a pause is than the check before it. A check often runs a program, and
/// this takes CPU time from the awaited event.
const POLL_FACTOR: u32 = 3;

/// Returns the pause after a check that began at this time.
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

/// Compiles and runs the README's example as a doc test.
#[cfg(doctest)]
# [doc = include_str!("../README.md")]
struct Readme;
