//! Handles transient failures: decides whether a URL is fetched again, and whether its origin is
//! paused.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use everytab_coordinator::SlotFence;
use everytab_fetcher::{PageFetchResult, Passing};
use everytab_frontier::{Origin, PendingUrl};

use crate::{
    crawl::Crawl,
    fetch::{FetchOutput, is_whole},
    host::{Host, unix_s},
    origin_health::{Blame, FAILURES_BEFORE_PAUSE, PAUSE_MAX, PageFailure},
    origins::{Patience, ProbeResult},
    scheduler::state::Scheduler,
};

impl Scheduler {
    pub(super) fn patience_of(&self, crawl: &Crawl) -> Patience {
        let lasts = crawl.host_patience.unwrap_or(self.settings.host_patience);
        Patience { lasts, since: crawl.started_at }
    }

    pub(super) fn retry_pause(&self, retries: u8) -> Duration {
        let times = 1_u32.checked_shl(retries.into()).unwrap_or(u32::MAX);
        self.settings.retry_pause.saturating_mul(times).min(PAUSE_MAX)
    }

    pub(super) fn robots_fetched(
        &mut self,
        (host_hash, crawl): (u64, &Crawl),
        origin: Origin,
        fetched: &PageFetchResult,
    ) {
        let delay = self.delay_of(host_hash, crawl);
        let robot = self.context.fetcher.robot().product();
        let first_pause = self.settings.origin_pause;
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        let response = (fetched.outcome, &fetched.body[..]);
        let now = Utc::now();
        let crawl_delay =
            host.origins.robots_responded(origin, response, (robot, first_pause), now);
        if let Some(client) = &mut host.client {
            client.delay.set_crawl_delay(crawl_delay);
        }
        obey_retry_after(host, origin, fetched, delay);
        self.note_pauses(host_hash);
    }

    /// Returns true if the URL will be fetched again.
    pub(super) fn is_fetched_again(
        &mut self,
        (fence, host_hash): (SlotFence, u64),
        crawl: &Crawl,
        pending: &PendingUrl,
        output: &FetchOutput,
    ) -> bool {
        let fetched = &output.fetched;
        let Some(origin) = Origin::of(&pending.url) else { return false };
        let delay = self.delay_of(host_hash, crawl);
        let now = Utc::now();
        let first_pause = self.settings.origin_pause;
        let failure = self.failure_of((host_hash, crawl), pending, fetched);
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return false };
        // A body that ended early is stored after the last retry. If the origin never served a
        // whole page, it may have nothing better, so this is not a failure of the origin.
        let is_kept = fetched.has_body() && !host.origins.has_served_page(origin);
        let blame = failure.map(|failure| {
            if is_kept {
                return Blame::Url;
            }
            let blame = host.origins.page_failed(origin, &failure, first_pause, now);
            obey_retry_after(host, origin, fetched, delay);
            blame
        });
        if (blame.is_none() || is_kept) && fetched.status.is_some() {
            let is_page = is_whole(fetched) && !pending.attributes.flags.is_requisite_or_sitemap();
            host.origins.page_responded(origin, is_page.then_some(pending.url.as_str()));
        }
        self.note_pauses(host_hash);
        let hash = pending.hash;
        let number = crawl.number;
        let is_again = match blame {
            None => return false,
            Some(Blame::Origin) => {
                let pause = self.retry_pause(0).max(Duration::from_secs(1));
                let at = now + TimeDelta::from_std(pause).unwrap_or_default();
                // After the pause another URL should be first, so that this one cannot block the
                // origin.
                let after = self.paused_until(host_hash, origin).map(|at| unix_s(at) + 1);
                let at_s = unix_s(at).max(after.unwrap_or_default());
                self.state_of(number, host_hash, |state| state.put_off(hash, at_s))
            }
            Some(Blame::Url) => {
                let pause = TimeDelta::from_std(self.retry_pause(pending.retries));
                let at_s = unix_s(now + pause.unwrap_or_default());
                let retries = crawl.retries;
                self.state_of(number, host_hash, |state| state.retry(hash, at_s, retries))
            }
        };
        if is_again != Some(true) {
            return false;
        }
        self.release_reserved_page(fence, crawl, pending);
        self.changed(number, host_hash);
        true
    }

    /// Makes the next checkpoint record a host's changed pauses, and when the host is due in each
    /// crawl.
    fn note_pauses(&mut self, host_hash: u64) {
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        if !host.origins.take_pause_change() {
            return;
        }
        let slot = host.slot;
        let is_long = host.has_long_pause();
        let crawls = host.crawls.clone();
        if let Some(slot) = self.state.slots.get_mut(&slot) {
            slot.host_changed(host_hash);
            slot.wants_checkpoint |= is_long;
        }
        for crawl in crawls {
            if self.state_of(crawl, host_hash, |state| state.pause_changed()).is_some() {
                self.changed(crawl, host_hash);
            }
            self.fall_back_to_http(host_hash, crawl);
        }
    }

    pub(super) fn probed(
        &mut self,
        (host_hash, crawl): (u64, &Crawl),
        origin: Origin,
        fetched: &PageFetchResult,
    ) {
        let delay = self.delay_of(host_hash, crawl);
        let first_pause = self.settings.origin_pause;
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        let result = match fetched.outcome.passing(fetched.status) {
            Passing::No => ProbeResult::Answered { is_page: is_whole(fetched) },
            _ => ProbeResult::Failed(fetched.outcome),
        };
        host.origins.probed(origin, result, first_pause, Utc::now());
        obey_retry_after(host, origin, fetched, delay);
        self.note_pauses(host_hash);
    }

    fn failure_of(
        &self,
        (host_hash, crawl): (u64, &Crawl),
        pending: &PendingUrl,
        fetched: &PageFetchResult,
    ) -> Option<PageFailure> {
        let passing = fetched.outcome.passing(fetched.status);
        if passing == Passing::No {
            return None;
        }
        let has_few = self.known_in(crawl.number, host_hash).is_some_and(|state| {
            state.pending_with_origin_of(pending.hash) < FAILURES_BEFORE_PAUSE
        });
        Some(PageFailure {
            outcome: fetched.outcome,
            url: pending.hash,
            is_of_origin: passing == Passing::Origin,
            is_last_but_one: has_few && pending.retries.saturating_add(1) == crawl.retries,
        })
    }

    fn paused_until(&self, host_hash: u64, origin: Origin) -> Option<DateTime<Utc>> {
        self.state.hosts.get(&host_hash)?.origins.pause_end(origin)
    }
}

/// Pauses an origin for its `Retry-After`, if this is longer than the delay.
fn obey_retry_after(host: &mut Host, origin: Origin, fetched: &PageFetchResult, delay: Duration) {
    if let Some(pause) = fetched.retry_after.filter(|pause| *pause > delay) {
        host.origins.requested_pause(origin, fetched.outcome, pause, Utc::now());
    }
}
