//! Measures the database cost of live crawls, per known URL and per fetch.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use everytab_coordinator::{
    Checkpoint, CheckpointResult, ChunkRow, ConnectSettings, Coordinator, CrawlCounts, FetchRow,
    LinksRow, NewCrawl, SlotFence, Via,
};
use everytab_frontier::{
    CanonicalUrl, ChunkKind, FinalState, HostState, Link, ParameterList, Rules, SiteUsage,
    never_paused, pack_links,
};
use serde_json::json;
use uuid::Uuid;

use crate::{
    say,
    server::{Server, Usage},
    setting,
};

const CHECKPOINTS: u32 = 100;
const NEW_URLS: u32 = 20;
/// Number of URLs that share one referrer.
const URLS_A_REFERRER: u32 = 4;
const HOSTS: u32 = 64;
const FETCHES: u32 = 300;
/// Renew the leases this often, because they expire after 30 s.
const RENEW_AFTER: Duration = Duration::from_secs(5);
const WORKER: &str = "bench";
const WORKER_ID: &str = "0b2f3c4e-5d6a-4b7c-8d9e-0f1a2b3c4d5e";
const CRAWL: &str = "LIVE-20261124000000-00000000";

struct Bench {
    coordinator: Coordinator,
    crawl: i32,
    fences: Vec<SlotFence>,
    numbers: Vec<i64>,
    renewed: Instant,
}

pub(crate) async fn run() {
    let urls: u32 = setting("URLS", 10_000_000);
    let fetches: u32 = setting("FETCHES", 300_000);
    // Use the settings in terraform/modules/fleet/database.tf, because dead rows count as stored
    // bytes.
    let settings = [("autovacuum_naptime", "15"), ("autovacuum_vacuum_cost_limit", "2000")];
    let server = Server::start(&settings);
    say("calibration", &server.calibration());
    let owner = server.migrated("ours").await;
    let mut bench = Bench::start(&server, &owner).await;
    let of_a_slot = CHECKPOINTS * NEW_URLS * HOSTS;
    let turns = urls.div_ceil(of_a_slot);
    server.sql("ours", "checkpoint");
    let before = server.usage();
    let begun = Instant::now();
    for turn in 0..turns {
        bench.learn(turn).await;
    }
    let known = u64::from(turns) * u64::from(of_a_slot);
    report("a known URL", &server, &before, begun, known, "frontier_chunks%|frontier_due%|links%");
    let sql = "select sum(known) from everytab.crawl_slots";
    assert_eq!(server.number("ours", sql), i64::try_from(known).unwrap());

    server.sql("ours", "checkpoint");
    let before = server.usage();
    let begun = Instant::now();
    for turn in 0..fetches.div_ceil(FETCHES) {
        bench.fetch(turn).await;
    }
    let rows = server.number("ours", "select count(*) from everytab.fetches");
    report("a fetch", &server, &before, begun, u64::try_from(rows).unwrap(), "fetches%");
    assert_eq!(rows, i64::from(fetches.div_ceil(FETCHES) * FETCHES));
    bench.coordinator.close().await;
    owner.close().await;
    say("calibration", &server.calibration());
    server.end();
}

pub(crate) async fn start_crawl(owner: &Coordinator) -> i32 {
    let new = NewCrawl {
        id: Uuid::new_v4(),
        name: CRAWL.to_owned(),
        owner: "bench".to_owned(),
        store: "file:///nowhere".to_owned(),
        settings: json!({}),
        page_limit: None,
        ends_at: None,
        max_store_bytes: None,
    };
    owner.start_crawl(&new).await.unwrap()
}

