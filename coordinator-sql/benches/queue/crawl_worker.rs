//! Simulates a live crawl's worker, with generated pages.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use chrono::{TimeDelta, Utc};
use everytab_coordinator::{
    Checkpoint, CheckpointResult, ConnectSettings, Coordinator, CrawlCounts, FrontierHostRow,
    LinkLane, LinksRow, SlotFence, SlotLease,
};
use everytab_frontier::{
    FinalState, HostState, Link, ParameterList, Rules, SiteUsage, never_paused, pack_links,
    site_hash, slot_of_site, unpack_links,
};
use serde_json::json;

use crate::{crawl_fleet::Fleet, frontier};

/// Intervals between calls, copied from crates/crawl/crawler/src: leases and due hosts
/// (scheduler/slots.rs), renewals (leases.rs), lists of crawls (scheduler.rs), links
/// (scheduler/links.rs) and the blocklist (blocked.rs).
const INTERVALS: [(Call, Duration); 7] = [
    (Call::Lease, Duration::from_secs(1)),
    (Call::Renew, Duration::from_secs(5)),
    (Call::List, Duration::from_secs(5)),
    (Call::Links, Duration::from_secs(1)),
    (Call::UrgentLinks, Duration::from_secs(1)),
    (Call::Due, Duration::from_secs(10)),
    (Call::Blocklist, Duration::from_secs(10)),
];
/// With more live workers than this, each worker leases slots and reads ordinary links less often,
/// by up to [`MAX_BACKOFF`] times. Both constants are copied from
/// crates/crawl/crawler/src/scheduler/state.rs.
const WORKERS_WITHOUT_BACKOFF: u32 = 40;
const MAX_BACKOFF: u32 = 5;
const TICK: Duration = Duration::from_millis(100);
/// How long an unused host remains in memory. A real worker keeps hosts until its memory is full.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);
/// Maximum link rows per call, as in crates/crawl/crawler/src/load.rs.
const ROWS_A_CALL: u32 = 64;
const MAX_DUE: u32 = 50_000;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Call {
    Lease,
    Renew,
    List,
    Links,
    UrgentLinks,
    Due,
    Blocklist,
}

pub(crate) struct CrawlPace {
    pub(crate) pages_per_slot: f64,
    pub(crate) checkpoint: Duration,
    pub(crate) own_links: u32,
    pub(crate) links_elsewhere: u32,
}

pub(crate) struct Graph {
    hosts: Vec<String>,
    by_slot: HashMap<i16, Vec<u32>>,
}

impl Graph {
    pub(crate) fn new(hosts: u32) -> Self {
        let hosts: Vec<String> =
            (0..hosts).map(|number| format!("host-{number}.example")).collect();
        let mut by_slot: HashMap<i16, Vec<u32>> = HashMap::new();
        for (host, number) in hosts.iter().zip(0_u32..) {
            by_slot.entry(slot_of_site(host).into()).or_default().push(number);
        }
        assert_eq!(by_slot.len(), 256, "too few hosts for all slots");
        Self { hosts, by_slot }
    }
}

struct Host {
    state: HostState,
    site: SiteUsage,
    used: Instant,
}

struct Slot {
    lease: SlotLease,
    number: i64,
    hosts: HashMap<u32, Host>,
    turn: usize,
    due_pages: f64,
    visited: u32,
    recorded: Instant,
    counts: CrawlCounts,
    fetches: Vec<everytab_coordinator::FetchRow>,
    elsewhere: Vec<Link>,
    changed: HashSet<u32>,
    asked: HashSet<u32>,
    cursor: Option<String>,
}

struct Worker {
    fleet: Arc<Fleet>,
    coordinator: Coordinator,
    name: String,
    rules: Rules,
    slots: BTreeMap<i16, Slot>,
    share: Option<usize>,
    live_workers: u32,
    called: HashMap<Call, Instant>,
    random: u64,
}

pub(crate) const START_PAUSE: Duration = Duration::from_millis(150);

