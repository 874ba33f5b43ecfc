//! Limits the memory for host state, and frees some of it when memory is short.
//!
//! A site can leave memory when all its state is recorded and it has no request in flight, which
//! never happens to a busy site. When memory is short, sites are therefore suspended, and get
//! requests only to finish redirect chains, until they have left memory or there is room again.
//! While memory is short, only urgent links are read. A site that is larger than the memory is
//! crawled alone.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use everytab_coordinator::{DueHost, SlotFence};
use everytab_frontier::{HostState, never_paused};

use crate::{
    free_memory,
    host::{Site, SiteKey},
    load::PassKind,
    scheduler::state::{ChainedFetch, Pass, Scheduler, State},
};

/// Above this percentage of `frontier_bytes`, the worker sends no requests, because each page adds
/// links.
const FULL_PERCENT: usize = 125;
/// Percentage of `frontier_bytes` that a site may take while it is crawled alone.
const ALONE_PERCENT: usize = 400;
/// Below this percentage of `frontier_bytes`, more sites are loaded. Above 100 percent, sites are
/// suspended down to this percentage.
const LOADED_PERCENT: usize = 90;
/// Percentage of `frontier_bytes` down to which sites are suspended in rotation, to make room for
/// hosts that wait to be loaded.
const ROTATION_PERCENT: usize = 80;
/// Below this percentage of `frontier_bytes`, many sites are loaded in one call, regardless of
/// their size.
const MUCH_PERCENT: usize = 50;
/// Interval between memory checks.
const MEMORY_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which freed memory is returned to the system while memory is short.
const TRIM_INTERVAL: Duration = Duration::from_secs(4);
/// Minimum time that a site is crawled before it is suspended for others that wait.
const MIN_TIME_IN_MEMORY: Duration = Duration::from_secs(30);
/// Approximate memory for a known URL, in bytes, as [`HostState::memory_bytes`] counts it.
const KNOWN_BYTES: usize = 16;
/// Approximate additional memory for a pending URL of 60 bytes, in bytes.
const PENDING_BYTES: usize = 240;

const _: () = assert!(MUCH_PERCENT < ROTATION_PERCENT && ROTATION_PERCENT < LOADED_PERCENT);
const _: () = assert!(LOADED_PERCENT < 100 && FULL_PERCENT > 100);

impl Scheduler {
    fn percent(&self, percent: usize) -> usize {
        self.settings.frontier_bytes / 100 * percent
    }

    /// Returns true if no requests may be sent until some host state has left memory.
    pub(super) fn is_full(&self) -> bool {
        self.state.memory.bytes > self.percent(FULL_PERCENT) && !self.is_of_one_site()
    }

    fn is_of_one_site(&self) -> bool {
        self.suffices_for_one_site() && self.active_sites().nth(1).is_none()
    }

    fn suffices_for_one_site(&self) -> bool {
        self.state.memory.bytes <= self.percent(ALONE_PERCENT)
    }

    fn active_sites(&self) -> impl Iterator<Item = &Site> {
        self.state.sites.values().filter(|site| !site.is_suspended && !site.hosts.is_empty())
    }

    fn is_awaited(&self) -> bool {
        let is_stalled =
            |pass: &Option<_>| pass.as_ref().is_some_and(|pass: &Pass| pass.is_stalled);
        self.state.memory.awaited_bytes > 0
            || [&self.state.ordinary_pass, &self.state.newer_pass].into_iter().any(is_stalled)
    }

    /// Returns true if links may be merged, which adds host state.
    pub(super) fn has_memory(&self) -> bool {
        self.state.memory.bytes <= self.percent(100)
    }

    pub(super) fn has_much_memory(&self) -> bool {
        self.state.memory.bytes <= self.percent(MUCH_PERCENT)
    }

    pub(super) fn resume_site(&mut self, crawl: i32, host_hash: u64) {
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        let key = SiteKey { crawl, site_hash: host.site_hash };
        if let Some(site) = self.state.sites.get_mut(&key) {
            let hosts = site.resume_hosts();
            self.schedule_hosts(hosts, Instant::now());
        }
    }

