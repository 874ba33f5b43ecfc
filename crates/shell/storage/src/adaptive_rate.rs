//! Limits the requests per second to a store that other clients also use, such as Common Crawl's.
//!
//! All stores that read from one source share an [`AdaptiveRate`]. Below the caller's maximum, a
//! "too fast" response reduces the rate, and successful requests raise it slowly (additive
//! increase, multiplicative decrease). Retries need permits, and also draw on a budget like the AWS
//! SDK's, so that they stop while most requests fail.

use std::{fmt, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::error::StorageError;

/// Permits that were unused for longer are lost, so that a pause does not cause a burst.
const CATCH_UP: Duration = Duration::from_millis(20);
/// The rate decreases at most once per window, because several rejections of concurrent requests
/// are one signal.
const WINDOW: Duration = Duration::from_millis(500);
/// A decrease multiplies the rate by at least this.
const DECREASE: f64 = 0.5;
/// A decrease keeps at least this share of the successful requests per second.
const BELOW_GOODPUT: f64 = 0.9;
/// A decrease multiplies the rate by at most this.
const MAX_DECREASE: f64 = 0.95;
/// Initial share of the allowed rate.
const FIRST_SHARE: f64 = 0.1;
/// Share of the allowed rate that is added per second with successes, before any rejection.
const FIRST_INCREASE: f64 = 0.1;
/// Share of the allowed rate that is added per second with successes, after a rejection.
const INCREASE: f64 = 0.02;
/// Minimum share of the allowed rate, even while the source rejects every request.
const MIN_SHARE: f64 = 0.01;
/// Minimum requests per second, unless the caller allows fewer. At this rate, each job of a worker
/// learns within three minutes that the source rejects its requests.
const MIN_RATE: f64 = 0.2;
/// Lower bound for the maximum rate that a rejection sets, because a slow worker measures less than
/// the source's limit.
const MIN_REJECTED_RATE: f64 = 100.0;
/// How long a request is retried, with waits, while no request to the source succeeds.
const RETRY_TIME: Duration = Duration::from_secs(60);
/// Retry budget in the SDK's units.
const RETRY_BUDGET: u32 = 500;
const RETRY_COST: u32 = 5;
const SUCCESS_REFUND: u32 = 1;
/// Pause for all requests after a rejection that demands a pause, as Common Crawl requires for a
/// 403 from its HTTPS mirror.
pub const REJECTION_PAUSE: Duration = Duration::from_secs(10);
/// Maximum pause. Each pause doubles the last one until a request succeeds.
const MAX_REJECTION_PAUSE: Duration = Duration::from_secs(120);

/// The request rate for a source, shared by the stores that read from it.
#[derive(Default)]
pub struct AdaptiveRate {
    state: Mutex<State>,
    changed: Notify,
    /// The first waiter sleeps until its permit is due, and the other waiters queue for this lock.
    queue: tokio::sync::Mutex<()>,
}

impl fmt::Debug for AdaptiveRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        formatter.debug_struct("AdaptiveRate").field("rate", &state.rate()).finish_non_exhaustive()
    }
}

struct State {
    allowed: Option<f64>,
    /// The maximum that a rejection set. `None` after a recovery, or if the caller sets one.
    rejected_at: Option<f64>,
    share: f64,
    increase: f64,
    increased_at: Option<Instant>,
    decreased_at: Option<Instant>,
    next: Option<Instant>,
    paused_until: Option<Instant>,
    succeeded_at: Option<Instant>,
    last_pause: Option<Duration>,
    window: Window,
    retry_budget: u32,
}

impl Default for State {
    fn default() -> Self {
        Self {
            allowed: None,
            rejected_at: None,
            share: FIRST_SHARE,
            increase: FIRST_INCREASE,
            increased_at: None,
            decreased_at: None,
            next: None,
            paused_until: None,
            succeeded_at: None,
            last_pause: None,
            window: Window::default(),
            retry_budget: RETRY_BUDGET,
        }
    }
}

#[derive(Default)]
struct Window {
    began: Option<Instant>,
    ended: u32,
    succeeded: u32,
    before: Option<(f64, f64)>,
}

impl Window {
    fn count(&mut self, now: Instant, is_success: bool) {
        let began = *self.began.get_or_insert(now);
        if now.saturating_duration_since(began) >= WINDOW {
            self.before = Some(self.rates(now));
            (self.began, self.ended, self.succeeded) = (Some(now), 0, 0);
        }
        self.ended += 1;
        self.succeeded += u32::from(is_success);
    }

    fn rates(&self, now: Instant) -> (f64, f64) {
        let seconds = self.began.map_or(WINDOW, |began| now.saturating_duration_since(began));
        let seconds = seconds.max(WINDOW / 5).as_secs_f64();
        (f64::from(self.ended) / seconds, f64::from(self.succeeded) / seconds)
    }
}

