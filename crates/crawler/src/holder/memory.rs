//! Bounds the memory for host state, and frees some of it when memory is short.
//!
//! A site leaves memory when all its state is recorded and none of its requests is in flight. A
//! busy site never reaches that point, so when memory is short the scheduler suspends the sites
//! that were loaded first: it sends no requests to their hosts until they have left memory, or
//! until there is room again. Sites whose crawl has no pages left are suspended before all others.
//! What is due on a suspended site is loaded again later, like anything else that is due. Until
//! then no more links are read, and if the links found in pages fill the memory anyway, no requests
//! are sent. A site that is larger than the memory is crawled alone, up to a bound, and only for a
//! limited time if other sites wait.
//!
//! Hosts leave memory with the last of their sites. Does not depend on how state is recorded or
//! loaded.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use everytab_coordinator::{DueHost, SlotFence};
use everytab_frontier::{HostState, never_paused};

use crate::{
    free_memory,
    holder::state::{ChainedFetch, Holder, Pass, State},
    known::{Site, SiteKey},
    load::PassKind,
};

/// Above this percentage of `frontier_bytes` the worker sends no requests, because each page adds
/// links.
const FULL_PERCENT: usize = 125;
/// Percentage of `frontier_bytes` that a site may take while it is crawled alone. A host with the
/// maximum number of URLs, all of them pending, takes about twice the default `frontier_bytes`.
const ALONE_PERCENT: usize = 400;
/// Below this percentage of `frontier_bytes` more sites are loaded. Above 100 percent, sites are
/// suspended down to this percentage.
const LOADED_PERCENT: usize = 90;
/// Percentage down to which sites are suspended in rotation, for hosts that wait to be loaded.
const TURNS_PERCENT: usize = 80;
/// Below this percentage of `frontier_bytes` many sites are loaded in one call, whatever their
/// size.
const MUCH_PERCENT: usize = 50;
/// Interval between checks of memory use.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which freed memory is returned to the system while memory is short.
const GIVE_BACK_INTERVAL: Duration = Duration::from_secs(4);
/// Minimum time that a site is crawled before it is suspended for others that wait.
const TURN_IN_MEMORY: Duration = Duration::from_secs(30);
/// Approximate memory of a known URL, in bytes, as [`HostState::memory_bytes`] counts it.
const KNOWN_BYTES: usize = 16;
/// Approximate additional memory for a pending URL of 60 bytes, in bytes.
const PENDING_BYTES: usize = 240;

const _: () = assert!(MUCH_PERCENT < TURNS_PERCENT && TURNS_PERCENT < LOADED_PERCENT);
const _: () = assert!(LOADED_PERCENT < 100 && FULL_PERCENT > 100);

impl Holder {
    /// Returns `percent` percent of `frontier_bytes`, in bytes.
    fn percent(&self, percent: usize) -> usize {
        self.settings.frontier_bytes / 100 * percent
    }

    /// Returns whether no requests are sent until some host state has left memory.
    pub(super) fn is_full(&self) -> bool {
        self.state.memory.bytes > self.percent(FULL_PERCENT) && !self.is_of_one_site()
    }

    /// Returns whether at most one site is active and all state stays within [`ALONE_PERCENT`].
    fn is_of_one_site(&self) -> bool {
        self.suffices_for_one_site() && self.asked_sites().nth(1).is_none()
    }

    /// Returns whether all state stays within the bound of a site that is crawled alone.
    fn suffices_for_one_site(&self) -> bool {
        self.state.memory.bytes <= self.percent(ALONE_PERCENT)
    }

    /// Yields the sites that are loaded and not suspended.
    fn asked_sites(&self) -> impl Iterator<Item = &Site> {
        self.state.sites.values().filter(|site| !site.is_aside && !site.hosts.is_empty())
    }

