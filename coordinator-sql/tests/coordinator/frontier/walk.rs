//! Random test of the crawl tables: each crawl must record exactly its graph's pages, each once,
//! its sums must always add up, and no call may fail, for example with a deadlock.
//!
//! Several workers crawl graphs of numbered pages concurrently. They die, freeze and continue with
//! slots they have lost, send checkpoints twice, and stop reading links halfway. `WALK_CRAWLS` sets
//! the number of crawls.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use chrono::Utc;
use everytab_coordinator::{
    Checkpoint, CheckpointResult, ConnectSettings, Coordinator, CrawlCounts, CrawlVerb,
    LinkCursors, LinkLane, SlotLease,
};
use everytab_patience::LongWait;
use uuid::Uuid;

use super::holder::{checkpoint, chunk, counts, fetch, new_crawl, numbers_in, rows_of_links};
use crate::{session::query, setup::Database};

const WORKERS: u64 = 5;
/// A slot whose holders die repeatedly is leased alone, so with more deaths this test takes minutes
/// on a busy computer.
const MAX_DEATHS: u64 = 12;
const URLS: i32 = 150;
/// Number of slots that contain URLs, small so that several workers often compete for a slot.
const SLOTS: i32 = 48;

fn slot_of(number: i32) -> i16 {
    i16::try_from(number * 5 % SLOTS * 3 % 256).unwrap()
}

/// The links of failing pages are also reachable from other pages.
fn fails(number: i32) -> bool {
    number % 9 == 8
}

fn links_of(number: i32) -> Vec<i32> {
    let next = [number + 1, number + 2, number * 7 % URLS, 2 * number + 1];
    next.into_iter().filter(|next| *next < URLS).collect()
}

#[derive(Debug, Clone, Default)]
struct Known {
    pending: BTreeSet<i32>,
    answered: BTreeSet<i32>,
    reserved: i64,
    seq: i32,
    sums: CrawlCounts,
    fetched: Vec<i32>,
}

impl Known {
    fn pack(&self) -> Vec<u8> {
        serde_json::to_vec(&(&self.pending, &self.answered)).unwrap()
    }
}

#[derive(Debug)]
struct Held {
    lease: SlotLease,
    checkpoints: i64,
    crawls: HashMap<i32, Known>,
}

#[derive(Default)]
struct Walk {
    done: AtomicBool,
    deaths: AtomicU64,
    repeats: AtomicU64,
    lost: AtomicU64,
}

struct Worker {
    database: Arc<Database>,
    client: Coordinator,
    name: String,
    random: u64,
    held: HashMap<i16, Held>,
    limited: Vec<i32>,
    walk: Arc<Walk>,
}