    pub(super) fn sites_to_load(&mut self, due: Vec<DueHost>) -> Vec<(SlotFence, SiteKey)> {
        let mut room = self.percent(LOADED_PERCENT).saturating_sub(self.state.memory.bytes);
        let mut sites = Vec::new();
        let mut taken = HashSet::new();
        self.state.memory.awaited_bytes = 0;
        for DueHost { slot, crawl, site_hash, known, pending, .. } in due {
            let Some(slot) = self.state.slots.get_mut(&slot) else { continue };
            let key = SiteKey { crawl, site_hash };
            let is_loaded =
                self.state.sites.contains_key(&key) || self.state.loading.contains(&key);
            if is_loaded || !self.state.crawls.contains_key(&crawl) {
                continue;
            }
            let urls = |number: i32| usize::try_from(number).unwrap_or_default();
            let bytes =
                size_of::<HostState>() + urls(known) * KNOWN_BYTES + urls(pending) * PENDING_BYTES;
            if bytes > room && !(sites.is_empty() && self.state.sites.is_empty()) {
                self.state.memory.awaited_bytes = bytes;
                break;
            }
            room = room.saturating_sub(bytes);
            if taken.insert(key) {
                sites.push((slot.lease.fence, key));
                // Postgres lists this host as due, so the crawl may have pages left again.
                slot.out_of_budget.remove(&crawl);
            }
        }
        sites
    }

    pub(super) fn check_memory(&mut self) {
        let memory = &mut self.state.memory;
        if memory.checked_at.is_some_and(|at| at.elapsed() < MEMORY_CHECK_INTERVAL) {
            return;
        }
        memory.checked_at = Some(Instant::now());
        self.state.memory.bytes = self.state_bytes();
        let is_short = self.state.memory.bytes > self.percent(LOADED_PERCENT);
        if is_short || self.state.memory.awaited_bytes > 0 {
            self.drop_recorded_sites();
            self.suspend_sites();
            self.trim_heap();
        } else {
            let sites = self.state.sites.values_mut();
            let hosts = sites.flat_map(Site::resume_hosts).collect();
            self.schedule_hosts(hosts, Instant::now());
        }
        self.forget_hosts();
        if self.has_memory() {
            PassKind::ALL.into_iter().for_each(|kind| self.continue_pass(kind));
        }
    }

    fn trim_heap(&mut self) {
        let trimmed_at = &mut self.state.memory.trimmed_at;
        if trimmed_at.is_none_or(|at| at.elapsed() >= TRIM_INTERVAL) {
            *trimmed_at = Some(Instant::now());
            drop(tokio::task::spawn_blocking(free_memory::trim));
        }
    }

    pub(super) fn state_bytes(&self) -> usize {
        let sites: usize = self.state.sites.values().map(Site::memory_bytes).sum();
        let chains = self.state.chains.values();
        sites + chains.map(|chain| chain.sum_of(ChainedFetch::memory_bytes)).sum::<usize>()
    }

    /// Drops all suspended sites that may leave memory and, while memory is short, those without
    /// pending URLs.
    fn drop_recorded_sites(&mut self) {
        let mut sites: Vec<(bool, Instant, SiteKey)> = self
            .state
            .sites
            .iter()
            .filter(|(_, site)| self.may_leave(site))
            .map(|(key, site)| (!site.is_suspended, site.used_at, *key))
            .collect();
        sites.sort_unstable_by_key(|(is_active, used_at, key)| {
            (*is_active, *used_at, key.crawl, key.site_hash)
        });
        for (is_active, _, key) in sites {
            if is_active && self.state.memory.bytes <= self.percent(LOADED_PERCENT) {
                break;
            }
            let Some(site) = self.state.sites.remove(&key) else { continue };
            let State { hosts, memory, .. } = &mut self.state;
            memory.bytes = memory.bytes.saturating_sub(site.memory_bytes());
            for hash in site.hosts.keys() {
                if let Some(host) = hosts.get_mut(hash) {
                    host.drop_crawl(key.crawl);
                }
            }
        }
    }

