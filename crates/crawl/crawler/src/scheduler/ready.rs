//! Decides whether a request to a host may start now, and for which crawls.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    crawl::Crawl,
    scheduler::{host_queue::OwnedCrawl, state::Scheduler},
    slot::IsolatedUrl,
};

/// Time until a host is checked again if it waits for something other than its delay.
pub(super) const RECHECK_DELAY: Duration = Duration::from_secs(1);

pub(super) enum HostReadiness {
    Ready {
        /// The crawls with a due URL on the host: first those in which a client is waiting for one,
        /// then the others in round-robin order, and last those whose limit has no free page.
        crawls: Vec<Arc<Crawl>>,
        urgent: usize,
    },
    /// The host gets no request before this time.
    At(Instant),
    /// No URL is due, or another event will schedule the host.
    Nothing,
}

impl Scheduler {
    /// Adds a host whose time has come to the ready queue of each crawl with a due URL on it, or
    /// only of those crawls in which such a URL is urgent.
    pub(super) fn enqueue_ready(&mut self, host_hash: u64) {
        match self.readiness(host_hash) {
            HostReadiness::Ready { crawls, urgent } => {
                let is_urgent = urgent > 0;
                let number = if is_urgent { urgent } else { crawls.len() };
                for crawl in crawls.iter().take(number) {
                    let owner = Arc::clone(&crawl.owner);
                    let of = OwnedCrawl { owner, crawl: crawl.number };
                    self.state.due.ready(is_urgent, of, host_hash);
                }
            }
            HostReadiness::At(at) => self.schedule_host(host_hash, at),
            HostReadiness::Nothing => {}
        }
    }

    pub(super) fn readiness(&self, host_hash: u64) -> HostReadiness {
        let Some(host) = self.state.hosts.get(&host_hash) else { return HostReadiness::Nothing };
        let Some(client) = &host.client else { return HostReadiness::Nothing };
        let Some(held) = self.state.slots.get(&host.slot) else { return HostReadiness::Nothing };
        if host.awaits_checkpoint || held.is_leaving {
            return HostReadiness::Nothing;
        }
        let is_unrecorded =
            |of: IsolatedUrl| of.host_hash != host_hash || held.recorded_url() != Some(of);
        let waits = held.is_isolated()
            && (!held.is_quiet() || held.isolated_url.is_some_and(is_unrecorded));
        if held.is_checkpoint_overdue() || waits || !self.leases.is_valid(held.lease.fence) {
            return HostReadiness::At(Instant::now() + RECHECK_DELAY);
        }
        let is_left = client.delay.is_crawl_delay_too_long();
        let mut earliest: Option<Instant> = None;
        let mut wait = |at: Instant| earliest = Some(earliest.map_or(at, |before| before.min(at)));
        let (mut urgent, mut others, mut short) = (Vec::new(), Vec::new(), Vec::new());
        for number in &host.crawls {
            let Some((crawl, true)) = self.state.crawls.get(number) else { continue };
            if self.state.stalled_crawls.contains(number) {
                wait(Instant::now() + RECHECK_DELAY);
                continue;
            }
            let settings = self.delays_of(host, crawl);
            let free_at = client.delay.free_at(&settings).map(Instant::from);
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
            _ if !urgent.is_empty() => HostReadiness::Ready { crawls: urgent, urgent: number },
            Some(at) => HostReadiness::At(at),
            None => HostReadiness::Nothing,
        }
    }
}
