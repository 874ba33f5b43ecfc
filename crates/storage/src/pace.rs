//! How many requests a second may be sent to a store that others use too, such as Common Crawl's.
//!
//! A [`Pace`] is shared by all stores that read one source. The caller sets the most requests a
//! second; below that the pace finds what the source bears: each answer that says "too fast" takes
//! a part of the rate away, at most once a window, and answered requests give it back slowly
//! (additive increase, multiplicative decrease). Repeated requests pass it too, and have a budget
//! as the AWS SDK's: while most requests fail, a failure is told instead of being tried again.
//! Must not know: who shares the rate, what is read.

use std::{fmt, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::error::StorageError;

/// The time within which a permit that was not used may be made up for. Older ones are lost, so a
/// pause gives no burst.
const CATCH_UP: Duration = Duration::from_millis(20);
/// Answers are counted over windows of this length, and the rate is decreased at most once in one:
/// the refusals of requests that were sent together are one sign, not many.
const WINDOW: Duration = Duration::from_millis(500);
/// A decrease leaves at least this part of the rate.
const DECREASE: f64 = 0.5;
/// A decrease leaves at least this part of what the source has just answered: it bears that much.
const BELOW_GOODPUT: f64 = 0.9;
/// A decrease takes at least the rest of this part away.
const LEAST_DECREASE: f64 = 0.95;
/// The part of the allowed rate at which reading begins.
const FIRST_SHARE: f64 = 0.1;
/// The part of the allowed rate that a second of answered requests adds, before the first refusal.
const FIRST_INCREASE: f64 = 0.1;
/// The part of the allowed rate that a second of answered requests adds, after a refusal.
const INCREASE: f64 = 0.02;
/// The least part of the allowed rate: what is left of it while every answer is a refusal.
const LEAST_SHARE: f64 = 0.01;
/// Budget of repeated requests, in the SDK's units: what it holds, what a repeated request takes,
/// what an answered one gives back.
const RETRY_BUDGET: u32 = 500;
const RETRY_COST: u32 = 5;
const ANSWER_REFUND: u32 = 1;
/// The pause of all requests after a refusal that asks for one. Common Crawl asks those whom its
/// HTTPS mirror answers with 403 to wait ten seconds at least.
pub const REFUSAL_PAUSE: Duration = Duration::from_secs(10);
/// The longest pause after refusals that follow each other without an answer between them.
const MAX_REFUSAL_PAUSE: Duration = Duration::from_secs(120);

/// The rate of requests to a source, shared by the stores that read it.
#[derive(Default)]
pub struct Pace {
    state: Mutex<State>,
    changed: Notify,
    /// The first in the queue waits for time, the others wait for the first.
    queue: tokio::sync::Mutex<()>,
}

impl fmt::Debug for Pace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        formatter.debug_struct("Pace").field("rate", &state.rate()).finish_non_exhaustive()
    }
}

struct State {
    /// The most requests a second that the caller allows; none without a limit.
    allowed: Option<f64>,
    /// The rate that a source without an allowed rate did not bear; none while it bears all.
    refused_at: Option<f64>,
    /// The part of the allowed rate that is used now.
    share: f64,
    /// The part of the allowed rate that a second adds.
    increase: f64,
    increased_at: Option<Instant>,
    decreased_at: Option<Instant>,
    next: Option<Instant>,
    paused_until: Option<Instant>,
    /// The length of the last pause; none once a request was answered.
    last_pause: Option<Duration>,
    window: Window,
    retry_budget: u32,
}

impl Default for State {
    fn default() -> Self {
        Self {
            allowed: None,
            refused_at: None,
            share: FIRST_SHARE,
            increase: FIRST_INCREASE,
            increased_at: None,
            decreased_at: None,
            next: None,
            paused_until: None,
            last_pause: None,
            window: Window::default(),
            retry_budget: RETRY_BUDGET,
        }
    }
}

/// Counts of a window, and the rates of the one before.
#[derive(Default)]
struct Window {
    began: Option<Instant>,
    ended: u32,
    answered: u32,
    /// Requests and answered requests a second.
    before: Option<(f64, f64)>,
}

impl Window {
    fn count(&mut self, now: Instant, is_answered: bool) {
        let began = *self.began.get_or_insert(now);
        if now.saturating_duration_since(began) >= WINDOW {
            self.before = Some(self.rates(now));
            (self.began, self.ended, self.answered) = (Some(now), 0, 0);
        }
        self.ended += 1;
        self.answered += u32::from(is_answered);
    }