    fn may_leave(&self, site: &Site) -> bool {
        let slot = self.state.slots.get(&site.slot);
        let is_recorded = slot.is_none_or(|slot| !slot.is_recording && slot.isolated_url.is_none());
        let is_quiet = |(hash, state): (&u64, &HostState)| {
            let is_active = self.state.hosts.get(hash).is_some_and(|host| host.request.is_some());
            let waits = site.is_suspended || state.sums().pending == 0;
            waits && !is_active && !state.is_dirty() && !state.has_in_flight()
        };
        is_recorded && site.hosts.iter().all(is_quiet)
    }

    /// Suspends sites until these would free enough memory: first those of crawls without pages
    /// left, then those that were loaded first.
    fn suspend_sites(&mut self) {
        let suspended: usize = self
            .state
            .sites
            .values()
            .filter(|site| site.is_suspended)
            .map(Site::memory_bytes)
            .sum();
        let bytes = self.state.memory.bytes.saturating_sub(suspended);
        // If hosts wait to be loaded, suspend sites that have been crawled for a while, to make
        // room for the first of these hosts.
        let is_short = self.state.memory.bytes > self.percent(100);
        let wanted = self.percent(if is_short { LOADED_PERCENT } else { ROTATION_PERCENT });
        let room = self.percent(LOADED_PERCENT).saturating_sub(self.state.memory.awaited_bytes);
        let wanted = wanted.min(room);
        let mut excess = bytes.saturating_sub(wanted);
        let mut sites: Vec<(bool, Instant, SiteKey)> = self
            .state
            .sites
            .iter()
            .filter(|(_, site)| !site.is_suspended && !site.hosts.is_empty())
            .filter(|(_, site)| site.hosts.values().all(|state| !state.is_urgent(0, never_paused)))
            .map(|(key, site)| {
                let slot = self.state.slots.get(&site.slot);
                let crawl = self.state.crawls.get(&key.crawl);
                // Requisites are not pages, so the page limit does not stop them.
                let is_idle = slot.is_some_and(|slot| slot.is_out_of_pages(key.crawl))
                    && crawl.is_some_and(|(crawl, _)| !crawl.keeps_media);
                (!is_idle, site.loaded_at, *key)
            })
            .filter(|(is_active, loaded_at, _)| {
                is_short || !is_active || loaded_at.elapsed() >= MIN_TIME_IN_MEMORY
            })
            .collect();
        sites.sort_unstable_by_key(|(is_active, loaded_at, key)| {
            (*is_active, *loaded_at, key.crawl, key.site_hash)
        });
        let mut active = self.active_sites().count();
        let is_bounded = self.suffices_for_one_site();
        let is_awaited = self.is_awaited();
        for (is_active, loaded_at, key) in sites {
            let is_protected = !is_awaited || loaded_at.elapsed() < MIN_TIME_IN_MEMORY;
            if excess == 0 || active == 1 && is_active && is_protected && is_bounded {
                return;
            }
            active = active.saturating_sub(1);
            let Some(site) = self.state.sites.get_mut(&key) else { continue };
            site.is_suspended = true;
            excess = excess.saturating_sub(site.memory_bytes());
            if let Some(slot) = self.state.slots.get_mut(&site.slot) {
                slot.wants_checkpoint |= slot.is_dirty();
            }
        }
    }

    /// A host stays in memory until Postgres has recorded all that was learned about it.
    fn forget_hosts(&mut self) {
        let State { hosts, slots, sites, loading, memory, .. } = &mut self.state;
        // Scan all hosts only when their number has grown by a quarter, because a scan is slow.
        if hosts.len() <= memory.eviction_threshold {
            return;
        }
        let loaded: HashSet<u64> =
            sites.keys().chain(loading.iter()).map(|key| key.site_hash).collect();
        hosts.retain(|hash, host| {
            let is_recorded = slots
                .get(&host.slot)
                .is_some_and(|slot| !slot.is_recording && !slot.changed_hosts.contains(hash));
            !host.is_unused() || !is_recorded || loaded.contains(&host.site_hash)
        });
        memory.eviction_threshold = hosts.len() / 4 * 5;
    }
}