fn report(what: &str, server: &Server, before: &Usage, begun: Instant, amount: u64, tables: &str) {
    let used = server.used_since(before);
    let size = format!(
        "select sum(pg_total_relation_size(c.oid))::bigint from pg_class c
          where c.relkind = 'r' and c.relname similar to '{tables}'"
    );
    let amount = amount as f64;
    let micros = used.cores * used.elapsed.as_secs_f64() * 1e6;
    say(
        what,
        &json!({"amount": amount, "seconds": begun.elapsed().as_secs_f64().round(),
                "stored_bytes": server.number("ours", &size) as f64 / amount,
                "wal_bytes": used.wal_bytes as f64 / amount, "server_us": micros / amount}),
    );
}

impl Bench {
    async fn start(server: &Server, owner: &Coordinator) -> Self {
        let crawl = start_crawl(owner).await;
        let url = server.url("ours", "everytab_worker");
        let coordinator = Coordinator::connect(&url, &ConnectSettings::default()).await.unwrap();
        let leases = coordinator.lease_slots(WORKER, 256).await.unwrap();
        let fences: Vec<_> = leases.into_iter().map(|lease| lease.fence).collect();
        let numbers = vec![0; fences.len()];
        Self { coordinator, crawl, fences, numbers, renewed: Instant::now() }
    }

    async fn learn(&mut self, turn: u32) {
        let rules = Rules { scope: "any".parse().unwrap(), ..Rules::default() };
        let name = |host: u32| format!("www.{}-{turn}.example", word(host + turn * 7));
        let mut hosts: Vec<_> =
            (0..HOSTS).map(|host| (HostState::new(&name(host)), SiteUsage::default())).collect();
        for checkpoint in 0..CHECKPOINTS {
            let (mut chunks, mut elsewhere) = (Vec::new(), Vec::new());
            let mut answered = 0;
            for (number, (state, site)) in hosts.iter_mut().enumerate() {
                let links = (0..NEW_URLS).map(|n| link(state.host(), checkpoint * NEW_URLS + n));
                let links: Vec<Link> = links.collect();
                elsewhere.extend(links.iter().step_by(4).cloned());
                let merged = state.merge(links, &rules, site);
                assert_eq!(merged.new, u64::from(NEW_URLS));
                for _ in 0..NEW_URLS / 2 {
                    let pending = state.next(0, never_paused).unwrap();
                    state.finish(pending.hash, FinalState::Captured);
                    answered += 1;
                }
                chunks.extend(chunk(self.crawl, u64::from(turn) << 32 | number as u64, state));
            }
            let known = i64::from(HOSTS * NEW_URLS);
            let counts = CrawlCounts {
                crawl: self.crawl,
                known,
                pending: known - answered,
                captured: answered,
                read: known,
                ..CrawlCounts::default()
            };
            let links = rows_of(self.crawl, &elsewhere);
            self.record(turn, counts, chunks, links, Vec::new()).await;
        }
    }

    async fn fetch(&mut self, turn: u32) {
        let rows = (0..FETCHES).map(|n| fetch_row(self.crawl, turn, n)).collect();
        let captured = i64::from(FETCHES);
        let crawl = self.crawl;
        let counts = CrawlCounts { crawl, known: captured, captured, ..CrawlCounts::default() };
        self.record(turn, counts, Vec::new(), Vec::new(), rows).await;
    }

    async fn record(
        &mut self,
        turn: u32,
        mut counts: CrawlCounts,
        chunks: Vec<ChunkRow>,
        links: Vec<LinksRow>,
        fetches: Vec<FetchRow>,
    ) {
        if self.renewed.elapsed() > RENEW_AFTER {
            let renewed = self.coordinator.renew_slots(WORKER, &self.fences).await.unwrap();
            assert_eq!(renewed.held.len(), self.fences.len(), "leases were lost");
            self.renewed = Instant::now();
        }
        counts.refused = json!({});
        counts.left = json!({});
        counts.links_refused = json!({});
        counts.sent = links.iter().map(|row| i64::from(row.amount)).sum();
        let at = turn as usize % self.fences.len();
        self.numbers[at] += 1;
        let checkpoint = Checkpoint {
            fence: self.fences[at],
            number: self.numbers[at],
            cursor: None,
            urgent_cursor: None,
            counts: vec![counts],
            fetches,
            links,
            chunks,
            hosts: Vec::new(),
        };
        let answer = self.coordinator.checkpoint_slot(&checkpoint).await.unwrap();
        assert_eq!(answer, CheckpointResult::Recorded { ended: Vec::new() });
    }
}