impl State {
    fn rate(&self) -> Option<f64> {
        let allowed = self.allowed.or(self.rejected_at)?;
        Some((allowed * self.share).max(MIN_RATE.min(allowed)).clamp(1e-4, 1e9))
    }

    fn succeeded(&mut self, now: Instant) {
        self.window.count(now, true);
        self.retry_budget = (self.retry_budget + SUCCESS_REFUND).min(RETRY_BUDGET);
        self.succeeded_at = Some(now);
        self.last_pause = None;
        let since = now.saturating_duration_since(self.increased_at.unwrap_or(now));
        self.increased_at = Some(now);
        let increase = self.increase * since.min(Duration::from_secs(1)).as_secs_f64();
        self.share = (self.share + increase).min(1.0);
        if self.share >= 1.0 && self.allowed.is_none() {
            self.rejected_at = None;
        }
    }

    fn overloaded(&mut self, now: Instant) {
        self.window.count(now, false);
        self.increased_at = Some(now);
        if self.decreased_at.is_some_and(|at| now.saturating_duration_since(at) < WINDOW) {
            return;
        }
        self.decreased_at = Some(now);
        let (ended, succeeded) = self.window.before.unwrap_or_else(|| self.window.rates(now));
        let allowed = match self.allowed.or(self.rejected_at) {
            Some(allowed) => allowed,
            None => {
                let rejected_at = ended.max(MIN_REJECTED_RATE);
                self.share = ended / rejected_at;
                *self.rejected_at.insert(rejected_at)
            }
        };
        let rate = allowed * self.share;
        let rate = (rate * DECREASE).max(succeeded * BELOW_GOODPUT).min(rate * MAX_DECREASE);
        self.share = (rate / allowed).clamp(MIN_SHARE, 1.0);
        self.increase = INCREASE;
    }

    /// Pauses twice as long as the last time if no request has succeeded since.
    fn pause(&mut self, now: Instant) {
        if self.paused_until.is_some_and(|until| until > now) {
            return;
        }
        let pause =
            self.last_pause.map_or(REJECTION_PAUSE, |last| last * 2).min(MAX_REJECTION_PAUSE);
        self.last_pause = Some(pause);
        self.paused_until = Some(now + pause);
    }

    fn try_acquire(&mut self, now: Instant) -> Option<Instant> {
        if let Some(until) = self.paused_until.filter(|until| *until > now) {
            return Some(until);
        }
        let interval = Duration::from_secs_f64(1.0 / self.rate()?);
        match self.next {
            // `next` may be far away because it was set at a lower rate.
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

impl AdaptiveRate {
    /// Sets the maximum requests per second. `None` removes the limit.
    pub fn allow(&self, per_second: Option<f64>) {
        let mut state = self.state.lock();
        if state.allowed == per_second {
            return;
        }
        if state.allowed.is_none() {
            // The share applied to `rejected_at`, so it is meaningless for another maximum.
            (state.rejected_at, state.share) = (None, FIRST_SHARE);
        }
        state.allowed = per_second;
        drop(state);
        self.changed.notify_waiters();
    }

    /// Returns the current rate in requests per second. `None` if unlimited.
    pub fn per_second(&self) -> Option<f64> {
        self.state.lock().rate()
    }

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
            // Subscribe before reading the state, so that a change in between is not missed.
            changed.as_mut().enable();
            let Some(next) = self.state.lock().try_acquire(Instant::now()) else { return };
            tokio::select! {
                () = sleep_until(next) => {}
                () = changed => {}
            }
        }
    }

    fn count(&self, error: Option<&StorageError>) {
        let mut state = self.state.lock();
        let now = Instant::now();
        match error {
            Some(error) if error.demands_less() => {
                state.overloaded(now);
                if error.demands_a_pause() {
                    state.pause(now);
                }
            }
            // A broken connection does not mean that the rate is too high.
            Some(error) if error.is_retryable() => {}
            _ => state.succeeded(now),
        }
    }

    /// Takes the cost of one retry from the budget. Returns false if the budget is spent, or if the
    /// request has failed for longer than [`RETRY_TIME`] and no request has succeeded since.
    fn may_retry(&self, failed_at: Instant) -> bool {
        let mut state = self.state.lock();
        if failed_at.elapsed() > RETRY_TIME && state.succeeded_at.is_none_or(|at| at < failed_at) {
            return false;
        }
        let left = state.retry_budget.checked_sub(RETRY_COST);
        state.retry_budget = left.unwrap_or(state.retry_budget);
        left.is_some()
    }
}

pub(crate) struct Attempts<'a> {
    rate: Option<&'a AdaptiveRate>,
    failed_at: Option<Instant>,
    made: u32,
    most: u32,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(rate: Option<&'a AdaptiveRate>, most: u32) -> Self {
        Self { rate, failed_at: None, made: 0, most }
    }

    pub(crate) async fn begin(&mut self) -> u32 {
        if let Some(rate) = self.rate {
            rate.acquire().await;
        }
        self.made += 1;
        self.made
    }

