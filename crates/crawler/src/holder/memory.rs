//! The memory of what is known of hosts, and what happens when it is short.
//!
//! A site leaves memory when all of it is recorded and nothing of it is under way. One that is
//! being asked all the time never is, so where memory is short the sites that were loaded first are
//! set aside: their hosts are not asked until they have left memory, or memory is no longer short;
//! before all others those of which no page may be asked, since their crawl has none left.
//! What is due of them is loaded again like anything else that is due. Meanwhile no more links are
//! read, and if what is found in pages fills the memory all the same, nothing is asked. A site that
//! is larger than the memory is asked alone, up to a bound, and for a turn where others wait.
//!
//! Hosts leave with the last of their sites. Must not know: how anything is recorded or loaded.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use everytab_coordinator::{DueHost, SlotFence};
use everytab_frontier::{HostState, never_paused};

use crate::{
    free_memory,
    holder::state::{Holder, Pass, State},
    known::{Site, SiteKey},
    load::PassKind,
};

/// Percent of the memory above which nothing is asked, for pages lead to more.
const FULL_PERCENT: usize = 125;
/// Percent of the memory that one site may take while no other is asked: a host with as many known
/// URLs as it may have takes twice the memory that workers have.
const ALONE_PERCENT: usize = 400;
/// Percent of the memory below which more is loaded, and down to which sites are set aside.
const LOADED_PERCENT: usize = 90;
/// Percent down to which sites are set aside in turn for hosts that wait to be loaded.
const TURNS_PERCENT: usize = 80;
/// Percent of the memory below which several sites are loaded together, however large.
const MUCH_PERCENT: usize = 50;
/// How often memory is looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How often what sites have left is given back to the system, where memory is short.
const GIVE_BACK_INTERVAL: Duration = Duration::from_secs(4);
/// For how long a site that was loaded is asked before it is set aside for others.
const TURN_IN_MEMORY: Duration = Duration::from_secs(30);
/// About how many bytes a known URL takes in memory, as [`HostState::memory_bytes`] counts them.
const KNOWN_BYTES: usize = 16;
/// About how many bytes more a pending URL takes, with a text of 60 bytes.
const PENDING_BYTES: usize = 240;

const _: () = assert!(MUCH_PERCENT < TURNS_PERCENT && TURNS_PERCENT < LOADED_PERCENT);
const _: () = assert!(LOADED_PERCENT < 100 && FULL_PERCENT > 100);

impl Holder {
    /// So many percent of the memory for what is known of hosts, in bytes.
    fn percent(&self, percent: usize) -> usize {
        self.settings.frontier_bytes / 100 * percent
    }

    /// Whether so much is known that nothing is asked before some of it has left memory.
    pub(super) fn is_full(&self) -> bool {
        self.state.memory.bytes > self.percent(FULL_PERCENT) && !self.is_of_one_site()
    }

    /// Whether one site alone is asked, and what is known of it is not too much for that.
    fn is_of_one_site(&self) -> bool {
        self.suffices_for_one_site() && self.asked_sites().nth(1).is_none()
    }

    /// Whether no more is known than one site may have that is asked alone.
    fn suffices_for_one_site(&self) -> bool {
        self.state.memory.bytes <= self.percent(ALONE_PERCENT)
    }

    /// The sites that are loaded and not set aside.
    fn asked_sites(&self) -> impl Iterator<Item = &Site> {
        self.state.sites.values().filter(|site| !site.is_aside && !site.hosts.is_empty())
    }

    /// Whether sites or links wait for room in memory.
    fn is_awaited(&self) -> bool {
        let is_stalled =
            |pass: &Option<_>| pass.as_ref().is_some_and(|pass: &Pass| pass.is_stalled);
        self.state.memory.is_awaited
            || [&self.state.ordinary_pass, &self.state.newer_pass].into_iter().any(is_stalled)
    }

    /// Whether links may be merged, which makes more known.
    pub(super) fn has_memory(&self) -> bool {
        self.state.memory.bytes <= self.percent(100)
    }

    /// Whether several sites may be loaded, however large.
    pub(super) fn has_much_memory(&self) -> bool {
        self.state.memory.bytes <= self.percent(MUCH_PERCENT)
    }

    /// Asks the hosts of a site again, if it was set aside.
    pub(super) fn take_site_back(&mut self, crawl: i32, host_hash: u64) {
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        let key = SiteKey { crawl, site_hash: host.site_hash };
        if let Some(site) = self.state.sites.get_mut(&key) {
            let hosts = site.take_back();
            self.queue_all(hosts, Instant::now());
        }
    }

    /// The sites of hosts that are due and not loaded, as many as there is room for.
    pub(super) fn sites_to_load(&mut self, due: Vec<DueHost>) -> Vec<(SlotFence, SiteKey)> {
        let mut room = self.percent(LOADED_PERCENT).saturating_sub(self.state.memory.bytes);
        let mut sites = Vec::new();
        let mut taken = HashSet::new();
        self.state.memory.is_awaited = false;
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
            // A site that is larger than all the room is loaded where nothing else is.
            if bytes > room && !(sites.is_empty() && self.state.sites.is_empty()) {
                self.state.memory.is_awaited = true;
                break;
            }
            room = room.saturating_sub(bytes);
            if taken.insert(key) {
                sites.push((slot.lease.fence, key));
                // It is listed, so a page of it may be left after all.
                slot.without_pages.remove(&crawl);
            }
        }
        sites
    }

    /// Drops what is recorded and not needed where memory is short, and sets sites aside.
    pub(super) fn look_at_memory(&mut self) {
        let memory = &mut self.state.memory;
        if memory.looked_at.is_some_and(|at| at.elapsed() < LOOK_INTERVAL) {
            return;
        }
        memory.looked_at = Some(Instant::now());
        self.state.memory.bytes = self.state_bytes();
        let is_short = self.state.memory.bytes > self.percent(LOADED_PERCENT);
        if is_short || self.state.memory.is_awaited {
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

    /// Gives back to the system what dropped sites have left, now and then.
    fn give_memory_back(&mut self) {
        let given_back_at = &mut self.state.memory.given_back_at;
        if given_back_at.is_none_or(|at| at.elapsed() >= GIVE_BACK_INTERVAL) {
            *given_back_at = Some(Instant::now());
            drop(tokio::task::spawn_blocking(free_memory::give_back));
        }
    }

    /// Memory of what is known of the hosts that are loaded, in bytes.
    pub(super) fn state_bytes(&self) -> usize {
        self.state.sites.values().map(Site::memory_bytes).sum()
    }

    /// Drops sites that are set aside, or of which nothing is pending, when all of them is
    /// recorded.
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

    /// Whether all of a site is recorded, and nothing of it is under way or asked soon.
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

    /// Sets aside the sites that were loaded first, so many that there will be room.
    fn set_sites_aside(&mut self) {
        let aside: usize =
            self.state.sites.values().filter(|site| site.is_aside).map(Site::memory_bytes).sum();
        let bytes = self.state.memory.bytes.saturating_sub(aside);
        // Where hosts wait to be loaded, some of those that were asked for a while make room.
        let is_short = self.state.memory.bytes > self.percent(100);
        let wanted = self.percent(if is_short { LOADED_PERCENT } else { TURNS_PERCENT });
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
                // Requisites are no pages.
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

    /// Drops hosts of which no site that is loaded has URLs, where all that was learnt of them is
    /// recorded: who needs them loads them again.
    fn forget_hosts(&mut self) {
        let State { hosts, slots, sites, loading, memory, .. } = &mut self.state;
        // Looking through all of them is worth it when many more are there.
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