fn word(number: u32) -> String {
    const PARTS: [&str; 16] = [
        "news", "shop", "blog", "item", "about", "garden", "recipe", "music", "city", "travel",
        "guide", "photo", "review", "summer", "world", "story",
    ];
    let part = |at: u32| PARTS[(number.wrapping_mul(2_654_435_761) >> at) as usize % PARTS.len()];
    format!("{}-{}-{}", part(3), part(11), part(19))
}

pub(crate) fn link(host: &str, number: u32) -> Link {
    let url = |number: u32| {
        format!("https://{host}/{}/{}-{number}.html", word(number % 37), word(number))
    };
    let via = Some(url(number / URLS_A_REFERRER).into());
    let url = CanonicalUrl::parse(&url(number), &ParameterList::default()).unwrap();
    Link { via, ..Link::submitted(url, false, 0) }
}

pub(crate) fn chunk(crawl: i32, host_hash: u64, state: &mut HostState) -> Option<ChunkRow> {
    let packed = state.pack(never_paused)?;
    let number = |value: u64| i32::try_from(value).unwrap();
    Some(ChunkRow {
        crawl,
        host_hash,
        seq: number(packed.generation),
        is_snapshot: packed.kind == ChunkKind::Snapshot,
        next_due: packed.next_due_s.map(|_| Utc::now()),
        known: number(packed.known),
        pending: number(packed.pending),
        data: packed.bytes,
    })
}

fn rows_of(crawl: i32, links: &[Link]) -> Vec<LinksRow> {
    let of_a_group = links.len().div_ceil(16).max(1);
    let rows = links.chunks(of_a_group).zip(0_i16..).flat_map(|(links, slot_group)| {
        pack_links(links).into_iter().map(move |data| LinksRow {
            crawl,
            slot_group,
            slot_mask: 0xffff,
            is_urgent: false,
            amount: i32::try_from(links.len()).unwrap(),
            data,
        })
    });
    rows.collect()
}

pub(crate) fn fetch_row(crawl: i32, turn: u32, number: u32) -> FetchRow {
    let hash = (u64::from(turn) << 32 | u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let host_hash = u64::from(turn / 8).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let at: DateTime<Utc> = Utc::now();
    FetchRow {
        crawl,
        host_hash,
        url_hash: hash,
        url: format!("https://www.{}.example/{}/{hash:x}.html", word(turn / 8), word(number)),
        at,
        duration_ms: Some(120),
        depth: 3,
        status: Some(200),
        outcome: "ok".to_owned(),
        bytes: Some(31_415),
        sha256: Some(std::array::from_fn(|at| (hash >> (at % 8 * 8)) as u8 ^ at as u8)),
        mime: Some("text/html".to_owned()),
        charset: Some("UTF-8".to_owned()),
        language: Some("en".to_owned()),
        title: Some(format!("{} and {}", word(number), word(turn))),
        etag: Some(format!("\"{hash:x}\"")),
        last_modified: None,
        redirect: None,
        object: Some(format!(
            "crawl-data/{CRAWL}/segments/0/warc/{CRAWL}-{WORKER_ID}-{}.warc.gz",
            turn / CHECKPOINTS
        )),
        record_offset: Some(i64::from(number) * 9_000),
        record_length: Some(8_999),
        body_object: None,
        body_offset: None,
        body_length: None,
        body_at: None,
        body_url: None,
        body_hashes: None,
        truncated: None,
        text: None,
        is_no_page: false,
        via: Some(Via::Recorded(host_hash, hash.rotate_left(7))),
        certificate: None,
    }
}