pub(crate) async fn work(fleet: Arc<Fleet>, number: u32) -> Vec<i16> {
    tokio::time::sleep(START_PAUSE * number).await;
    let coordinator = Coordinator::connect(&fleet.url, &ConnectSettings::default()).await.unwrap();
    let mut worker = Worker {
        coordinator,
        name: format!("worker-{number}"),
        rules: Rules { scope: "any".parse().unwrap(), ..Rules::default() },
        slots: BTreeMap::new(),
        share: None,
        live_workers: 1,
        called: HashMap::new(),
        random: u64::from(number),
        fleet,
    };
    let mut ticked = Instant::now();
    while !worker.fleet.stop.load(Ordering::Relaxed) {
        let passed = ticked.elapsed();
        ticked = Instant::now();
        worker.call_what_is_due().await;
        worker.visit(passed).await;
        worker.record().await;
        tokio::time::sleep(TICK.saturating_sub(ticked.elapsed())).await;
    }
    for slot in worker.slots.keys().copied().collect::<Vec<_>>() {
        worker.checkpoint(slot).await;
    }
    worker.coordinator.close().await;
    worker.slots.into_keys().collect()
}

impl Worker {
    async fn call_what_is_due(&mut self) {
        for (call, interval) in INTERVALS {
            let times = match call {
                Call::Lease | Call::Links => {
                    f64::from(self.live_workers) / f64::from(WORKERS_WITHOUT_BACKOFF)
                }
                _ => 1.0,
            };
            let times = times.clamp(1.0, MAX_BACKOFF.into());
            if self.called.get(&call).is_some_and(|at| at.elapsed() < interval.mul_f64(times)) {
                continue;
            }
            self.called.insert(call, Instant::now());
            match call {
                Call::Lease => self.lease().await,
                Call::Renew => self.renew().await,
                Call::List => self.list().await,
                Call::Links => self.read_links(LinkLane::Ordinary).await,
                Call::UrgentLinks => self.read_links(LinkLane::Urgent).await,
                Call::Due => self.list_due().await,
                Call::Blocklist => {
                    let begun = Instant::now();
                    let since = Utc::now() - TimeDelta::minutes(10);
                    self.coordinator.load_blocked_hosts(since).await.unwrap();
                    self.fleet.timings.note("load_blocked_hosts", begun);
                }
            }
        }
    }

    async fn lease(&mut self) {
        if self.share.is_some_and(|share| self.slots.len() >= share) {
            return;
        }
        let begun = Instant::now();
        let leases = self.coordinator.lease_slots(&self.name, 256).await.unwrap();
        self.fleet.timings.note("lease_slots", begun);
        for lease in leases {
            let slot = Slot {
                number: 0,
                hosts: HashMap::new(),
                turn: 0,
                due_pages: 0.0,
                visited: 0,
                recorded: Instant::now(),
                counts: self.no_counts(),
                fetches: Vec::new(),
                elsewhere: Vec::new(),
                changed: HashSet::new(),
                asked: HashSet::new(),
                cursor: None,
                lease,
            };
            self.slots.insert(slot.lease.fence.slot, slot);
        }
    }

    fn no_counts(&self) -> CrawlCounts {
        let (refused, left, links_refused) = (json!({}), json!({}), json!({}));
        CrawlCounts {
            crawl: self.fleet.crawl,
            refused,
            left,
            links_refused,
            ..CrawlCounts::default()
        }
    }

    async fn renew(&mut self) {
        let fences: Vec<SlotFence> = self.slots.values().map(|slot| slot.lease.fence).collect();
        let begun = Instant::now();
        let renewal = self.coordinator.renew_slots(&self.name, &fences).await.unwrap();
        self.fleet.timings.note("renew_slots", begun);
        assert_eq!(renewal.held.len(), fences.len(), "leases were lost");
        self.live_workers = renewal.live_workers;
        self.share = Some(renewal.share);
        // The workers start one by one, so the first workers lease too many slots and must release
        // some.
        let surplus = self.share.map_or(0, |share| self.slots.len().saturating_sub(share));
        let given: Vec<i16> = self.slots.keys().copied().take(surplus).collect();
        for slot in &given {
            self.checkpoint(*slot).await;
        }
        let fences: Vec<SlotFence> = given
            .iter()
            .filter_map(|slot| self.slots.remove(slot))
            .map(|s| s.lease.fence)
            .collect();
        if !fences.is_empty() {
            self.coordinator.release_slots(&self.name, &fences, false).await.unwrap();
        }
    }

    async fn list(&self) {
        let begun = Instant::now();
        self.coordinator.open_crawls().await.unwrap();
        self.coordinator.load_robots_overrides().await.unwrap();
        self.fleet.timings.note("open_crawls", begun);
    }

