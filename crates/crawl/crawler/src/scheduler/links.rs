//! Reads links for the held slots, loads their sites, and merges the links.
//!
//! A pass reads all unread links of a lane in batches. Each slot's cursor in the lane advances only
//! when the pass ends, together with the slot's count of links read. During a long ordinary pass,
//! other passes read newer links.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{LinkCursors, SlotFence};
use everytab_fetcher::{HostClient, HostDelay};
use everytab_frontier::{HostState, Link, Merged, never_paused, site_hash};

use crate::{
    host::{Host, Site, SiteKey},
    load::{LinksRead, LoadedSite, PassKind, Readers, load_sites, read_links},
    scheduler::{
        slices::end_of_slice,
        state::{Event, Pass, Scheduler},
    },
};

/// Interval between passes.
const READ_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum sites that one call loads.
const SITES_PER_CALL: usize = 500;
/// Maximum sites that one call loads while memory may become short, because some sites are large.
const SITES_PER_SMALL_CALL: usize = 50;
/// Interval at which we drop link partitions that all slots have read, and chunks of ended crawls.
const DROP_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// Maximum chunks of ended crawls that one call deletes.
const CHUNKS_DROPPED: i32 = 10_000;
/// Pause between two calls that delete chunks, so that they do not block Postgres for other work.
const DROP_PAUSE: Duration = Duration::from_secs(5);

impl Scheduler {
    pub(super) fn read_links(&mut self, kind: PassKind) {
        // Clients are waiting for urgent links, so do not stretch their interval.
        let interval = match kind {
            PassKind::Urgent => READ_INTERVAL,
            _ => self.state.interval_in_fleet(READ_INTERVAL),
        };
        let is_early = self.state.calls.read_at(kind).is_some_and(|at| at.elapsed() < interval);
        let may_read = !is_early && !self.state.is_stopping && !self.state.has_unreadable;
        if self.state.pass(kind).is_some() || !may_read {
            return;
        }
        let readers = self.readers(kind);
        if readers.is_empty() {
            return;
        }
        *self.state.calls.read_at(kind) = Some(Instant::now());
        self.state.last_pass += 1;
        let number = self.state.last_pass;
        *self.state.pass(kind) = Some(Pass {
            number,
            readers: readers.clone(),
            began_at: Instant::now(),
            ceiling: String::new(),
            newer_ceiling: None,
            more_after: None,
            waiting: VecDeque::new(),
            has_more: false,
            unloaded: VecDeque::new(),
            missing: HashSet::new(),
            unlisted_at: None,
            is_stalled: false,
            read: HashMap::new(),
        });
        self.read_part((kind, number), readers, None);
    }

    /// Returns the slots whose links are read next. Once an ordinary pass has taken
    /// [`READ_INTERVAL`], a `Newer` pass starts at its ceiling, so that new links do not wait for a
    /// backlog.
    fn readers(&self, kind: PassKind) -> Readers {
        if kind != PassKind::Newer {
            let slots = self.state.slots.values().filter(|slot| !slot.is_leaving);
            return slots.map(|slot| (slot.lease.fence, slot.lease.cursors.clone())).collect();
        }
        let takes_long =
            |pass: &&Pass| !pass.ceiling.is_empty() && pass.began_at.elapsed() >= READ_INTERVAL;
        let Some(pass) = self.state.ordinary_pass.as_ref().filter(takes_long) else {
            return Readers::new();
        };
        let ordinary = pass.newer_ceiling.as_ref().unwrap_or(&pass.ceiling);
        let readers = pass.readers.iter().map(|(fence, cursors)| {
            (*fence, LinkCursors { ordinary: ordinary.clone(), ..cursors.clone() })
        });
        readers.collect()
    }

    fn read_part(
        &self,
        (kind, number): (PassKind, u64),
        readers: Readers,
        from: Option<(String, String)>,
    ) {
        let coordinator = self.coordinator.clone();
        let context = Arc::clone(&self.context);
        self.start(async move {
            match read_links(&coordinator, &context, (kind, number, &readers), from).await {
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
                while coordinator.drop_ended_frontier(CHUNKS_DROPPED).await? >= CHUNKS_DROPPED {
                    tokio::time::sleep(DROP_PAUSE).await;
                }
                Ok(())
            };
            match dropped.await {
                Ok(()) => Event::Dropped,
                Err(error) => Event::Failed("drop", error),
            }
        });
    }

