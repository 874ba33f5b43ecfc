//! How long the tests of all packages wait: for an event, with one limit that only a hang reaches.
//!
//! How long something takes depends on the machine and on what else it does, so no test says how
//! long that may be. It says what it waits for, and fails after [`LIMIT`]. Where a peer is silent
//! on purpose a test waits for the end of [`SILENCE`] instead.

#![allow(clippy::panic)]

use std::{
    fmt::Debug,
    thread,
    time::{Duration, Instant},
};

/// Maximum duration of any wait of a test. Far longer than anything takes on a busy machine, and
/// shorter than what the test runner gives a test, so that a hang says what it waited for.
pub const LIMIT: Duration = Duration::from_secs(240);

/// Time limit of a request to a peer that never answers: the test waits until its end. Peers that
/// answer do so within it, also on a busy machine.
pub const SILENCE: Duration = Duration::from_secs(3);

/// A wait for the end of something long, such as a whole crawl: it goes on while there is progress,
/// however slow the machine makes that.
#[derive(Debug)]
pub struct LongWait<T> {
    state: Option<T>,
    changed_at: Instant,
}

impl<T: PartialEq + Debug> LongWait<T> {
    /// Begins to wait.
    #[must_use]
    pub fn new() -> Self {
        Self { state: None, changed_at: Instant::now() }
    }

    /// Notes how far it has come.
    ///
    /// # Panics
    ///
    /// The state has been the same for [`LIMIT`].
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

/// Pause between two looks.
const POLL: Duration = Duration::from_millis(10);

/// Waits until `ready` returns a value, and returns it.
///
/// # Panics
///
/// There is none after [`LIMIT`]; the message says `what` never came.
#[track_caller]
pub fn wait_for<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let give_up = Instant::now() + LIMIT;
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(Instant::now() < give_up, "waited too long for {what}");
        thread::sleep(POLL);
    }
}

/// As [`wait_for`], in a task.
///
/// # Panics
///
/// As [`wait_for`].
pub async fn eventually<T>(what: &str, mut ready: impl AsyncFnMut() -> Option<T>) -> T {
    let give_up = Instant::now() + LIMIT;
    loop {
        if let Some(value) = ready().await {
            return value;
        }
        assert!(Instant::now() < give_up, "waited too long for {what}");
        tokio::time::sleep(POLL).await;
    }
}

/// Waits until `is_so` is true, in a task.
///
/// # Panics
///
/// As [`wait_for`].
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    eventually(what, async || is_so().await.then_some(())).await;
}

/// Waits for the end of a future, and returns its output.
///
/// # Panics
///
/// As [`wait_for`].
pub async fn in_time<F: Future>(what: &str, future: F) -> F::Output {
    let ended = tokio::time::timeout(LIMIT, future).await;
    ended.unwrap_or_else(|_| panic!("waited too long for {what}"))
}

/// The example of the README, compiled and run as a doc test.
#[cfg(doctest)]
# [doc = include_str!("../README.md")]
struct Readme;