    /// Requests and answered requests a second of the window so far.
    fn rates(&self, now: Instant) -> (f64, f64) {
        let seconds = self.began.map_or(WINDOW, |began| now.saturating_duration_since(began));
        let seconds = seconds.max(WINDOW / 5).as_secs_f64();
        (f64::from(self.ended) / seconds, f64::from(self.answered) / seconds)
    }
}

impl State {
    /// Requests a second; none without a limit.
    fn rate(&self) -> Option<f64> {
        self.allowed.or(self.refused_at).map(|allowed| (allowed * self.share).clamp(1e-4, 1e9))
    }

    fn answered(&mut self, now: Instant) {
        self.window.count(now, true);
        self.retry_budget = (self.retry_budget + ANSWER_REFUND).min(RETRY_BUDGET);
        self.last_pause = None;
        let since = now.saturating_duration_since(self.increased_at.unwrap_or(now));
        self.increased_at = Some(now);
        let increase = self.increase * since.min(Duration::from_secs(1)).as_secs_f64();
        self.share = (self.share + increase).min(1.0);
        if self.share >= 1.0 && self.allowed.is_none() {
            self.refused_at = None;
        }
    }

    fn overloaded(&mut self, now: Instant) {
        self.window.count(now, false);
        self.increased_at = Some(now);
        if self.decreased_at.is_some_and(|at| now.saturating_duration_since(at) < WINDOW) {
            return;
        }
        self.decreased_at = Some(now);
        let (ended, answered) = self.window.before.unwrap_or_else(|| self.window.rates(now));
        let allowed = match self.allowed.or(self.refused_at) {
            Some(allowed) => allowed,
            None => {
                self.share = 1.0;
                *self.refused_at.insert(ended.max(1.0))
            }
        };
        let rate = allowed * self.share;
        let rate = (rate * DECREASE).max(answered * BELOW_GOODPUT).min(rate * LEAST_DECREASE);
        self.share = (rate / allowed).clamp(LEAST_SHARE, 1.0);
        self.increase = INCREASE;
    }

    /// Pauses all requests, twice as long as the last time if none was answered since.
    fn pause(&mut self, now: Instant) {
        if self.paused_until.is_some_and(|until| until > now) {
            return;
        }
        let pause = self.last_pause.map_or(REFUSAL_PAUSE, |last| last * 2).min(MAX_REFUSAL_PAUSE);
        self.last_pause = Some(pause);
        self.paused_until = Some(now + pause);
    }

    /// Takes the next permit; if there is none yet, the time when to ask again.
    fn try_acquire(&mut self, now: Instant) -> Option<Instant> {
        if let Some(until) = self.paused_until.filter(|until| *until > now) {
            return Some(until);
        }
        let interval = Duration::from_secs_f64(1.0 / self.rate()?);
        match self.next {
            // A wait that was long at a lower rate is not owed at this one.
            Some(next) if next.min(now + interval) > now => {
                self.next = Some(next.min(now + interval));
                self.next
            }
            next => {
                let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
                self.next = Some(next.map_or(now, |next| next.max(earliest)) + interval);
                None
            }
        }
    }
}

impl Pace {
    /// Sets the most requests a second from now on; none takes the limit away.
    pub fn allow(&self, per_second: Option<f64>) {
        let mut state = self.state.lock();
        if state.allowed == per_second {
            return;
        }
        if state.allowed.is_none() {
            // The share of a rate that the source did not bear means nothing for another rate.
            (state.refused_at, state.share) = (None, FIRST_SHARE);
        }
        state.allowed = per_second;
        drop(state);
        self.changed.notify_waiters();
    }

    /// The requests a second that may be sent now; none without a limit.
    pub fn rate(&self) -> Option<f64> {
        self.state.lock().rate()
    }

    /// Waits until one more request may be sent.
    async fn acquire(&self) {
        {
            let state = self.state.lock();
            if state.rate().is_none() && state.paused_until.is_none() {
                return;
            }
        }
        let _first = self.queue.lock().await;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // It listens before it reads the state, so a change in between is not missed.
            changed.as_mut().enable();
            let Some(next) = self.state.lock().try_acquire(Instant::now()) else { return };
            tokio::select! {
                () = sleep_until(next) => {}
                () = changed => {}
            }
        }
    }

    /// Counts what a request came to.
    fn count(&self, error: Option<&StorageError>) {
        let (mut state, now) = (self.state.lock(), Instant::now());
        match error {
            Some(error) if error.demands_less() => {
                state.overloaded(now);
                if error.demands_a_pause() {
                    state.pause(now);
                }
            }
            // A connection that broke says nothing about the rate.
            Some(error) if error.is_retryable() => {}
            _ => state.answered(now),
        }
    }

    /// Takes a repeated request's cost from the budget; false if the budget is spent.
    fn may_retry(&self) -> bool {
        let mut state = self.state.lock();
        let left = state.retry_budget.checked_sub(RETRY_COST);
        state.retry_budget = left.unwrap_or(state.retry_budget);
        left.is_some()
    }
}

