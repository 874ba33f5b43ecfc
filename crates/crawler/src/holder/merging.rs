//! Reading links of the slots that are held, loading the sites that they lead to, and merging them.
//!
//! A pass is over all links of a lane that some slots have not read, in parts; one of each lane is
//! under way at a time. A slot's cursor of the lane moves at the end of the pass, with the number
//! of links that were read.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{SlotFence, UnreadRow};
use everytab_fetcher::{HostDelay, HostTurns};
use everytab_frontier::{HostState, Link, Merged, site_hash, slot_of_site};

use crate::{
    holder::state::{Event, Holder, Pass},
    known::{Host, Site, SiteKey},
    load::{Lane, LinksRead, LoadedSite, Readers, load_sites, read_links},
};

/// How often links are read.
const READ_INTERVAL: Duration = Duration::from_secs(1);
/// Sites that one call loads.
const SITES_A_CALL: usize = 500;
/// How often partitions of links that everybody has read are dropped.
const DROP_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// Chunks of ended crawls that one call deletes: a transaction of some seconds.
const CHUNKS_DROPPED: i32 = 10_000;
/// Bytes of unpacked states that are kept: what nothing is pending of leaves first.
const MAX_STATE_BYTES: usize = 256 << 20;

impl Holder {
    /// Begins a pass over a lane where none is under way.
    pub(super) fn read_links(&mut self, lane: Lane) {
        let calls = &self.state.calls;
        let read_at = if lane == Lane::Urgent { calls.urgent_read_at } else { calls.read_at };
        let is_early = read_at.is_some_and(|at| at.elapsed() < READ_INTERVAL);
        let may_read = !is_early && !self.state.is_stopping && !self.state.has_unreadable;
        if self.state.pass(lane).is_some() || !may_read {
            return;
        }
        let slots = self.state.slots.values().filter(|slot| !slot.is_leaving);
        let readers: Readers =
            slots.map(|slot| (slot.lease.fence, slot.lease.cursors.clone())).collect();
        if readers.is_empty() {
            return;
        }
        let calls = &mut self.state.calls;
        let read_at =
            if lane == Lane::Urgent { &mut calls.urgent_read_at } else { &mut calls.read_at };
        *read_at = Some(Instant::now());
        self.state.last_pass += 1;
        let number = self.state.last_pass;
        *self.state.pass(lane) = Some(Pass {
            number,
            readers: readers.clone(),
            ceiling: String::new(),
            more_after: None,
            waiting: VecDeque::new(),
            unlisted_at: None,
            read: HashMap::new(),
        });
        self.read_part((lane, number), readers, None);
    }

    fn read_part(
        &self,
        (lane, number): (Lane, u64),
        readers: Readers,
        from: Option<(String, i64)>,
    ) {
        let (coordinator, context) = (self.coordinator.clone(), Arc::clone(&self.context));
        self.start(async move {
            match read_links(&coordinator, &context.parameters, (lane, number, &readers), from)
                .await
            {
                Ok(read) => Event::LinksRead(read),
                Err(error) => Event::Failed("links", error),
            }
        });
    }

    pub(super) fn drop_read_links(&mut self) {
        let calls = &mut self.state.calls;
        let is_early = calls.dropped_at.is_some_and(|at| at.elapsed() < DROP_INTERVAL);
        if is_early || self.state.is_stopping {
            return;
        }
        calls.dropped_at = Some(Instant::now());
        let coordinator = self.coordinator.clone();
        self.start(async move {
            let dropped = async {
                coordinator.drop_read_links().await?;
                coordinator.drop_ended_frontier(CHUNKS_DROPPED).await
            };
            match dropped.await {
                Ok(_) => Event::Dropped,
                Err(error) => Event::Failed("drop", error),
            }
        });
    }

    /// A part of the links is read: those whose sites are loaded are merged, the others wait.
    pub(super) fn links_read(&mut self, read: LinksRead) {
        let lane = read.lane;
        // A part of a pass that was given up is read again by the next one.
        let mut taken = self.state.pass(lane).take_if(|pass| pass.number == read.pass);
        let Some(pass) = &mut taken else { return };
        pass.ceiling = read.ceiling;
        pass.more_after = read.more_after;
        let fences: HashMap<i16, SlotFence> =
            pass.readers.iter().map(|(fence, _)| (fence.slot, *fence)).collect();
        let suffixes = &self.context.suffixes;
        for (UnreadRow { slots, crawl, .. }, links) in read.links {
            for link in links {
                let slot = i16::from(slot_of_site(suffixes.site_of(link.url.host())));
                if !self.state.crawls.contains_key(&crawl) {
                    pass.unlisted_at = Some(Instant::now());
                }
                if let Some(fence) = fences.get(&slot).filter(|_| slots.contains(&slot)) {
                    pass.waiting.push_back((*fence, crawl, link));
                }
            }
        }
        let is_listed = pass.unlisted_at.is_none();
        *self.state.pass(lane) = taken;
        if is_listed {
            self.merge_or_load(lane);
        } else {
            self.state.calls.listed_at = None;
        }
    }