    pub(crate) fn goes_on(&mut self, error: Option<&StorageError>) -> bool {
        if let Some(rate) = self.rate {
            rate.count(error);
        }
        let failed_at = *self.failed_at.get_or_insert_with(Instant::now);
        error.is_some_and(StorageError::is_retryable)
            && self.made < self.most
            && self.rate.is_none_or(|rate| rate.may_retry(failed_at))
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

    fn broken() -> StorageError {
        StorageError::new(StorageErrorKind::Unreachable, "read", "s3://b/k", "connection reset")
    }

    fn forbidden() -> StorageError {
        StorageError::new(StorageErrorKind::Denied, "read", "https://h/k", "403")
            .demanding_a_pause()
    }

    #[tokio::test(start_paused = true)]
    async fn reading_starts_slowly_and_reaches_the_allowed_rate() {
        let rate = Arc::new(AdaptiveRate::default());
        rate.allow(Some(100.0));
        let sent = Arc::new(AtomicUsize::new(0));
        for _ in 0..8 {
            let (rate, sent) = (Arc::clone(&rate), Arc::clone(&sent));
            tokio::spawn(async move {
                loop {
                    let mut attempts = Attempts::new(Some(&rate), 1);
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
    async fn a_rejection_that_demands_a_pause_delays_every_request() {
        let rate = AdaptiveRate::default();
        for expected in [10, 20, 40, 80, 120, 120] {
            let began = Instant::now();
            rate.count(Some(&forbidden()));
            rate.count(Some(&forbidden()));
            rate.acquire().await;
            let waited = began.elapsed().as_secs();
            assert_eq!(waited, expected);
        }
        rate.count(None);
        let began = Instant::now();
        rate.count(Some(&forbidden()));
        rate.acquire().await;
        assert_eq!(began.elapsed().as_secs(), 10, "a success resets the doubling");
    }

    #[tokio::test(start_paused = true)]
    async fn an_unlimited_source_is_limited_from_its_first_rejection_until_it_recovers() {
        let rate = AdaptiveRate::default();
        for _ in 0..1_000 {
            rate.acquire().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            rate.count(None);
        }
        assert_eq!(rate.per_second(), None);
        rate.count(Some(&slow_down()));
        let limited = rate.per_second().unwrap();
        assert!((400.0..=960.0).contains(&limited), "{limited}");
        for _ in 0..60 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            rate.count(None);
        }
        assert_eq!(rate.per_second(), None);
    }

    #[test]
    fn the_budget_stops_retries_while_every_request_fails() {
        let rate = AdaptiveRate::default();
        let began = Instant::now();
        assert_eq!((0..1_000).filter(|_| rate.may_retry(began)).count(), 100);
        for _ in 0..10 {
            rate.count(None);
        }
        assert_eq!((0..10).filter(|_| rate.may_retry(began)).count(), 2);
    }

    async fn fails(rate: &AdaptiveRate, error: &StorageError, latency: Duration) {
        let mut attempts = Attempts::new(Some(rate), 12);
        loop {
            attempts.begin().await;
            tokio::time::sleep(latency).await;
            if !attempts.goes_on(Some(error)) {
                return;
            }
        }
    }

    async fn seconds_until_all_fail(
        allowed: Option<f64>,
        error: fn() -> StorageError,
        latency: Duration,
    ) -> u64 {
        let rate = Arc::new(AdaptiveRate::default());
        rate.allow(allowed);
        let began = Instant::now();
        let mut requests = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let rate = Arc::clone(&rate);
            requests.spawn(async move { fails(&rate, &error(), latency).await });
        }
        requests.join_all().await;
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn at_any_rate_requests_fail_within_minutes_if_the_source_is_unavailable() {
        for allowed in [None, Some(1_000.0), Some(9.0), Some(0.2)] {
            for error in [slow_down, broken] {
                for latency in [1, 100, 2_000].map(Duration::from_millis) {
                    let seconds = seconds_until_all_fail(allowed, error, latency).await;
                    let error = error();
                    assert!(seconds < 180, "{seconds} s with {allowed:?}, {latency:?}, {error}");
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_retried_while_others_succeed() {
        let rate = AdaptiveRate::default();
        let mut attempts = Attempts::new(Some(&rate), 100);
        for _ in 0..30 {
            attempts.begin().await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            rate.count(None);
            assert!(attempts.goes_on(Some(&slow_down())));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_workers_limit_is_soon_removed() {
        let rate = AdaptiveRate::default();
        for _ in 0..20 {
            rate.acquire().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            rate.count(Some(&slow_down()));
        }
        let least = rate.per_second().unwrap();
        assert!((0.99..1.01).contains(&least), "{least}");
        let began = Instant::now();
        while rate.per_second().is_some() {
            rate.acquire().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            rate.count(None);
        }
        let seconds = began.elapsed().as_secs();
        assert!(seconds < 90, "{seconds} s");
    }
}