    pub(super) fn links_read(&mut self, read: LinksRead) {
        let kind = read.kind;
        let is_listed = read.crawls.iter().all(|crawl| self.state.crawls.contains_key(crawl));
        // If this pass was dropped, the next pass reads the batch again.
        let pass = self.state.pass(kind).as_mut().filter(|pass| pass.number == read.pass);
        let Some(pass) = pass else { return };
        pass.ceiling = read.ceiling;
        pass.more_after = read.more_after;
        pass.waiting = read.links;
        if is_listed {
            self.merge_or_load(kind);
        } else {
            pass.unlisted_at = Some(Instant::now());
            self.state.calls.listed_at = None;
        }
    }

    pub(super) fn listed_for_pass(&mut self, requested_at: Instant) {
        for kind in PassKind::ALL {
            let Some(pass) = self.state.pass(kind) else { continue };
            if pass.unlisted_at.is_some_and(|read_at| read_at < requested_at) {
                pass.unlisted_at = None;
                self.merge_or_load(kind);
            }
        }
    }

    /// Work that exceeds the time slice continues in the loop's next iteration.
    pub(super) fn merge_or_load(&mut self, kind: PassKind) {
        let Some(mut pass) = self.state.pass(kind).take() else { return };
        let until = end_of_slice();
        let most = self.sites_per_call();
        let mut missing = HashMap::new();
        let mut has_merged = false;
        pass.has_more = false;
        while pass.missing.len() < most
            && let Some((fence, crawl, link)) = pass.waiting.pop_front()
        {
            let key = self.site_of(crawl, link.url.host());
            let is_open = self.state.crawls.contains_key(&crawl);
            if is_open && self.holds(fence) && !self.state.sites.contains_key(&key) {
                if pass.missing.insert(key) {
                    missing.insert(key, fence);
                }
                pass.unloaded.push_back((fence, crawl, link));
            } else if self.holds(fence) {
                *pass.read.entry(fence.slot).or_default().entry(crawl).or_default() += 1;
                self.merge_links(crawl, vec![link]);
                has_merged = true;
            }
            if Instant::now() >= until {
                pass.has_more = !pass.waiting.is_empty();
                break;
            }
        }
        if has_merged && !pass.has_more {
            self.state.memory.bytes = self.state_bytes();
        }
        if kind != PassKind::Urgent && !self.has_memory() && !pass.is_done() {
            pass.is_stalled = true;
            pass.has_more = false;
        } else if !missing.is_empty() {
            self.load_sites(missing.into_iter().map(|(key, fence)| (fence, key)).collect());
        }
        self.read_on(kind, pass);
    }

    fn sites_per_call(&self) -> usize {
        if self.has_much_memory() { SITES_PER_CALL } else { SITES_PER_SMALL_CALL }
    }

    fn read_on(&mut self, kind: PassKind, mut pass: Pass) {
        if pass.is_done() {
            self.end_pass(kind, pass);
            return;
        }
        if !pass.is_stalled
            && !pass.has_waiting()
            && let Some(after) = pass.more_after.take()
        {
            let from = Some((pass.ceiling.clone(), after));
            self.read_part((kind, pass.number), pass.readers.clone(), from);
        }
        *self.state.pass(kind) = Some(pass);
    }

    pub(super) fn continue_pass(&mut self, kind: PassKind) {
        if let Some(pass) = self.state.pass(kind)
            && pass.is_stalled
        {
            pass.requeue_waiting();
            self.merge_or_load(kind);
        }
    }

    /// A `Newer` pass advances no cursors, because the ordinary pass in progress later advances
    /// them to the position that newer passes have reached.
    fn end_pass(&mut self, kind: PassKind, pass: Pass) {
        if kind == PassKind::Newer {
            let Some(ordinary) = &mut self.state.ordinary_pass else { return };
            ordinary.newer_ceiling = Some(pass.ceiling);
            for (slot, crawls) in pass.read {
                let read = ordinary.read.entry(slot).or_default();
                for (crawl, number) in crawls {
                    *read.entry(crawl).or_default() += number;
                }
            }
            return;
        }
        let lane = kind.lane();
        if kind == PassKind::Ordinary {
            self.state.newer_pass = None;
        }
        let ceiling = pass.newer_ceiling.as_ref().unwrap_or(&pass.ceiling);
        for (fence, mut before) in pass.readers {
            let Some(slot) = self.state.slots.get_mut(&fence.slot) else { continue };
            if slot.lease.fence == fence
                && lane.cursor(&mut slot.lease.cursors) == lane.cursor(&mut before)
            {
                let read = pass.read.get(&fence.slot).cloned().unwrap_or_default();
                slot.read(lane, ceiling, &read);
            }
        }
    }

    fn site_of(&self, crawl: i32, host: &str) -> SiteKey {
        SiteKey { crawl, site_hash: site_hash(self.context.suffixes.site_of(host)) }
    }

