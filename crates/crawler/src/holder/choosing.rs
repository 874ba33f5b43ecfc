//! Chooses the next URL of a host: the order, the page limit, and the isolation of a URL on which
//! workers may die.
//!
//! In an isolated slot, a checkpoint records a URL as in progress before it is fetched. If the
//! holder dies, the next one finds this mark, counts a death and fetches the URL again. After the
//! fourth death the URL is recorded as `crashed`.

use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use everytab_coordinator::{Error, SlotFence};
use everytab_fetcher::Cookies;
use everytab_frontier::{HostState, LinkFlags, Turn, UrlHash};

use crate::{
    crawl::Crawl,
    holder::{
        ready::LOOK_AGAIN,
        state::{Event, Holder},
    },
    known::{Site, SiteKey, unix_s},
    slot::Written,
};

/// Maximum pages that one call reserves: those of half a minute.
const PAGES_A_CALL: i64 = 1_000;

impl Holder {
    /// Returns the state of a host's site in a crawl.
    pub(super) fn site_in(&self, crawl: i32, host_hash: u64) -> Option<&Site> {
        let site_hash = self.state.hosts.get(&host_hash)?.site_hash;
        self.state.sites.get(&SiteKey { crawl, site_hash })
    }

    /// Returns a host's state in a crawl.
    pub(super) fn known_in(&self, crawl: i32, host_hash: u64) -> Option<&HostState> {
        self.site_in(crawl, host_hash)?.hosts.get(&host_hash)
    }

    /// Returns true if a client is waiting for the next URL of a host in a crawl.
    pub(super) fn is_urgent_in(&self, crawl: &Crawl, host_hash: u64) -> bool {
        let Some(host) = self.state.hosts.get(&host_hash) else { return false };
        let patience = self.patience_of(crawl);
        let is_urgent = |state: &HostState| {
            state.is_urgent(unix_now(), |origin| host.paused_until_s(origin, patience))
        };
        host.is_urgent && self.known_in(crawl.number, host_hash).is_some_and(is_urgent)
    }

    /// Returns when a URL of a host is due in a crawl. `None` if nothing is pending, or its site is
    /// suspended and has no redirect chain to finish.
    pub(super) fn due_in(&self, crawl: &Crawl, host_hash: u64) -> Option<Instant> {
        let site = self.site_in(crawl.number, host_hash)?;
        if site.is_aside {
            return self.has_due_chain(crawl.number, host_hash).then(Instant::now);
        }
        let (host, patience) = (self.state.hosts.get(&host_hash)?, self.patience_of(crawl));
        let state = site.hosts.get(&host_hash)?;
        let due_s = state.next_turn_s(|origin| host.paused_until_s(origin, patience))?;
        let due = DateTime::from_timestamp(i64::try_from(due_s).ok()?, 0)?;
        // A pause may end within the second before `due`, which is rounded up to whole seconds.
        let due = host.origins.pause_end_within(due - TimeDelta::seconds(1), due).unwrap_or(due);
        let wait = (due - Utc::now()).to_std().unwrap_or_default();
        Some(Instant::now() + wait)
    }

    /// Takes the host's next URL: the one marked as in progress in an isolated slot, else the
    /// target of a redirect chain (with the chain's cookies), else the first in order unless the
    /// site is suspended. URLs of paused origins wait. `None` if nothing is due.
    pub(super) fn take_turn(&mut self, host_hash: u64, crawl: &Crawl) -> Option<(Turn, Cookies)> {
        let (number, patience, now) = (crawl.number, self.patience_of(crawl), Utc::now());
        let now_s = u64::try_from(now.timestamp()).unwrap_or_default();
        let targets = self.targets_of(number, host_hash);
        let host = self.state.hosts.get(&host_hash)?;
        let key = SiteKey { crawl: number, site_hash: host.site_hash };
        let site = self.state.sites.get_mut(&key)?;
        site.used_at = Instant::now();
        let is_aside = site.is_aside;
        let state = site.hosts.get_mut(&host_hash)?;
        let paused_until_s = |origin| {
            let until = host.origins.paused_for(origin, patience).filter(|until| *until > now);
            until.map_or(0, unix_s)
        };
        let is_free = |state: &HostState, hash| {
            state.origin_of(hash).is_none_or(|origin| paused_until_s(origin) <= now_s)
        };
        let slot = self.state.slots.get_mut(&host.slot)?;
        let turn = match slot.written.filter(|written| written.crawl == number) {
            Some(Written { hash, .. }) if is_free(state, hash) => state.take(hash, now_s)?,
            written => {
                // If the origin of the marked URL was paused since, take another URL.
                if let Some(Written { hash, .. }) = written {
                    state.cross_out(hash);
                    slot.written = None;
                }
                let free = targets.into_iter().filter(|target| is_free(state, *target));
                let free: Vec<UrlHash> = free.collect();
                match free.into_iter().find_map(|target| state.take(target, now_s)) {
                    Some(turn) => turn,
                    None if is_aside => return None,
                    None => state.next(now_s, paused_until_s)?,
                }
            }
        };
        Some(self.in_chain(host_hash, number, turn))
    }

