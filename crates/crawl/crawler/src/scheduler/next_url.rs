//! Chooses a host's next URL, reserves pages of a limited crawl, and isolates URLs that may kill
//! workers.
//!
//! In an isolated slot, a checkpoint records a URL as in progress before the URL is fetched. The
//! next holder finds this mark, counts a death and fetches the URL again. After the fourth death
//! the URL is recorded as `crashed`.

use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use everytab_coordinator::{Error, SlotFence};
use everytab_fetcher::Cookies;
use everytab_frontier::{HostState, LinkFlags, PendingUrl, UrlHash};

use crate::{
    crawl::Crawl,
    host::{Site, SiteKey, unix_s},
    scheduler::{
        ready::RECHECK_DELAY,
        state::{Event, Scheduler},
    },
    slot::IsolatedUrl,
};

/// Maximum pages that one call reserves.
const PAGES_PER_CALL: i64 = 1_000;

impl Scheduler {
    pub(super) fn site_in(&self, crawl: i32, host_hash: u64) -> Option<&Site> {
        let site_hash = self.state.hosts.get(&host_hash)?.site_hash;
        self.state.sites.get(&SiteKey { crawl, site_hash })
    }

    pub(super) fn known_in(&self, crawl: i32, host_hash: u64) -> Option<&HostState> {
        self.site_in(crawl, host_hash)?.hosts.get(&host_hash)
    }

    pub(super) fn is_urgent_in(&self, crawl: &Crawl, host_hash: u64) -> bool {
        let Some(host) = self.state.hosts.get(&host_hash) else { return false };
        let patience = self.patience_of(crawl);
        let is_urgent = |state: &HostState| {
            state.is_urgent(unix_now(), |origin| host.paused_until_s(origin, patience))
        };
        host.is_urgent && self.known_in(crawl.number, host_hash).is_some_and(is_urgent)
    }

    /// `None` if no URL is pending, or if the site is suspended and has no redirect chain to
    /// finish.
    pub(super) fn due_in(&self, crawl: &Crawl, host_hash: u64) -> Option<Instant> {
        let site = self.site_in(crawl.number, host_hash)?;
        if site.is_suspended {
            return self.has_due_chain(crawl.number, host_hash).then(Instant::now);
        }
        let host = self.state.hosts.get(&host_hash)?;
        let patience = self.patience_of(crawl);
        let state = site.hosts.get(&host_hash)?;
        let due_s = state.next_ready_s(|origin| host.paused_until_s(origin, patience))?;
        let due = DateTime::from_timestamp(i64::try_from(due_s).ok()?, 0)?;
        // A pause may end within the second before `due`, which is rounded up to whole seconds.
        let due = host.origins.pause_end_within(due - TimeDelta::seconds(1), due).unwrap_or(due);
        let wait = (due - Utc::now()).to_std().unwrap_or_default();
        Some(Instant::now() + wait)
    }

    /// Takes the URL marked as in progress in an isolated slot, otherwise the target of a redirect
    /// chain with the chain's cookies, otherwise the first URL in order.
    pub(super) fn next_url(
        &mut self,
        host_hash: u64,
        crawl: &Crawl,
    ) -> Option<(PendingUrl, Cookies)> {
        let number = crawl.number;
        let patience = self.patience_of(crawl);
        let now = Utc::now();
        let now_s = u64::try_from(now.timestamp()).unwrap_or_default();
        let targets = self.targets_of(number, host_hash);
        let host = self.state.hosts.get(&host_hash)?;
        let key = SiteKey { crawl: number, site_hash: host.site_hash };
        let site = self.state.sites.get_mut(&key)?;
        site.used_at = Instant::now();
        let is_suspended = site.is_suspended;
        let state = site.hosts.get_mut(&host_hash)?;
        let paused_until_s = |origin| {
            let until = host.origins.paused_for(origin, patience).filter(|until| *until > now);
            until.map_or(0, unix_s)
        };
        let is_free = |state: &HostState, hash| {
            state.origin_of(hash).is_none_or(|origin| paused_until_s(origin) <= now_s)
        };
        let slot = self.state.slots.get_mut(&host.slot)?;
        let pending = match slot.isolated_url.filter(|url| url.crawl == number) {
            Some(IsolatedUrl { hash, .. }) if is_free(state, hash) => state.take(hash, now_s)?,
            isolated => {
                // The origin of the marked URL was paused in the meantime, so take another URL.
                if let Some(IsolatedUrl { hash, .. }) = isolated {
                    state.clear_in_progress(hash);
                    slot.isolated_url = None;
                }
                let free = targets.into_iter().filter(|target| is_free(state, *target));
                let free: Vec<UrlHash> = free.collect();
                match free.into_iter().find_map(|target| state.take(target, now_s)) {
                    Some(pending) => pending,
                    None if is_suspended => return None,
                    None => state.next(now_s, paused_until_s)?,
                }
            }
        };
        Some(self.in_chain(host_hash, number, pending))
    }

