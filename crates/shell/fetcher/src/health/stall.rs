//! Detects stalls of this process by a timer that fires late.
//!
//! If a process was frozen, starved or asleep, deadlines have passed although no peer was late, so
//! fetches that were in flight are void.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

/// Interval between two ticks.
const TICK_INTERVAL: Duration = Duration::from_millis(100);
/// Minimum delay of a tick that counts as a stall, far above scheduling noise and far below every
/// deadline.
const STALL_MIN: Duration = Duration::from_millis(1_000);

#[derive(Clone, Copy)]
struct Ticks {
    last: Instant,
    last_wall: SystemTime,
    last_stall: Option<Instant>,
}

impl Ticks {
    /// The monotonic clock stops while the system sleeps. The wall clock does not stop, but an
    /// operator may set it, which at worst makes a fetch run twice.
    fn tick(&mut self, now: Instant, wall: SystemTime) {
        let passed = now.saturating_duration_since(self.last);
        let passed_by_wall = wall.duration_since(self.last_wall).unwrap_or_default();
        if passed.max(passed_by_wall) > TICK_INTERVAL + STALL_MIN {
            self.last_stall = Some(now);
        }
        self.last = now;
        self.last_wall = wall;
    }
}

pub(crate) struct StallWatch {
    ticks: Arc<Mutex<Ticks>>,
    _ticker: AbortOnDropHandle<()>,
}

impl StallWatch {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        let ticks = Ticks { last: now, last_wall: SystemTime::now(), last_stall: None };
        let ticks = Arc::new(Mutex::new(ticks));
        let shared = Arc::clone(&ticks);
        let ticker = tokio::spawn(async move {
            loop {
                tokio::time::sleep(TICK_INTERVAL).await;
                shared.lock().tick(Instant::now(), SystemTime::now());
            }
        });
        Self { ticks, _ticker: AbortOnDropHandle::new(ticker) }
    }

    /// Returns whether there was a stall between `start` and now. Also records a tick, because the
    /// caller may run before the ticker does when the process resumes.
    pub(crate) fn since(&self, start: Instant) -> bool {
        let mut ticks = self.ticks.lock();
        ticks.tick(Instant::now(), SystemTime::now());
        ticks.last_stall.is_some_and(|stall| stall >= start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_tick_is_a_stall_by_either_clock() {
        let (start, wall) = (Instant::now(), SystemTime::now());
        let mut ticks = Ticks { last: start, last_wall: wall, last_stall: None };
        let on_time = TICK_INTERVAL + Duration::from_millis(300);
        ticks.tick(start + on_time, wall + on_time);
        assert_eq!(ticks.last_stall, None);
        let frozen = on_time + Duration::from_secs(2);
        ticks.tick(start + frozen, wall + frozen);
        assert_eq!(ticks.last_stall, Some(start + frozen));
        let awake = frozen + TICK_INTERVAL;
        ticks.tick(start + awake, wall + awake + Duration::from_secs(60));
        assert_eq!(ticks.last_stall, Some(start + awake));
    }
}
