//! How many requests a second may begin: this worker's share of what an operator allows the fleet.
//!
//! Requests begin evenly spaced, in the order in which they came. The pace only delays, it never
//! decides an outcome. A change reaches those that wait already.
//! Must not know: who sets it, and why.

use std::{
    sync::{Mutex as Lock, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Mutex, Notify},
    time::{Instant, sleep_until},
};

/// Turns that were not used within this time are lost, so that a pause gives no burst; shorter
/// than it, a late timer costs no turn.
const CATCH_UP: Duration = Duration::from_millis(20);

/// The gate that every request passes before it goes out.
#[derive(Default)]
pub(crate) struct Pace {
    state: Lock<State>,
    changed: Notify,
    /// The first in the queue waits for time, the others for the first.
    queue: Mutex<()>,
}

#[derive(Default)]
struct State {
    /// Between two requests; none without a limit.
    interval: Option<Duration>,
    next: Option<Instant>,
}

impl Pace {
    /// So many requests a second from now on, or as many as there are.
    pub(crate) fn set(&self, per_second: Option<f64>) {
        let interval = per_second.map(|rate| Duration::from_secs_f64(1.0 / rate.clamp(1e-4, 1e9)));
        let mut state = self.state();
        if state.interval != interval {
            // What was promised at another pace is not owed any more.
            let next = state.next.zip(interval);
            state.next = next.map(|(next, interval)| next.min(Instant::now() + interval));
            state.interval = interval;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits until one more request may begin.
    pub(crate) async fn turn(&self) {
        if self.state().interval.is_none() {
            return;
        }
        let _first = self.queue.lock().await;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Listening before looking: a change in between is not missed.
            changed.as_mut().enable();
            let Some(next) = self.take() else { return };
            tokio::select! {
                () = sleep_until(next) => {}
                () = changed => {}
            }
        }
    }

    /// Takes a turn, or says when there will be one.
    fn take(&self) -> Option<Instant> {
        let mut state = self.state();
        let interval = state.interval?;
        let now = Instant::now();
        match state.next {
            Some(next) if next > now => Some(next),
            next => {
                let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
                state.next = Some(next.map_or(now, |next| next.max(earliest)) + interval);
                None
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics between changes, so a poisoned state is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    /// So many waiters, and the count of those who had their turn.
    fn crowd(pace: &Arc<Pace>, waiters: usize) -> Arc<AtomicUsize> {
        let had: Arc<AtomicUsize> = Arc::default();
        for _ in 0..waiters {
            let (pace, had) = (Arc::clone(pace), Arc::clone(&had));
            tokio::spawn(async move {
                pace.turn().await;
                had.fetch_add(1, Ordering::SeqCst);
            });
        }
        had
    }

    #[tokio::test(start_paused = true)]
    async fn turns_come_evenly_and_never_more_than_the_rate_allows() {
        let pace = Arc::new(Pace::default());
        pace.set(Some(50.0));
        let had = crowd(&pace, 1_000);
        let began = Instant::now();
        let mut seen = 0;
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_millis(97)).await;
            let now = had.load(Ordering::SeqCst);
            let due = began.elapsed().as_secs_f64() * 50.0;
            assert!((due - 1.0..=due + 2.0).contains(&(now as f64)), "{now} of {due}");
            assert!(now > seen, "it stands still");
            seen = now;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_gives_no_burst_afterwards() {
        let pace = Arc::new(Pace::default());
        pace.set(Some(100.0));
        pace.turn().await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let had = crowd(&pace, 500);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = had.load(Ordering::SeqCst);
        assert!((10..=13).contains(&now), "{now} in a tenth of a second");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_reaches_those_that_wait() {
        let pace = Arc::new(Pace::default());
        pace.set(Some(0.001));
        let had = crowd(&pace, 300);
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(had.load(Ordering::SeqCst), 1);
        pace.set(Some(100.0));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = had.load(Ordering::SeqCst);
        assert!((99..=103).contains(&now), "{now}");
        pace.set(None);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(had.load(Ordering::SeqCst), 300);
        pace.turn().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_that_gives_up_keeps_nobody_waiting() {
        let pace = Arc::new(Pace::default());
        pace.set(Some(1.0));
        pace.turn().await;
        let given_up = tokio::time::timeout(Duration::from_millis(10), pace.turn()).await;
        assert!(given_up.is_err());
        let waited = Instant::now();
        pace.turn().await;
        assert!(waited.elapsed() <= Duration::from_secs(1));
    }
}
