//! Logs one progress line per minute, and one when all crawls have ended. Each tick notes which
//! bound limits the speed, and the line names the most frequent one.

use std::{sync::atomic::Ordering, time::Instant};

use chrono::Utc;

use crate::{progress::Bound, scheduler::state::Scheduler};

/// Share of the fetcher's permits from which permits count as the bound. It is below 1, because
/// some requests may have just finished.
const PERMITS_TAKEN: (usize, usize) = (31, 32);

/// Number of waiting events from which the CPU counts as the bound.
const MANY_EVENTS: usize = 64;

impl Scheduler {
    /// Also tells the other loops of the process whether this one is crawling.
    pub(super) fn log_progress(&mut self) {
        let is_crawling = !self.state.has_listed || !self.state.crawls.is_empty();
        self.settings.is_crawling.store(is_crawling, Ordering::Relaxed);
        let bound = self.bound();
        let now = Instant::now();
        let is_due = if self.state.crawls.is_empty() {
            self.state.progress.has_any()
        } else {
            self.state.progress.note(bound, now)
        };
        if !is_due {
            return;
        }
        let progress = std::mem::take(&mut self.state.progress);
        let began_at = progress.began_at.unwrap_or(now);
        let seconds = now.saturating_duration_since(began_at).as_secs_f64().max(0.001);
        let origins = self.state.hosts.values().map(|host| host.origins.paused(Utc::now()));
        tracing::info!(
            pages = progress.pages,
            failed = progress.failed,
            pages_per_second = format_args!("{:.1}", progress.pages as f64 / seconds),
            bound = progress.bound().as_str(),
            crawls = self.state.crawls.len(),
            hosts = self.state.hosts.len(),
            requests = self.state.requests.len(),
            paused_origins = origins.sum::<usize>(),
            "crawled"
        );
    }

    fn bound(&self) -> Bound {
        let state = &self.state;
        let now = Instant::now();
        let (taken, of) = PERMITS_TAKEN;
        let limit = self.context.fetcher.in_flight().limit;
        let are_late = state.slots.values().any(|slot| slot.is_checkpoint_overdue());
        match () {
            () if state.paused_until_disk_recovers.is_some_and(|until| now < until) => Bound::Puts,
            () if !state.stalled_crawls.is_empty() => Bound::Puts,
            () if self.has_too_many_unwritten() => Bound::Writing,
            () if self.is_full() || state.memory.awaited_bytes > 0 => Bound::Memory,
            () if are_late => Bound::Checkpoints,
            () if state.requests.len() * of >= limit * taken => Bound::Permits,
            () if self.events.len() >= MANY_EVENTS || self.has_sliced_work() => Bound::Cpu,
            // A host that is ready and waits can only wait for a rate limit, because it would get
            // its request immediately otherwise.
            () if state.due.ready_hosts() > 0 => Bound::Rates,
            () => Bound::Delays,
        }
    }
}