    /// Returns whether sites or links wait for memory.
    fn is_awaited(&self) -> bool {
        let is_stalled =
            |pass: &Option<_>| pass.as_ref().is_some_and(|pass: &Pass| pass.is_stalled);
        self.state.memory.awaited_bytes > 0
            || [&self.state.ordinary_pass, &self.state.newer_pass].into_iter().any(is_stalled)
    }

    /// Returns whether links may be merged, which adds host state.
    pub(super) fn has_memory(&self) -> bool {
        self.state.memory.bytes <= self.percent(100)
    }

    /// Returns whether many sites may be loaded in one call, whatever their size.
    pub(super) fn has_much_memory(&self) -> bool {
        self.state.memory.bytes <= self.percent(MUCH_PERCENT)
    }

    /// Resumes a host's site if it is suspended.
    pub(super) fn take_site_back(&mut self, crawl: i32, host_hash: u64) {
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        let key = SiteKey { crawl, site_hash: host.site_hash };
        if let Some(site) = self.state.sites.get_mut(&key) {
            let hosts = site.take_back();
            self.queue_all(hosts, Instant::now());
        }
    }

    /// Chooses the sites to load for hosts that are due, as many as there is memory for.
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
            // Load a site that is larger than the room only if no other site is loaded.
            if bytes > room && !(sites.is_empty() && self.state.sites.is_empty()) {
                self.state.memory.awaited_bytes = bytes;
                break;
            }
            room = room.saturating_sub(bytes);
            if taken.insert(key) {
                sites.push((slot.lease.fence, key));
                // Postgres lists it as due, so the crawl may have pages left after all.
                slot.without_pages.remove(&crawl);
            }
        }
        sites
    }

    /// Drops recorded state that is not needed if memory is short, and suspends sites.
    pub(super) fn look_at_memory(&mut self) {
        let memory = &mut self.state.memory;
        if memory.looked_at.is_some_and(|at| at.elapsed() < LOOK_INTERVAL) {
            return;
        }
        memory.looked_at = Some(Instant::now());
        self.state.memory.bytes = self.state_bytes();
        let is_short = self.state.memory.bytes > self.percent(LOADED_PERCENT);
        if is_short || self.state.memory.awaited_bytes > 0 {
            self.drop_recorded_sites();
            self.set_sites_aside();
            self.give_memory_back();
        } else {
            let sites = self.state.sites.values_mut();
            let hosts = sites.flat_map(Site::take_back).collect();
            self.queue_all(hosts, Instant::now());
        }
        self.forget_hosts();
        if self.has_memory() {
            PassKind::ALL.into_iter().for_each(|kind| self.continue_pass(kind));
        }
    }

    /// Returns memory from dropped sites to the system, at most once per [`GIVE_BACK_INTERVAL`].
    fn give_memory_back(&mut self) {
        let given_back_at = &mut self.state.memory.given_back_at;
        if given_back_at.is_none_or(|at| at.elapsed() >= GIVE_BACK_INTERVAL) {
            *given_back_at = Some(Instant::now());
            drop(tokio::task::spawn_blocking(free_memory::give_back));
        }
    }

    /// Returns the memory that all loaded sites and the fetches of redirect chains take, in bytes.
    pub(super) fn state_bytes(&self) -> usize {
        let sites: usize = self.state.sites.values().map(Site::memory_bytes).sum();
        let chains = self.state.chains.values();
        sites + chains.map(|chain| chain.sum_of(ChainedFetch::memory_bytes)).sum::<usize>()
    }

    /// Drops sites that are fully recorded and either suspended or without pending URLs.
    fn drop_recorded_sites(&mut self) {
        let mut sites: Vec<(bool, Instant, SiteKey)> = self
            .state
            .sites
            .iter()
            .filter(|(_, site)| self.may_leave(site))
            .map(|(key, site)| (!site.is_aside, site.used_at, *key))
            .collect();
        sites.sort_unstable_by_key(|(is_asked, used_at, key)| {
            (*is_asked, *used_at, key.crawl, key.site_hash)
        });
        for (is_asked, _, key) in sites {
            if is_asked && self.state.memory.bytes <= self.percent(LOADED_PERCENT) {
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

    /// Returns whether a site may be dropped: it is recorded, idle, and suspended or without
    /// pending URLs.
    fn may_leave(&self, site: &Site) -> bool {
        let slot = self.state.slots.get(&site.slot);
        let is_recorded = slot.is_none_or(|slot| !slot.is_recording && slot.written.is_none());
        let is_quiet = |(hash, state): (&u64, &HostState)| {
            let is_asked = self.state.hosts.get(hash).is_some_and(|host| host.request.is_some());
            let waits = site.is_aside || state.sums().pending == 0;
            waits && !is_asked && !state.is_dirty() && !state.has_asked()
        };
        is_recorded && site.hosts.iter().all(is_quiet)
    }

    /// Suspends the sites that were loaded first until there will be enough room.
    fn set_sites_aside(&mut self) {
        let aside: usize =
            self.state.sites.values().filter(|site| site.is_aside).map(Site::memory_bytes).sum();
        let bytes = self.state.memory.bytes.saturating_sub(aside);
        // If hosts wait to be loaded, some sites that have been crawled for a while make room: as
        // much as the first of these hosts needs.
        let is_short = self.state.memory.bytes > self.percent(100);
        let wanted = self.percent(if is_short { LOADED_PERCENT } else { TURNS_PERCENT });
        let room = self.percent(LOADED_PERCENT).saturating_sub(self.state.memory.awaited_bytes);
        let wanted = wanted.min(room);
        let mut excess = bytes.saturating_sub(wanted);
        let mut sites: Vec<(bool, Instant, SiteKey)> = self
            .state
            .sites
            .iter()
            .filter(|(_, site)| !site.is_aside && !site.hosts.is_empty())
            .filter(|(_, site)| site.hosts.values().all(|state| !state.is_urgent(0, never_paused)))
            .map(|(key, site)| {
                let slot = self.state.slots.get(&site.slot);
                let crawl = self.state.crawls.get(&key.crawl);
                // Requisites are not pages, so the page limit does not stop them.
                let is_idle = slot.is_some_and(|slot| slot.is_out_of_pages(key.crawl))
                    && crawl.is_some_and(|(crawl, _)| !crawl.keeps_media);
                (!is_idle, site.loaded_at, *key)
            })
            .filter(|(is_asked, loaded_at, _)| {
                is_short || !is_asked || loaded_at.elapsed() >= TURN_IN_MEMORY
            })
            .collect();
        sites.sort_unstable_by_key(|(is_asked, loaded_at, key)| {
            (*is_asked, *loaded_at, key.crawl, key.site_hash)
        });
        let mut asked = self.asked_sites().count();
        let is_bounded = self.suffices_for_one_site();
        let is_awaited = self.is_awaited();
        for (is_asked, loaded_at, key) in sites {
            let has_turn = !is_awaited || loaded_at.elapsed() < TURN_IN_MEMORY;
            if excess == 0 || asked == 1 && is_asked && has_turn && is_bounded {
                return;
            }
            asked = asked.saturating_sub(1);
            let Some(site) = self.state.sites.get_mut(&key) else { continue };
            site.is_aside = true;
            excess = excess.saturating_sub(site.memory_bytes());
            if let Some(slot) = self.state.slots.get_mut(&site.slot) {
                slot.wants_checkpoint |= slot.is_dirty();
            }
        }
    }

    /// Drops hosts on which no loaded site has URLs, if Postgres has everything learned about them.
    /// They are loaded again when they are needed.
    fn forget_hosts(&mut self) {
        let State { hosts, slots, sites, loading, memory, .. } = &mut self.state;
        // A scan of all hosts pays off only once their number has grown by a quarter.
        if hosts.len() <= memory.hosts_kept {
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
        memory.hosts_kept = hosts.len() / 4 * 5;
    }
}
