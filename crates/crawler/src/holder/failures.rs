//! Handles transient failures: decides whether a URL is fetched again, and whether its origin is
//! paused.
//!
//! Does not depend on how a response is read, or on how it is recorded.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use everytab_coordinator::SlotFence;
use everytab_fetcher::{PageFetchResult, Passing};
use everytab_frontier::{Origin, Turn};

use crate::{
    crawl::Crawl,
    holder::state::Holder,
    known::{Host, unix_s},
    origin_health::{Blame, FAILURES_BEFORE_PAUSE, PAUSE_MAX, PageFailure},
    origins::{Patience, ProbeResult},
    visit::{Answer, is_whole},
};

impl Holder {
    /// Returns how long a crawl waits for a paused origin.
    pub(super) fn patience_of(&self, crawl: &Crawl) -> Patience {
        let lasts = crawl.host_patience.unwrap_or(self.settings.host_patience);
        Patience { lasts, since: crawl.started_at }
    }

    /// Returns the pause after the failure of a URL that was already retried this often.
    pub(super) fn retry_pause(&self, retries: u8) -> Duration {
        let times = 1_u32.checked_shl(retries.into()).unwrap_or(u32::MAX);
        self.settings.retry_pause.saturating_mul(times).min(PAUSE_MAX)
    }

    /// Records the response to a request for robots.txt: its rules, or a pause of the origin.
    pub(super) fn robots_fetched(
        &mut self,
        (host_hash, crawl): (u64, &Crawl),
        origin: Origin,
        fetched: &PageFetchResult,
    ) {
        let delay = self.delay_of(host_hash, crawl);
        let (robot, first_pause) =
            (self.context.fetcher.robot().product(), self.settings.origin_pause);
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        let (response, now) = ((fetched.outcome, &fetched.body[..]), Utc::now());
        let crawl_delay = host.origins.robots_answered(origin, response, (robot, first_pause), now);
        if let Some(turns) = &mut host.turns {
            turns.delay.set_crawl_delay(crawl_delay);
        }
        obey_retry_after(host, origin, fetched, delay);
        self.note_pauses(host_hash);
    }

    /// Updates the origin's health with a page's result. Returns true if the URL is fetched again
    /// later; otherwise the result is final.
    pub(super) fn is_fetched_again(
        &mut self,
        (fence, host_hash): (SlotFence, u64),
        crawl: &Crawl,
        turn: &Turn,
        answer: &Answer,
    ) -> bool {
        let fetched = &answer.fetched;
        let Some(origin) = Origin::of(&turn.url) else { return false };
        let (delay, now) = (self.delay_of(host_hash, crawl), Utc::now());
        let first_pause = self.settings.origin_pause;
        let failure = self.failure_of((host_hash, crawl), turn, fetched);
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return false };
        // A body that ended early is stored after the last retry. If the origin never served a
        // whole page, such a body is the best that it has, and is not a failure of the origin.
        let is_kept = fetched.has_body() && !host.origins.has_given(origin);
        let blame = failure.map(|failure| {
            if is_kept {
                return Blame::Url;
            }
            let blame = host.origins.page_failed(origin, &failure, first_pause, now);
            obey_retry_after(host, origin, fetched, delay);
            blame
        });
        if (blame.is_none() || is_kept) && fetched.status.is_some() {
            let is_page = is_whole(fetched) && !turn.attributes.flags.is_no_page();
            host.origins.page_answered(origin, is_page.then_some(turn.url.as_str()));
        }
        self.note_pauses(host_hash);
        let (hash, number) = (turn.hash, crawl.number);
        let is_again = match blame {
            None => return false,
            Some(Blame::Origin) => {
                let pause = self.retry_pause(0).max(Duration::from_secs(1));
                let at = now + TimeDelta::from_std(pause).unwrap_or_default();
                // Try another URL first after the pause, so that this one cannot block the origin.
                let after = self.paused_until(host_hash, origin).map(|at| unix_s(at) + 1);
                let at_s = unix_s(at).max(after.unwrap_or_default());
                self.state_of(number, host_hash, |state| state.put_off(hash, at_s))
            }
            Some(Blame::Url) => {
                let pause = TimeDelta::from_std(self.retry_pause(turn.retries));
                let (at_s, retries) = (unix_s(now + pause.unwrap_or_default()), crawl.retries);
                self.state_of(number, host_hash, |state| state.retry(hash, at_s, retries))
            }
        };
        if is_again != Some(true) {
            return false;
        }
        self.end_use(fence, crawl, turn);
        self.changed(number, host_hash);
        true
    }

    /// Has the next checkpoint record pauses of a host's origins that have started or ended, and
    /// when the host is due in each crawl.
    fn note_pauses(&mut self, host_hash: u64) {
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        if !host.origins.take_pause_change() {
            return;
        }
        let (slot, is_long, crawls) = (host.slot, host.has_long_pause(), host.crawls.clone());
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

    /// Records the response to a probe of an origin.
    pub(super) fn probed(
        &mut self,
        (host_hash, crawl): (u64, &Crawl),
        origin: Origin,
        fetched: &PageFetchResult,
    ) {
        let (delay, first_pause) = (self.delay_of(host_hash, crawl), self.settings.origin_pause);
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        let result = match fetched.outcome.passing(fetched.status) {
            Passing::No => ProbeResult::Answered { is_page: is_whole(fetched) },
            _ => ProbeResult::Failed(fetched.outcome),
        };
        host.origins.probed(origin, result, first_pause, Utc::now());
        obey_retry_after(host, origin, fetched, delay);
        self.note_pauses(host_hash);
    }

    /// Describes a transient failure of a page. `None` if the result is final.
    fn failure_of(
        &self,
        (host_hash, crawl): (u64, &Crawl),
        turn: &Turn,
        fetched: &PageFetchResult,
    ) -> Option<PageFailure> {
        let passing = fetched.outcome.passing(fetched.status);
        if passing == Passing::No {
            return None;
        }
        let has_few = self
            .known_in(crawl.number, host_hash)
            .is_some_and(|state| state.pending_with_origin_of(turn.hash) < FAILURES_BEFORE_PAUSE);
        Some(PageFailure {
            outcome: fetched.outcome,
            url: turn.hash,
            is_of_origin: passing == Passing::Origin,
            is_last_but_one: has_few && turn.retries.saturating_add(1) == crawl.retries,
        })
    }

    fn paused_until(&self, host_hash: u64, origin: Origin) -> Option<DateTime<Utc>> {
        self.state.hosts.get(&host_hash)?.origins.pause_end(origin)
    }
}

/// Pauses an origin for as long as its `Retry-After` asks, if that is longer than the delay.
fn obey_retry_after(host: &mut Host, origin: Origin, fetched: &PageFetchResult, delay: Duration) {
    if let Some(pause) = fetched.retry_after.filter(|pause| *pause > delay) {
        host.origins.asked_for_pause(origin, fetched.outcome, pause, Utc::now());
    }
}