    /// The crawls were listed by a call of this time.
    pub(super) fn listed_for_pass(&mut self, asked_at: Instant) {
        for lane in Lane::ALL {
            let Some(pass) = self.state.pass(lane) else { continue };
            if pass.unlisted_at.is_some_and(|read_at| read_at < asked_at) {
                pass.unlisted_at = None;
                self.merge_or_load(lane);
            }
        }
    }

    /// Merges what waits, or loads the sites that it needs.
    fn merge_or_load(&mut self, lane: Lane) {
        let Some(mut pass) = self.state.pass(lane).take() else { return };
        let mut missing = HashMap::new();
        for (fence, crawl, link) in &pass.waiting {
            let key = self.site_of(*crawl, link.url.host());
            let is_open = self.state.crawls.contains_key(crawl) && self.holds(*fence);
            if is_open && !self.state.sites.contains_key(&key) {
                missing.insert(key, *fence);
            }
            if missing.len() >= SITES_A_CALL {
                break;
            }
        }
        if !missing.is_empty() {
            self.load_sites(missing.into_iter().map(|(key, fence)| (fence, key)).collect());
            *self.state.pass(lane) = Some(pass);
            return;
        }
        for (fence, crawl, link) in pass.waiting.drain(..) {
            if self.holds(fence) {
                *pass.read.entry(fence.slot).or_default().entry(crawl).or_default() += 1;
                self.merge_links(crawl, vec![link]);
            }
        }
        if let Some(after) = pass.more_after {
            let from = Some((pass.ceiling.clone(), after));
            self.read_part((lane, pass.number), pass.readers.clone(), from);
            *self.state.pass(lane) = Some(pass);
        } else {
            self.end_pass(lane, pass);
        }
    }

    fn end_pass(&mut self, lane: Lane, pass: Pass) {
        for (fence, mut before) in pass.readers {
            let Some(slot) = self.state.slots.get_mut(&fence.slot) else { continue };
            if slot.lease.fence == fence
                && lane.cursor(&mut slot.lease.cursors) == lane.cursor(&mut before)
            {
                let read = pass.read.get(&fence.slot).cloned().unwrap_or_default();
                slot.read(lane, &pass.ceiling, &read);
            }
        }
    }

    fn site_of(&self, crawl: i32, host: &str) -> SiteKey {
        SiteKey { crawl, site_hash: site_hash(self.context.suffixes.site_of(host)) }
    }

    /// Merges links of one crawl into the state of their host. Their site is loaded.
    pub(super) fn merge_links(&mut self, crawl: i32, links: Vec<Link>) {
        let Some(host) = links.first().map(|link| link.url.host().to_owned()) else { return };
        let (key, host_hash) = (self.site_of(crawl, &host), site_hash(&host));
        let Some((context, _)) = self.state.crawls.get(&crawl) else { return };
        let Some(site) = self.state.sites.get_mut(&key) else { return };
        site.used_at = Instant::now();
        let state = site.hosts.entry(host_hash).or_insert_with(|| HostState::new(&host));
        let merged: Merged = state.merge(links, &context.rules, &mut site.site_use);
        let slot = site.slot;
        if state.sums().known == 0 {
            site.hosts.remove(&host_hash);
        }
        if let Some(slot) = self.state.slots.get_mut(&slot) {
            slot.merged(crawl, host_hash, &merged);
        }
        if merged.new > 0 {
            self.know_host(slot, key.site_hash, &host, host_hash);
            self.add_crawl(host_hash, crawl);
        }
    }

    /// Makes a host that nothing is known of. Its first checkpoint names it.
    fn know_host(&mut self, slot: i16, site_hash: u64, name: &str, host_hash: u64) {
        if self.state.hosts.contains_key(&host_hash) {
            return;
        }
        let options = Arc::clone(&self.options);
        let turns = HostTurns::new(&self.context.fetcher, options, HostDelay::default());
        let is_own = self.settings.own.contain(name);
        self.state.hosts.insert(host_hash, Host::new(slot, site_hash, name, is_own, turns));
        if let Some(slot) = self.state.slots.get_mut(&slot) {
            slot.changed_hosts.insert(host_hash);
        }
    }