impl Worker {
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) % below
    }

    async fn lease(&mut self) {
        for lease in self.client.lease_slots(&self.name, 256).await.unwrap() {
            let slot = lease.fence.slot;
            let mut crawls: HashMap<i32, Known> = HashMap::new();
            for sums in self.client.load_slot_sums(&[slot]).await.unwrap() {
                let known =
                    Known { reserved: sums.reserved, sums: counts(sums.crawl), ..Known::default() };
                crawls.insert(sums.crawl, known);
            }
            let hosts: Vec<(i16, i32, u64)> =
                crawls.keys().map(|crawl| (slot, *crawl, 7)).collect();
            for stored in self.client.load_host_chunks(&hosts).await.unwrap() {
                let known = crawls.get_mut(&stored.crawl).unwrap();
                (known.pending, known.answered) = serde_json::from_slice(&stored.data).unwrap();
                known.seq = stored.seq;
            }
            self.held.insert(slot, Held { lease, checkpoints: 0, crawls });
        }
    }

    async fn read(&mut self, lane: LinkLane) -> Option<String> {
        let cursors: Vec<(i16, LinkCursors)> = self
            .held
            .values()
            .map(|held| (held.lease.fence.slot, held.lease.cursors.clone()))
            .collect();
        let mut read: HashMap<(i16, i32), i64> = HashMap::new();
        let mut from: Option<(String, String)> = None;
        let ceiling = loop {
            let start = from.as_ref().map(|(ceiling, after)| (ceiling.as_str(), after.as_str()));
            let limit = 1 + u32::try_from(self.draw(40)).unwrap();
            let unread = self.client.read_links(&cursors, lane, start, limit).await.unwrap();
            for row in &unread.rows {
                for number in numbers_in(&row.data) {
                    let slot = slot_of(number);
                    if !row.slots.contains(&slot) {
                        continue;
                    }
                    *read.entry((slot, row.crawl)).or_default() += 1;
                    let crawls = &mut self.held.get_mut(&slot).unwrap().crawls;
                    let known = crawls
                        .entry(row.crawl)
                        .or_insert_with(|| Known { sums: counts(row.crawl), ..Known::default() });
                    if !known.answered.contains(&number) && known.pending.insert(number) {
                        known.sums.known += 1;
                        known.sums.pending += 1;
                    }
                }
            }
            let Some(after) = unread.more_after else { break unread.ceiling };
            if self.draw(8) == 0 {
                return None;
            }
            from = Some((unread.ceiling, after));
        };
        for ((slot, crawl), links) in read {
            let crawls = &mut self.held.get_mut(&slot).unwrap().crawls;
            crawls.get_mut(&crawl).unwrap().sums.read += links;
        }
        Some(ceiling)
    }

    async fn ask(&mut self, slot: i16) -> Vec<(i32, Vec<i32>)> {
        let mut found = Vec::new();
        let most = usize::try_from(1 + self.draw(6)).unwrap();
        let held = self.held.get_mut(&slot).unwrap();
        for (crawl, known) in &mut held.crawls {
            let mut links = Vec::new();
            for number in known.pending.iter().copied().take(most).collect::<Vec<_>>() {
                if !fails(number) && self.limited.contains(crawl) {
                    if known.reserved == 0 {
                        let fence = held.lease.fence;
                        let got = self.client.reserve_pages(fence, *crawl, 3).await.unwrap();
                        known.reserved += got.unwrap_or_default();
                    }
                    if known.reserved == 0 {
                        continue;
                    }
                    known.reserved -= 1;
                    known.sums.pages += 1;
                }
                known.pending.remove(&number);
                known.answered.insert(number);
                known.fetched.push(number);
                known.sums.pending -= 1;
                if fails(number) {
                    let failed = known.sums.failed["failed"].as_i64().unwrap_or_default();
                    known.sums.failed["failed"] = (failed + 1).into();
                } else {
                    known.sums.captured += 1;
                    links.extend(links_of(number));
                }
            }
            if known.pending.is_empty() && known.reserved > 0 {
                known.sums.given_back += known.reserved;
                known.reserved = 0;
            }
            known.sums.sent += i64::try_from(links.len()).unwrap();
            found.push((*crawl, links));
        }
        found
    }

    fn collect(
        &mut self,
        slot: i16,
        ceilings: &[(LinkLane, Option<String>)],
        found: &[(i32, Vec<i32>)],
    ) -> Checkpoint {
        let held = self.held.get_mut(&slot).unwrap();
        held.checkpoints += 1;
        let mut all = checkpoint(&held.lease, held.checkpoints);
        for (lane, ceiling) in ceilings {
            let Some(ceiling) = ceiling else { continue };
            lane.cursor(&mut held.lease.cursors).clone_from(ceiling);
            match lane {
                LinkLane::Ordinary => all.cursor = Some(ceiling.clone()),
                LinkLane::Urgent => all.urgent_cursor = Some(ceiling.clone()),
            }
        }
        for (crawl, known) in &mut held.crawls {
            let sums = std::mem::replace(&mut known.sums, counts(*crawl));
            if sums == counts(*crawl) {
                continue;
            }
            all.counts.push(sums);
            for number in std::mem::take(&mut known.fetched) {
                let outcome = if fails(number) { "failed" } else { "captured" };
                all.fetches.push(fetch(*crawl, number, outcome));
            }
            known.seq += 1;
            let pending = i32::try_from(known.pending.len()).unwrap();
            all.chunks.push(chunk(*crawl, 7, known.seq, pending, known.pack()));
        }
        for (crawl, links) in found {
            for is_urgent in [false, true] {
                let links = links.iter().copied().filter(|number| is_urgent == (number % 5 == 0));
                let links: Vec<i32> = links.collect();
                all.links.extend(rows_of_links(*crawl, &links, slot_of, is_urgent));
            }
        }
        all
    }

    async fn record(&mut self, slot: i16, all: &Checkpoint) {
        let answer = self.client.checkpoint_slot(all).await.unwrap();
        let CheckpointResult::Recorded { ended } = answer else {
            self.walk.lost.fetch_add(1, Ordering::Relaxed);
            self.held.remove(&slot);
            return;
        };
        if self.draw(5) == 0 {
            self.walk.repeats.fetch_add(1, Ordering::Relaxed);
            let again = self.client.checkpoint_slot(all).await.unwrap();
            let CheckpointResult::Recorded { ended: again } = again else {
                self.held.remove(&slot);
                return;
            };
            assert!(ended.iter().all(|crawl| again.contains(crawl)));
        }
        self.held.get_mut(&slot).unwrap().crawls.retain(|crawl, _| !ended.contains(crawl));
    }

    async fn round(&mut self) {
        self.lease().await;
        let fences: Vec<_> = self.held.values().map(|held| held.lease.fence).collect();
        let renewal = self.client.renew_slots(&self.name, &fences).await.unwrap();
        self.held.retain(|slot, _| renewal.held.contains(slot));
        let open: Vec<i32> =
            self.client.open_crawls().await.unwrap().iter().map(|crawl| crawl.crawl).collect();
        let mut ceilings = Vec::new();
        for lane in LinkLane::ALL {
            ceilings.push((lane, self.read(lane).await));
        }
        let slots: Vec<i16> = self.held.keys().copied().collect();
        let may_die = self.walk.deaths.load(Ordering::Relaxed) < MAX_DEATHS;
        let dies_at = (self.draw(12) == 0 && may_die).then(|| self.draw(1 + slots.len() as u64));
        for (n, slot) in slots.into_iter().enumerate() {
            if dies_at == Some(n as u64) {
                return self.die().await;
            }
            let held = self.held.get_mut(&slot).unwrap();
            held.crawls.retain(|crawl, _| open.contains(crawl));
            let found = self.ask(slot).await;
            let all = self.collect(slot, &ceilings, &found);
            // If earlier holders of a slot died, the new holder must send a checkpoint to end its
            // probation.
            let is_suspect = self.held.get(&slot).is_some_and(|held| held.lease.deaths > 0);
            if all.counts.is_empty() && !is_suspect && self.draw(10) > 0 {
                // Skip the empty checkpoint and reuse its number for the next one.
                self.held.get_mut(&slot).unwrap().checkpoints -= 1;
                continue;
            }
            self.record(slot, &all).await;
        }
        let share = renewal.share;
        if self.held.len() > share {
            let surplus: Vec<_> =
                self.held.values().skip(share).map(|held| held.lease.fence).collect();
            for fence in &surplus {
                self.held.remove(&fence.slot);
            }
            self.client.release_slots(&self.name, &surplus, false).await.unwrap();
        }
    }

    /// The worker either restarts under a new name, or continues after a pause as if it had been
    /// frozen.
    async fn die(&mut self) {
        self.walk.deaths.fetch_add(1, Ordering::Relaxed);
        self.database.expire_slots(&self.name).await;
        if self.draw(2) == 0 {
            self.held.clear();
            let gone = "delete from everytab.workers where worker = $1";
            query(gone).bind(self.name.clone()).execute(&self.database.pool).await;
            self.name = format!("worker-{}", self.draw(u64::MAX));
        } else {
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }
}

