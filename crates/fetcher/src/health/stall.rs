//! Did this process stand still? A timer that comes late says so.
//!
//! A process that was frozen, starved or asleep sees deadlines pass that no peer missed. Fetches
//! that were under way then are void and run again.
//! Must not know: what was under way.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use tokio_util::task::AbortOnDropHandle;

const TICK: Duration = Duration::from_millis(100);
/// A tick that late is a stall: far above scheduling noise, far below the shortest deadline.
const LATE: Duration = Duration::from_millis(1_000);

#[derive(Clone, Copy)]
struct Ticks {
    last: Instant,
    last_wall: SystemTime,
    last_stall: Option<Instant>,
}

impl Ticks {
    /// One tick, at this time by the monotonic clock (which stops in sleep) and by the wall clock
    /// (which does not; that it may be set only makes a fetch run twice).
    fn tick(&mut self, now: Instant, wall: SystemTime) {
        let passed = now.saturating_duration_since(self.last);
        let passed_on_the_wall = wall.duration_since(self.last_wall).unwrap_or_default();
        if passed.max(passed_on_the_wall) > TICK + LATE {
            self.last_stall = Some(now);
        }
        self.last = now;
        self.last_wall = wall;
    }
}

/// Watches the runtime it was made in for as long as it lives.
pub(crate) struct StallWatch {
    ticks: Arc<Mutex<Ticks>>,
    _ticker: AbortOnDropHandle<()>,
}

impl StallWatch {
    pub(crate) fn start() -> StallWatch {
        let now = Instant::now();
        let ticks = Ticks { last: now, last_wall: SystemTime::now(), last_stall: None };
        let ticks = Arc::new(Mutex::new(ticks));
        let shared = Arc::clone(&ticks);
        let ticker = tokio::spawn(async move {
            loop {
                tokio::time::sleep(TICK).await;
                lock(&shared).tick(Instant::now(), SystemTime::now());
            }
        });
        StallWatch { ticks, _ticker: AbortOnDropHandle::new(ticker) }
    }

    /// Whether there was a stall between `start` and now. After a thaw the asker may run before
    /// the ticker does, so asking is a tick too.
    pub(crate) fn since(&self, start: Instant) -> bool {
        let mut ticks = lock(&self.ticks);
        ticks.tick(Instant::now(), SystemTime::now());
        ticks.last_stall.is_some_and(|stall| stall >= start)
    }
}

fn lock(ticks: &Mutex<Ticks>) -> MutexGuard<'_, Ticks> {
    // The value is plain data that is never half written.
    ticks.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_tick_is_a_stall_by_either_clock() {
        let (start, wall) = (Instant::now(), SystemTime::now());
        let mut ticks = Ticks { last: start, last_wall: wall, last_stall: None };
        let on_time = TICK + Duration::from_millis(300);
        ticks.tick(start + on_time, wall + on_time);
        assert_eq!(ticks.last_stall, None);
        let frozen = on_time + Duration::from_secs(2);
        ticks.tick(start + frozen, wall + frozen);
        assert_eq!(ticks.last_stall, Some(start + frozen));
        let awake = frozen + TICK;
        ticks.tick(start + awake, wall + awake + Duration::from_secs(60));
        assert_eq!(ticks.last_stall, Some(start + awake));
    }
}