    pub(super) fn merge_links(&mut self, crawl: i32, links: Vec<Link>) {
        let Some(host) = links.first().map(|link| link.url.host().to_owned()) else { return };
        self.merge_links_of(crawl, &host, links);
    }

    pub(super) fn merge_links_of(
        &mut self,
        crawl: i32,
        host: &str,
        links: impl IntoIterator<Item = Link>,
    ) {
        let key = self.site_of(crawl, host);
        let host_hash = site_hash(host);
        let Some((context, _)) = self.state.crawls.get(&crawl) else { return };
        let Some(site) = self.state.sites.get_mut(&key) else { return };
        site.used_at = Instant::now();
        site.usage.largest = site.hosts.values().map(HostState::pages).max().unwrap_or_default();
        let state = site.hosts.entry(host_hash).or_insert_with(|| HostState::new(host));
        let merged: Merged = state.merge(links, &context.rules(), &mut site.usage);
        let slot = site.slot;
        if state.sums().known == 0 {
            site.hosts.remove(&host_hash);
        }
        if let Some(slot) = self.state.slots.get_mut(&slot) {
            slot.merged(crawl, host_hash, &merged);
        }
        if merged.new > 0 {
            self.add_host(slot, key.site_hash, host, host_hash);
            self.add_crawl(host_hash, crawl);
        }
    }

    /// The slot's next checkpoint adds the host's row.
    fn add_host(&mut self, slot: i16, site_hash: u64, name: &str, host_hash: u64) {
        if self.state.hosts.contains_key(&host_hash) {
            return;
        }
        let options = Arc::clone(&self.options);
        let client = HostClient::new(&self.context.fetcher, options, HostDelay::default());
        let is_own = self.settings.own.contain(name);
        self.state.hosts.insert(host_hash, Host::new(slot, site_hash, name, is_own, client));
        if let Some(slot) = self.state.slots.get_mut(&slot) {
            slot.changed_hosts.insert(host_hash);
        }
    }

    pub(super) fn load_sites(&mut self, mut sites: Vec<(SlotFence, SiteKey)>) {
        sites.retain(|(_, key)| self.state.loading.insert(*key));
        for part in sites.chunks(SITES_PER_CALL) {
            let part = part.to_vec();
            let coordinator = self.coordinator.clone();
            let context = Arc::clone(&self.context);
            self.start(async move {
                match load_sites(&coordinator, &context, part).await {
                    Ok(loaded) => Event::SitesLoaded(loaded),
                    Err(error) => Event::Failed("sites", error),
                }
            });
        }
    }

    pub(super) fn install_loaded(&mut self, fence: SlotFence, site: LoadedSite) {
        self.state.loading.remove(&site.key);
        let is_open = self.state.crawls.contains_key(&site.key.crawl);
        if self.holds(fence) && is_open && !self.state.sites.contains_key(&site.key) {
            self.install(fence.slot, site);
        }
    }

    pub(super) fn continue_passes(&mut self) {
        for kind in PassKind::ALL {
            let Some(pass) = self.state.pass(kind) else { continue };
            if pass.unlisted_at.is_none() && !pass.unloaded.is_empty() {
                pass.requeue_waiting();
                self.merge_or_load(kind);
            }
        }
    }

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
        // Also restore hosts without URLs in this crawl, because the crawl may find URLs there, and
        // because their delays count the requests of other crawls.
        for manners in &hosts {
            self.state.hosts.entry(manners.host_hash).or_insert_with(|| {
                let is_own = self.settings.own.contain(&manners.hostname);
                let fetcher = &self.context.fetcher;
                let options = &self.options;
                let mut host = Host::restore(slot, manners, is_own, fetcher, options);
                if died && let Some(client) = &mut host.client {
                    client.delay.wait_until(tokio::time::Instant::now() + Duration::from_secs(1));
                }
                host
            });
        }
        for host_hash in &to_queue {
            self.add_crawl(*host_hash, key.crawl);
        }
        self.judge_hosts(key.crawl, to_queue);
    }

    fn add_crawl(&mut self, host_hash: u64, crawl: i32) {
        let is_urgent = self.state_of(crawl, host_hash, |state| state.is_urgent(0, never_paused));
        if is_urgent == Some(true) {
            self.resume_site(crawl, host_hash);
        }
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        host.add_crawl(crawl);
        if is_urgent == Some(true) && !host.is_urgent {
            host.is_urgent = true;
            host.scheduled_at = None;
        }
        self.schedule_host(host_hash, Instant::now());
        self.fall_back_to_http(host_hash, crawl);
    }
}