async fn work(mut worker: Worker) {
    while !worker.walk.done.load(Ordering::Relaxed) {
        worker.round().await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    worker.client.close().await;
}

async fn submit_late(database: Arc<Database>, crawl: i32) {
    let session = database.session().await;
    session.run("begin").await;
    let row = rows_of_links(crawl, &[0], slot_of, crawl % 2 == 0).remove(0);
    let add = "select coordinator.add_links($1, true, array[
                   (null, $2::int, $3::int, $4::int = 1, 1, '[0]')::everytab.link_row])";
    let added: bool = query(add)
        .bind(crawl)
        .bind(i32::from(row.slot_group))
        .bind(row.slot_mask)
        .bind(i32::from(row.is_urgent))
        .value(&session)
        .await;
    assert!(added);
    tokio::time::sleep(Duration::from_millis(200)).await;
    session.run("commit").await;
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

async fn check_ends(database: &Database, crawls: &[(i32, Uuid, Option<i64>)], cancelled: Uuid) {
    let reachable = i64::from(URLS);
    let failing = i64::try_from((0..URLS).filter(|number| fails(*number)).count()).unwrap();
    for (crawl, id, limit) in crawls {
        let status = database.owner.crawl_status(Some(*id)).await.unwrap().pop().unwrap();
        let fetched: i64 = query("select count(*) from everytab.fetches where crawl = $1")
            .bind(*crawl)
            .value(&database.pool)
            .await;
        assert_eq!(fetched, status.captured + status.failed);
        assert_eq!(status.failures["failed"].as_i64().unwrap_or_default(), status.failed);
        let expected = match limit {
            _ if *id == cancelled => continue,
            Some(limit) => (Some("limit"), *limit, status.failed),
            None => (Some("empty"), reachable - failing, failing),
        };
        assert_eq!((status.ended_by.as_deref(), status.captured, status.failed), expected);
        assert!(limit.is_some() || status.read == status.seeds + status.sent);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_crawl_records_exactly_the_pages_of_its_graph() {
    let database = Arc::new(Database::new().await);
    let walk = Arc::new(Walk::default());
    let mut crawls: Vec<(i32, Uuid, Option<i64>)> = Vec::new();
    for number in 0..setting("WALK_CRAWLS", 4) {
        let limit = (number % 3 == 1).then_some(40 + i64::try_from(number).unwrap());
        let new = new_crawl(limit);
        let crawl = database.owner.start_crawl(&new).await.unwrap();
        crawls.push((crawl, new.id, limit));
    }
    let limited: Vec<i32> =
        crawls.iter().filter(|(_, _, limit)| limit.is_some()).map(|(crawl, ..)| *crawl).collect();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..WORKERS {
        let settings = ConnectSettings { max_connections: 2, ..ConnectSettings::default() };
        tasks.spawn(work(Worker {
            database: Arc::clone(&database),
            client: Coordinator::connect(&database.worker_url, &settings).await.unwrap(),
            name: format!("worker-{number}"),
            random: number + 1,
            held: HashMap::new(),
            limited: limited.clone(),
            walk: Arc::clone(&walk),
        }));
    }
    for (crawl, ..) in &crawls {
        tasks.spawn(submit_late(Arc::clone(&database), *crawl));
    }
    let cancelled = crawls[2].1;
    let mut wait = LongWait::new();
    for round in 0.. {
        while let Some(ended) = tasks.try_join_next() {
            ended.unwrap();
        }
        let statuses = database.owner.crawl_status(None).await.unwrap();
        for status in &statuses {
            let (_, _, adds_up) = database.ending(status.id).await;
            assert!(adds_up, "{status:?}");
            assert!(status.captured <= status.page_limit.unwrap_or(i64::MAX), "{status:?}");
        }
        if round == 10 {
            database.owner.move_crawl(cancelled, CrawlVerb::Cancel).await.unwrap();
        }
        if statuses.iter().all(|status| status.state == "ended") {
            break;
        }
        wait.note(format!("{statuses:?}"));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    walk.done.store(true, Ordering::Relaxed);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    check_ends(&database, &crawls, cancelled).await;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "{} crawls, {} deaths, {} repeats, {} checkpoints lost, {}",
        crawls.len(),
        count(&walk.deaths),
        count(&walk.repeats),
        count(&walk.lost),
        Utc::now()
    );
    assert!(count(&walk.deaths) > 1 && count(&walk.repeats) > 10);
}