    async fn list_due(&self) {
        let slots: Vec<i16> = self.slots.keys().copied().collect();
        if slots.is_empty() {
            return;
        }
        let begun = Instant::now();
        let until = Utc::now() + TimeDelta::seconds(30);
        self.coordinator.load_due_hosts(&slots, until, MAX_DUE).await.unwrap();
        self.fleet.timings.note("load_due_hosts", begun);
    }

    async fn read_links(&mut self, lane: LinkLane) {
        let readers: Vec<_> =
            self.slots.iter().map(|(slot, held)| (*slot, held.lease.cursors.clone())).collect();
        if readers.is_empty() {
            return;
        }
        let mut from: Option<(String, String)> = None;
        loop {
            let begun = Instant::now();
            let at = from.as_ref().map(|(ceiling, after)| (ceiling.as_str(), after.as_str()));
            let read = self.coordinator.read_links(&readers, lane, at, ROWS_A_CALL).await.unwrap();
            self.fleet.timings.note("read_links", begun);
            for row in &read.rows {
                let found = unpack_links(&row.data, &ParameterList::default()).unwrap();
                for link in found.links {
                    let host = link.url.host().to_owned();
                    let slot = i16::from(slot_of_site(&host));
                    if row.slots.contains(&slot) {
                        self.learn(slot, &host, link).await;
                    }
                }
            }
            match read.more_after {
                Some(after) => from = Some((read.ceiling, after)),
                None => {
                    for slot in self.slots.values_mut() {
                        *lane.cursor(&mut slot.lease.cursors) = read.ceiling.clone();
                        if lane == LinkLane::Ordinary {
                            slot.cursor = Some(read.ceiling.clone());
                        }
                    }
                    return;
                }
            }
        }
    }

    async fn learn(&mut self, slot: i16, host: &str, link: Link) {
        let number = host.trim_start_matches("host-").split('.').next().unwrap().parse().unwrap();
        self.remember(slot, number).await;
        let Some(held) = self.slots.get_mut(&slot) else { return };
        let Some(host) = held.hosts.get_mut(&number) else { return };
        let merged = host.state.merge(vec![link], &self.rules, &mut host.site);
        let new = i64::try_from(merged.new).unwrap();
        held.counts.read += 1;
        held.counts.known += new;
        held.counts.pending += new;
        held.changed.insert(number);
    }

    async fn remember(&mut self, slot: i16, number: u32) {
        let Some(held) = self.slots.get_mut(&slot) else { return };
        if let Some(host) = held.hosts.get_mut(&number)
            && (host.used.elapsed() < REMEMBERED_FOR || held.changed.contains(&number))
        {
            host.used = Instant::now();
            return;
        }
        let name = &self.fleet.graph.hosts[number as usize];
        let begun = Instant::now();
        let hash = site_hash(name);
        self.coordinator.load_site_hosts(&[(slot, hash)]).await.unwrap();
        let asked = [(slot, self.fleet.crawl, hash)];
        let chunks = self.coordinator.load_host_chunks(&asked).await.unwrap();
        self.fleet.timings.note("load_site_hosts, load_host_chunks", begun);
        let chunks = chunks.iter().map(|chunk| chunk.data.as_slice());
        let state = HostState::unpack(name, chunks, &ParameterList::default()).unwrap().state;
        let host = Host { state, site: SiteUsage::default(), used: Instant::now() };
        held.hosts.insert(number, host);
    }

    async fn visit(&mut self, passed: Duration) {
        let slots: Vec<i16> = self.slots.keys().copied().collect();
        for slot in slots {
            let Some(held) = self.slots.get_mut(&slot) else { continue };
            held.due_pages += self.fleet.pace.pages_per_slot * passed.as_secs_f64();
            while self.slots[&slot].due_pages >= 1.0 {
                self.visit_page(slot).await;
            }
        }
    }