    pub(super) fn killed_its_holder(&self, host_hash: u64, pending: &PendingUrl) -> bool {
        let slot = self.state.hosts.get(&host_hash).map(|host| host.slot);
        let Some(slot) = slot.and_then(|slot| self.state.slots.get(&slot)) else { return false };
        let is_own = slot.isolated_url.is_some_and(|url| url.hash == pending.hash);
        let is_marked = pending.attributes.flags.contains(LinkFlags::IN_PROGRESS);
        slot.is_isolated() && is_marked && !is_own
    }

    /// Returns true if this URL has had so many deaths that it must be the cause. Otherwise counts
    /// one more, because workers are also killed for other reasons.
    pub(super) fn count_death(&mut self, host_hash: u64, crawl: i32, pending: &PendingUrl) -> bool {
        let is_last = pending.attributes.flags.deaths() == LinkFlags::MAX_DEATHS;
        if !is_last {
            self.state_of(crawl, host_hash, |state| state.note_death(pending.hash));
            self.changed(crawl, host_hash);
        }
        is_last
    }

    /// Call this when the URL that killed the slot's holders is found.
    pub(super) fn end_isolation(&mut self, host_hash: u64) {
        let slot = self.state.hosts.get(&host_hash).map(|host| host.slot);
        if let Some(slot) = slot.and_then(|slot| self.state.slots.get_mut(&slot)) {
            slot.lease.is_isolated = false;
            slot.wants_checkpoint = true;
        }
    }

    /// Returns false if the URL may be fetched now. Otherwise the next checkpoint records it as in
    /// progress.
    pub(super) fn mark_in_progress(
        &mut self,
        host_hash: u64,
        crawl: &Crawl,
        pending: &PendingUrl,
    ) -> bool {
        let Some(host) = self.state.hosts.get(&host_hash) else { return false };
        let Some(slot) = self.state.slots.get_mut(&host.slot) else { return false };
        if !slot.is_isolated() || slot.isolated_url.is_some() {
            return false;
        }
        let hash = pending.hash;
        let checkpoint = slot.number + 1;
        slot.isolated_url = Some(IsolatedUrl { crawl: crawl.number, host_hash, hash, checkpoint });
        slot.wants_checkpoint = true;
        slot.changed(crawl.number, host_hash);
        let fence = slot.lease.fence;
        self.release_reserved_page(fence, crawl, pending);
        self.state_of(crawl.number, host_hash, |state| state.mark_in_progress(hash));
        true
    }

    /// If the slot has no reserved page, requests more from Postgres and returns false. Returns
    /// true for URLs that need no page.
    pub(super) fn reserve(&mut self, host_hash: u64, crawl: &Crawl, pending: &PendingUrl) -> bool {
        if !crawl.is_limited || pending.attributes.flags.is_requisite_or_sitemap() {
            return true;
        }
        let Some(host) = self.state.hosts.get(&host_hash) else { return false };
        let Some(slot) = self.state.slots.get_mut(&host.slot) else { return false };
        if slot.use_page(crawl.number) {
            return true;
        }
        if slot.reserving.insert(crawl.number) {
            let fence = slot.lease.fence;
            let number = crawl.number;
            let pending = slot.pending.get(&number).copied().unwrap_or(1);
            let coordinator = self.coordinator.clone();
            let wanted = pending.clamp(1, PAGES_PER_CALL);
            self.start(async move {
                let pages = coordinator.reserve_pages(fence, number, wanted).await;
                Event::Reserved(fence, number, pages.map(Option::unwrap_or_default))
            });
        }
        false
    }

    /// 0 pages mean that the limit has none left for now.
    pub(super) fn reserved(&mut self, fence: SlotFence, crawl: i32, pages: Result<i64, Error>) {
        if !self.holds(fence) {
            return;
        }
        let Some(slot) = self.state.slots.get_mut(&fence.slot) else { return };
        slot.reserving.remove(&crawl);
        let pages = match pages {
            Ok(pages) => pages,
            // The reservation may have committed although the call failed. Release the slot: the
            // next holder reads the true sums from Postgres.
            Err(error) => {
                let number = fence.slot;
                tracing::warn!(slot = number, %error, "cannot reserve pages; releasing the slot");
                slot.is_leaving = true;
                return;
            }
        };
        *slot.reserved.entry(crawl).or_default() += pages;
        if pages > 0 {
            slot.out_of_budget.remove(&crawl);
        } else {
            slot.out_of_budget.insert(crawl, Instant::now());
            self.end_chains_of(crawl, fence.slot);
        }
        let at = if pages > 0 { Instant::now() } else { Instant::now() + RECHECK_DELAY };
        let hosts = self.state.hosts.iter();
        let hosts: Vec<u64> = hosts
            .filter(|(_, host)| host.slot == fence.slot && host.crawls.contains(&crawl))
            .map(|(hash, _)| *hash)
            .collect();
        self.schedule_hosts(hosts, at);
    }
}

fn unix_now() -> u64 {
    u64::try_from(Utc::now().timestamp()).unwrap_or_default()
}