    /// Loads sites in a task.
    pub(super) fn load_sites(&mut self, mut sites: Vec<(SlotFence, SiteKey)>) {
        sites.retain(|(_, key)| self.state.loading.insert(*key));
        for part in sites.chunks(SITES_A_CALL) {
            let (part, coordinator) = (part.to_vec(), self.coordinator.clone());
            let context = Arc::clone(&self.context);
            self.start(async move {
                match load_sites(&coordinator, &context.parameters, &part).await {
                    Ok(loaded) => Event::SitesLoaded(loaded),
                    Err(error) => Event::Failed("sites", error),
                }
            });
        }
    }

    pub(super) fn sites_loaded(&mut self, sites: Vec<(SlotFence, LoadedSite)>) {
        for (fence, site) in sites {
            self.state.loading.remove(&site.key);
            let is_open = self.state.crawls.contains_key(&site.key.crawl);
            if self.holds(fence) && is_open && !self.state.sites.contains_key(&site.key) {
                self.install(fence.slot, site);
            }
        }
        for lane in Lane::ALL {
            let pass = self.state.pass(lane).as_ref();
            let is_waiting =
                pass.is_some_and(|pass| !pass.waiting.is_empty() && pass.unlisted_at.is_none());
            if is_waiting {
                self.merge_or_load(lane);
            }
        }
    }

    /// Takes up a site that was loaded.
    fn install(&mut self, slot: i16, loaded: LoadedSite) {
        let LoadedSite { key, hosts, states } = loaded;
        let mut site = Site::new(slot);
        let mut to_queue = Vec::new();
        for (host_hash, unpacked) in states {
            to_queue.push(host_hash);
            site.insert(host_hash, unpacked.state);
        }
        self.state.sites.insert(key, site);
        let died = self.state.slots.get(&slot).is_some_and(|slot| slot.lease.deaths > 0);
        for manners in hosts.iter().filter(|host| to_queue.contains(&host.host_hash)) {
            self.state.hosts.entry(manners.host_hash).or_insert_with(|| {
                let is_own = self.settings.own.contain(&manners.hostname);
                let (fetcher, options) = (&self.context.fetcher, &self.options);
                let mut host = Host::restore(slot, manners, is_own, fetcher, options);
                if died && let Some(turns) = &mut host.turns {
                    turns.delay.wait_until(tokio::time::Instant::now() + Duration::from_secs(1));
                }
                host
            });
        }
        for host_hash in to_queue {
            self.add_crawl(host_hash, key.crawl);
        }
    }

    /// A crawl knows URLs of a host, which is to be looked at now.
    fn add_crawl(&mut self, host_hash: u64, crawl: i32) {
        let is_urgent = self.state_of(crawl, host_hash, |state| state.is_urgent());
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        host.add_crawl(crawl);
        if is_urgent == Some(true) && !host.is_urgent {
            host.is_urgent = true;
            // It has another place among the hosts that are due.
            host.queued_at = None;
        }
        self.queue(host_hash, Instant::now());
    }

    /// Whether more sites may be loaded.
    pub(super) fn has_memory(&self) -> bool {
        self.state_bytes() < MAX_STATE_BYTES / 10 * 9
    }

    /// Memory of what is known of the hosts that are loaded, in bytes.
    pub(super) fn state_bytes(&self) -> usize {
        let sites = self.state.sites.values();
        sites.flat_map(|site| site.hosts.values()).map(HostState::memory_bytes).sum()
    }

    /// Drops sites of which all is recorded and nothing pending, least recently needed first,
    /// where memory is short.
    pub(super) fn evict(&mut self) {
        let is_early =
            self.state.calls.evicted_at.is_some_and(|at| at.elapsed() < Duration::from_secs(5));
        if is_early {
            return;
        }
        self.state.calls.evicted_at = Some(Instant::now());
        let mut excess = self.state_bytes().saturating_sub(MAX_STATE_BYTES);
        let is_reading = self.state.urgent_pass.is_some() || self.state.ordinary_pass.is_some();
        if excess == 0 || is_reading {
            return;
        }
        let quiet = |site: &Site| {
            let is_clean = |state: &HostState| !state.is_dirty() && state.sums().pending == 0;
            let slot = self.state.slots.get(&site.slot);
            site.hosts.values().all(is_clean) && slot.is_none_or(|slot| !slot.is_recording)
        };
        let mut sites: Vec<(Instant, SiteKey)> = self
            .state
            .sites
            .iter()
            .filter(|(_, site)| quiet(site))
            .map(|(key, site)| (site.used_at, *key))
            .collect();
        sites.sort_by_key(|(used_at, _)| *used_at);
        for (_, key) in sites {
            let Some(site) = self.state.sites.remove(&key) else { continue };
            let bytes: usize = site.hosts.values().map(HostState::memory_bytes).sum();
            excess = excess.saturating_sub(bytes);
            if excess == 0 {
                return;
            }
        }
    }
}
