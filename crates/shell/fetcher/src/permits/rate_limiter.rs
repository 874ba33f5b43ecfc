//! Limits how many requests per second start. The limit is this worker's share of the operator's
//! limit for the fleet.
//!
//! Requests start evenly spaced, in order of arrival. A new rate also applies to waiting requests.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// How long an unused permit remains usable. Older permits are lost, so that no burst follows a
/// pause.
const CATCH_UP: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(crate) struct RateLimiter {
    schedule: Mutex<Schedule>,
    changed: Notify,
    /// Held by the first request in the queue while it waits. The other requests wait for this
    /// lock.
    queue: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Schedule {
    interval: Option<Duration>,
    next: Option<Instant>,
    is_held_back: bool,
}

/// Interval at which a held-back request checks again, in addition to notifications.
const HELD_BACK: Duration = Duration::from_secs(60 * 60);

impl Schedule {
    fn is_unlimited(&self) -> bool {
        self.interval.is_none() && !self.is_held_back
    }
}

impl RateLimiter {
    pub(crate) fn set(&self, per_second: Option<f64>) {
        let interval = per_second.map(|rate| Duration::from_secs_f64(1.0 / rate.clamp(1e-4, 1e9)));
        let mut schedule = self.schedule();
        if schedule.interval != interval {
            // A long wait at the old rate must not delay requests at the new rate.
            let next = schedule.next.zip(interval);
            schedule.next = next.map(|(next, interval)| next.min(Instant::now() + interval));
            schedule.interval = interval;
        }
        drop(schedule);
        self.changed.notify_waiters();
    }

    pub(crate) fn hold_back(&self, hold: bool) {
        let was_held_back = std::mem::replace(&mut self.schedule().is_held_back, hold);
        if was_held_back != hold {
            self.changed.notify_waiters();
        }
    }

    pub(crate) async fn acquire(&self) {
        if self.schedule().is_unlimited() {
            return;
        }
        let _first = self.queue.lock().await;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Listen before reading the schedule, so that a change in between is not missed.
            changed.as_mut().enable();
            let Some(next) = self.try_acquire() else { return };
            tokio::select! {
                () = sleep_until(next) => {}
                () = changed => {}
            }
        }
    }

    fn try_acquire(&self) -> Option<Instant> {
        let mut schedule = self.schedule();
        let now = Instant::now();
        if schedule.is_held_back {
            return Some(now + HELD_BACK);
        }
        let interval = schedule.interval?;
        match schedule.next {
            Some(next) if next > now => Some(next),
            next => {
                let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
                schedule.next = Some(next.map_or(now, |next| next.max(earliest)) + interval);
                None
            }
        }
    }

    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    fn crowd(limiter: &Arc<RateLimiter>, waiters: usize) -> Arc<AtomicUsize> {
        let served: Arc<AtomicUsize> = Arc::default();
        for _ in 0..waiters {
            let limiter = Arc::clone(limiter);
            let served = Arc::clone(&served);
            tokio::spawn(async move {
                limiter.acquire().await;
                served.fetch_add(1, Ordering::SeqCst);
            });
        }
        served
    }

    #[tokio::test(start_paused = true)]
    async fn permits_are_evenly_spaced_and_within_the_rate() {
        let limiter = Arc::new(RateLimiter::default());
        limiter.set(Some(50.0));
        let served = crowd(&limiter, 1_000);
        let began = Instant::now();
        let mut seen = 0;
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_millis(97)).await;
            let now = served.load(Ordering::SeqCst);
            let due = began.elapsed().as_secs_f64() * 50.0;
            assert!((due - 1.0..=due + 2.0).contains(&(now as f64)), "{now} of {due}");
            assert!(now > seen, "no new permits");
            seen = now;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_gives_no_burst_afterwards() {
        let limiter = Arc::new(RateLimiter::default());
        limiter.set(Some(100.0));
        limiter.acquire().await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let served = crowd(&limiter, 500);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = served.load(Ordering::SeqCst);
        assert!((10..=13).contains(&now), "{now} in a tenth of a second");
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_rate_applies_to_waiting_requests() {
        let limiter = Arc::new(RateLimiter::default());
        limiter.set(Some(0.001));
        let served = crowd(&limiter, 300);
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(served.load(Ordering::SeqCst), 1);
        limiter.set(Some(100.0));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = served.load(Ordering::SeqCst);
        assert!((99..=103).contains(&now), "{now}");
        limiter.set(None);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(served.load(Ordering::SeqCst), 300);
        limiter.acquire().await;
    }

    #[tokio::test(start_paused = true)]
    async fn held_back_requests_start_only_when_released() {
        let limiter = Arc::new(RateLimiter::default());
        limiter.acquire().await;
        limiter.hold_back(true);
        let served = crowd(&limiter, 20);
        tokio::time::sleep(Duration::from_secs(6 * 60 * 60)).await;
        assert_eq!(served.load(Ordering::SeqCst), 0);
        limiter.hold_back(false);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(served.load(Ordering::SeqCst), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_waiter_does_not_delay_others() {
        let limiter = Arc::new(RateLimiter::default());
        limiter.set(Some(1.0));
        limiter.acquire().await;
        let given_up = tokio::time::timeout(Duration::from_millis(10), limiter.acquire()).await;
        assert!(given_up.is_err());
        let waited = Instant::now();
        limiter.acquire().await;
        assert!(waited.elapsed() <= Duration::from_secs(1));
    }
}