    /// Returns whether a URL of an isolated slot was in progress when the last holder died.
    pub(super) fn killed_its_holder(&self, host_hash: u64, turn: &Turn) -> bool {
        let slot = self.state.hosts.get(&host_hash).map(|host| host.slot);
        let Some(slot) = slot.and_then(|slot| self.state.slots.get(&slot)) else { return false };
        let is_own = slot.written.is_some_and(|written| written.hash == turn.hash);
        let is_written_down = turn.attributes.flags.contains(LinkFlags::WRITTEN_DOWN);
        slot.is_isolated() && is_written_down && !is_own
    }

    /// Returns true if this URL has had so many deaths that it must be the cause; otherwise counts
    /// one more. Workers are also killed for other reasons: if that happens to one URL in ten while
    /// it is in progress, one in ten thousand has four such deaths in a row.
    pub(super) fn is_last_death(&mut self, host_hash: u64, crawl: i32, turn: &Turn) -> bool {
        let is_last = turn.attributes.flags.deaths() == LinkFlags::MAX_DEATHS;
        if !is_last {
            self.state_of(crawl, host_hash, |state| state.note_death(turn.hash));
            self.changed(crawl, host_hash);
        }
        is_last
    }

    /// Ends the isolation of a host's slot, because the URL that killed its holders was found.
    pub(super) fn found_poison(&mut self, host_hash: u64) {
        let slot = self.state.hosts.get(&host_hash).map(|host| host.slot);
        if let Some(slot) = slot.and_then(|slot| self.state.slots.get_mut(&slot)) {
            slot.lease.is_isolated = false;
            slot.wants_checkpoint = true;
        }
    }

    /// Has the next checkpoint record that a URL is in progress, in an isolated slot. Returns false
    /// if the URL may be fetched now, because a checkpoint has recorded this or need not.
    pub(super) fn write_down(&mut self, host_hash: u64, crawl: &Crawl, turn: &Turn) -> bool {
        let Some(host) = self.state.hosts.get(&host_hash) else { return false };
        let Some(slot) = self.state.slots.get_mut(&host.slot) else { return false };
        if !slot.is_isolated() || slot.written.is_some() {
            return false;
        }
        let (hash, checkpoint) = (turn.hash, slot.number + 1);
        slot.written = Some(Written { crawl: crawl.number, host_hash, hash, checkpoint });
        slot.wants_checkpoint = true;
        slot.changed(crawl.number, host_hash);
        let fence = slot.lease.fence;
        self.end_use(fence, crawl, turn);
        self.state_of(crawl.number, host_hash, |state| state.write_down(hash));
        true
    }

    /// Takes a reserved page of the crawl's limit for a URL. If the slot has none, requests more
    /// from Postgres and returns false.
    pub(super) fn reserve(&mut self, host_hash: u64, crawl: &Crawl, turn: &Turn) -> bool {
        if !crawl.is_limited || turn.attributes.flags.is_no_page() {
            return true;
        }
        let Some(host) = self.state.hosts.get(&host_hash) else { return false };
        let Some(slot) = self.state.slots.get_mut(&host.slot) else { return false };
        if slot.use_page(crawl.number) {
            return true;
        }
        if slot.reserving.insert(crawl.number) {
            let (fence, number) = (slot.lease.fence, crawl.number);
            let pending = slot.pending.get(&number).copied().unwrap_or(1);
            let (coordinator, wanted) = (self.coordinator.clone(), pending.clamp(1, PAGES_A_CALL));
            self.start(async move {
                let pages = coordinator.reserve_pages(fence, number, wanted).await;
                Event::Reserved(fence, number, pages.map(Option::unwrap_or_default))
            });
        }
        false
    }

    /// Handles the reply to a page reservation. 0 pages means that none is left for now.
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
                tracing::warn!(slot = fence.slot, %error, "reserving pages failed; giving it back");
                slot.is_leaving = true;
                return;
            }
        };
        *slot.reserved.entry(crawl).or_default() += pages;
        if pages > 0 {
            slot.without_pages.remove(&crawl);
        } else {
            slot.without_pages.insert(crawl, Instant::now());
            self.end_chains_of(crawl, fence.slot);
        }
        let at = if pages > 0 { Instant::now() } else { Instant::now() + LOOK_AGAIN };
        let hosts = self.state.hosts.iter();
        let hosts: Vec<u64> = hosts
            .filter(|(_, host)| host.slot == fence.slot && host.crawls.contains(&crawl))
            .map(|(hash, _)| *hash)
            .collect();
        self.queue_all(hosts, at);
    }
}

/// Returns the current time in seconds since 1970.
fn unix_now() -> u64 {
    u64::try_from(Utc::now().timestamp()).unwrap_or_default()
}