/// The attempts of one request to a store.
pub(crate) struct Attempts<'a> {
    pace: Option<&'a Pace>,
    made: u32,
    most: u32,
}

impl<'a> Attempts<'a> {
    /// At most `most` attempts, each with a permit of `pace` if there is one.
    pub(crate) fn new(pace: Option<&'a Pace>, most: u32) -> Self {
        Self { pace, made: 0, most }
    }

    /// Waits until the next attempt may be sent, and returns its number from 1 on.
    pub(crate) async fn begin(&mut self) -> u32 {
        if let Some(pace) = self.pace {
            pace.acquire().await;
        }
        self.made += 1;
        self.made
    }

    /// Counts how the attempt ended; true if there is to be another one, after a wait.
    pub(crate) fn goes_on(&mut self, error: Option<&StorageError>) -> bool {
        if let Some(pace) = self.pace {
            pace.count(error);
        }
        error.is_some_and(StorageError::is_retryable)
            && self.made < self.most
            && self.pace.is_none_or(Pace::may_retry)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;
    use crate::error::StorageErrorKind;

    fn slow_down() -> StorageError {
        let busy = StorageError::new(StorageErrorKind::Unreachable, "read", "s3://b/k", "SlowDown");
        busy.demanding_less()
    }

    fn forbidden() -> StorageError {
        StorageError::new(StorageErrorKind::Denied, "read", "https://h/k", "403")
            .demanding_a_pause()
    }

    #[tokio::test(start_paused = true)]
    async fn reading_begins_slowly_and_reaches_the_allowed_rate() {
        let pace = Arc::new(Pace::default());
        pace.allow(Some(100.0));
        let sent = Arc::new(AtomicUsize::new(0));
        for _ in 0..8 {
            let (pace, sent) = (Arc::clone(&pace), Arc::clone(&sent));
            tokio::spawn(async move {
                loop {
                    let mut attempts = Attempts::new(Some(&pace), 1);
                    attempts.begin().await;
                    sent.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    assert!(!attempts.goes_on(None));
                }
            });
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let first = sent.swap(0, Ordering::SeqCst);
        assert!((8..=25).contains(&first), "{first} in the first second");
        tokio::time::sleep(Duration::from_secs(20)).await;
        sent.store(0, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let later = sent.load(Ordering::SeqCst);
        assert!((980..=1_010).contains(&later), "{later} in ten seconds");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_that_asks_for_a_pause_holds_back_every_request() {
        let pace = Pace::default();
        for expected in [10, 20, 40, 80, 120, 120] {
            let began = Instant::now();
            pace.count(Some(&forbidden()));
            pace.count(Some(&forbidden()));
            pace.acquire().await;
            let waited = began.elapsed().as_secs();
            assert_eq!(waited, expected);
        }
        pace.count(None);
        let began = Instant::now();
        pace.count(Some(&forbidden()));
        pace.acquire().await;
        assert_eq!(began.elapsed().as_secs(), 10, "an answer ends the doubling");
    }

    #[tokio::test(start_paused = true)]
    async fn an_unlimited_source_is_limited_from_its_first_refusal_until_it_bears_all() {
        let pace = Pace::default();
        for _ in 0..1_000 {
            pace.acquire().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            pace.count(None);
        }
        assert_eq!(pace.rate(), None);
        pace.count(Some(&slow_down()));
        let limited = pace.rate().unwrap();
        assert!((400.0..=960.0).contains(&limited), "{limited}");
        for _ in 0..60 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            pace.count(None);
        }
        assert_eq!(pace.rate(), None);
    }

    #[test]
    fn while_every_request_fails_the_budget_ends_repetition() {
        let pace = Pace::default();
        assert_eq!((0..1_000).filter(|_| pace.may_retry()).count(), 100);
        for _ in 0..10 {
            pace.count(None);
        }
        assert_eq!((0..10).filter(|_| pace.may_retry()).count(), 2);
    }
}
