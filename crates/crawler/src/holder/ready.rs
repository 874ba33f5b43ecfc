//! Decides whether a request to a host may start now, and for which crawls.
//!
//! Invariant: this check sends no requests, so that a host gets requests only when it is scheduled.
//! Does not depend on which URL is next, or on the order of crawls.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    crawl::Crawl,
    holder::{due::OwnedCrawl, state::Holder},
    slot::Written,
};

/// Time until the next check of a host that is held back by something other than its delay, such as
/// a paused crawl.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Whether a host may get a request now.
pub(super) enum HostStanding {
    /// It may, if rates allow it.
    Ready {
        /// The crawls with a due URL on the host: first those in which a client is waiting for one,
        /// then the others in round-robin order, and last those without a free page of their limit.
        crawls: Vec<Arc<Crawl>>,
        /// The number of crawls in which a client is waiting.
        urgent: usize,
    },
    /// Not before this time.
    At(Instant),
    /// Nothing is due, or another event will schedule the host.
    Nothing,
}

impl Holder {
    /// Adds a host whose time has come to each crawl's ready queue if the crawl has a due URL
    /// there, or only of those in which the URL is urgent, if there are any.
    pub(super) fn came_due(&mut self, host_hash: u64) {
        match self.standing_of(host_hash) {
            HostStanding::Ready { crawls, urgent } => {
                let is_urgent = urgent > 0;
                let number = if is_urgent { urgent } else { crawls.len() };
                for crawl in crawls.iter().take(number) {
                    let owner = Arc::clone(&crawl.owner);
                    let of = OwnedCrawl { owner, crawl: crawl.number };
                    self.state.due.ready(is_urgent, of, host_hash);
                }
            }
            HostStanding::At(at) => self.queue(host_hash, at),
            HostStanding::Nothing => {}
        }
    }

    /// Returns whether a host may get a request now.
    pub(super) fn standing_of(&self, host_hash: u64) -> HostStanding {
        let Some(host) = self.state.hosts.get(&host_hash) else { return HostStanding::Nothing };
        let Some(turns) = &host.turns else { return HostStanding::Nothing };
        let Some(held) = self.state.slots.get(&host.slot) else { return HostStanding::Nothing };
        if host.awaits_checkpoint || held.is_leaving {
            return HostStanding::Nothing;
        }
        let is_written = |of: Written| of.host_hash != host_hash || held.recorded_url() != Some(of);
        let waits =
            held.is_isolated() && (!held.is_quiet() || held.written.is_some_and(is_written));
        if held.is_late() || waits || !self.leases.is_valid(held.lease.fence) {
            return HostStanding::At(Instant::now() + LOOK_AGAIN);
        }
        let is_left = turns.delay.is_crawl_delay_too_long();
        let mut earliest: Option<Instant> = None;
        let mut wait = |at: Instant| earliest = Some(earliest.map_or(at, |before| before.min(at)));
        let (mut urgent, mut others, mut short) = (Vec::new(), Vec::new(), Vec::new());
        for number in &host.crawls {
            let Some((crawl, true)) = self.state.crawls.get(number) else { continue };
            if self.state.late_crawls.contains(number) {
                wait(Instant::now() + LOOK_AGAIN);
                continue;
            }
            let settings = self.delays_of(host, crawl);
            let free_at = turns.delay.free_at(&settings).map(Instant::from);
            let free_at = free_at.max(self.spaced_until(host, crawl, settings.delay));
            match (free_at, self.due_in(crawl, host_hash)) {
                (Some(at), _) if at > Instant::now() && !is_left => wait(at),
                (_, Some(due)) if due > Instant::now() => wait(due),
                (_, Some(_)) if crawl.is_limited && held.is_short_of_pages(*number) => {
                    short.push(Arc::clone(crawl));
                }
                (_, Some(_)) if self.is_urgent_in(crawl, host_hash) => {
                    urgent.push(Arc::clone(crawl));
                }
                (_, Some(_)) => others.push(Arc::clone(crawl)),
                (_, None) => {}
            }
        }
        let number = urgent.len();
        urgent.append(&mut others);
        urgent.append(&mut short);
        match earliest {
            _ if !urgent.is_empty() => HostStanding::Ready { crawls: urgent, urgent: number },
            Some(at) => HostStanding::At(at),
            None => HostStanding::Nothing,
        }
    }
}