    async fn visit_page(&mut self, slot: i16) {
        let fleet = Arc::clone(&self.fleet);
        let hosts = &fleet.graph.by_slot[&slot];
        let Some(held) = self.slots.get_mut(&slot) else { return };
        held.due_pages -= 1.0;
        held.turn += 1;
        let number = hosts[held.turn % hosts.len()];
        let name = &fleet.graph.hosts[number as usize];
        self.remember(slot, number).await;
        let own: Vec<Link> =
            (0..fleet.pace.own_links).map(|_| frontier::link(name, self.random() as u32)).collect();
        let elsewhere: Vec<Link> = (0..fleet.pace.links_elsewhere)
            .map(|_| {
                let to = self.random() as usize % fleet.graph.hosts.len();
                frontier::link(&fleet.graph.hosts[to], self.random() as u32)
            })
            .collect();
        let Some(held) = self.slots.get_mut(&slot) else { return };
        let Some(host) = held.hosts.get_mut(&number) else { return };
        let merged = host.state.merge(own, &self.rules, &mut host.site);
        let new = i64::try_from(merged.new).unwrap();
        held.counts.known += new;
        held.counts.pending += new;
        let pending = host.state.next(0, never_paused).unwrap();
        host.state.finish(pending.hash, FinalState::Captured);
        held.counts.captured += 1;
        held.counts.pending -= 1;
        held.visited += 1;
        // Each of the slot's leases numbers its pages from the start.
        let turn = u32::from(slot.unsigned_abs()) << 20 | held.visited & 0xf_ffff;
        let lease = u32::try_from(held.lease.fence.lease_number).unwrap();
        held.fetches.push(frontier::fetch_row(fleet.crawl, turn, lease));
        held.changed.insert(number);
        held.asked.insert(number);
        held.elsewhere.extend(elsewhere);
        fleet.pages.fetch_add(1, Ordering::Relaxed);
    }

    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        self.random >> 24
    }

    async fn record(&mut self) {
        let interval = self.fleet.pace.checkpoint;
        let due: Vec<i16> = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.recorded.elapsed() >= interval)
            .map(|(number, _)| *number)
            .collect();
        for slot in due {
            self.checkpoint(slot).await;
        }
    }

    async fn checkpoint(&mut self, slot: i16) {
        let no_counts = self.no_counts();
        let crawl = self.fleet.crawl;
        let Some(held) = self.slots.get_mut(&slot) else { return };
        held.recorded = Instant::now();
        held.number += 1;
        let mut counts = std::mem::replace(&mut held.counts, no_counts);
        let links = link_rows(crawl, &std::mem::take(&mut held.elsewhere));
        counts.sent = links.iter().map(|row| i64::from(row.amount)).sum();
        let names = &self.fleet.graph.hosts;
        let hash = |number: u32| site_hash(&names[number as usize]);
        let mut chunks = Vec::new();
        for number in std::mem::take(&mut held.changed) {
            let state = &mut held.hosts.get_mut(&number).unwrap().state;
            chunks.extend(frontier::chunk(crawl, hash(number), state));
        }
        let asked = std::mem::take(&mut held.asked).into_iter();
        let hosts = asked.map(|number| manners(&names[number as usize])).collect();
        let checkpoint = Checkpoint {
            fence: held.lease.fence,
            number: held.number,
            cursor: held.cursor.take(),
            urgent_cursor: None,
            counts: vec![counts],
            fetches: std::mem::take(&mut held.fetches),
            links,
            chunks,
            hosts,
        };
        let begun = Instant::now();
        let answer = self.coordinator.checkpoint_slot(&checkpoint).await.unwrap();
        self.fleet.timings.note("checkpoint_slot", begun);
        assert_eq!(answer, CheckpointResult::Recorded { ended: Vec::new() });
    }
}

fn link_rows(crawl: i32, links: &[Link]) -> Vec<LinksRow> {
    let mut groups: BTreeMap<i16, (u16, Vec<Link>)> = BTreeMap::new();
    for link in links {
        let slot = slot_of_site(link.url.host());
        let group = groups.entry(i16::from(slot / 16)).or_default();
        group.0 |= 1 << (slot % 16);
        group.1.push(link.clone());
    }
    let rows = groups.into_iter().flat_map(|(slot_group, (mask, links))| {
        pack_links(&links).into_iter().map(move |data| LinksRow {
            crawl,
            slot_group,
            slot_mask: i32::from(mask),
            is_urgent: false,
            amount: i32::try_from(links.len()).unwrap(),
            data,
        })
    });
    rows.collect()
}

fn manners(host: &str) -> FrontierHostRow {
    FrontierHostRow {
        host_hash: site_hash(host),
        site_hash: site_hash(host),
        hostname: host.to_owned(),
        free_at: Utc::now(),
        delay_ms: 0,
        response_ms: 120,
        crawl_delay_ms: None,
        origins: None,
        robots: None,
        addresses: None,
    }
}
