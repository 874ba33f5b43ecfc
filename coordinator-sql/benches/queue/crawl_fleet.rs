//! Simulates 200 workers of live crawls at fixed page rates, with Postgres on one core and the
//! workers on the other.
//!
//! Each simulated worker calls Postgres as often as a real one, with rows of realistic size, but
//! fetches no pages. With the default settings each host is used again before it is dropped from
//! memory, so hosts are loaded only at the start.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::json;

use crate::{
    crawl_worker::{self, CrawlPace, Graph, START_PAUSE},
    frontier, say,
    server::{self, Server, Used},
    setting,
    timings::Timings,
};

const STARTED: Duration = Duration::from_secs(10);

pub(crate) struct Fleet {
    pub(crate) url: String,
    pub(crate) crawl: i32,
    pub(crate) graph: Graph,
    pub(crate) pace: CrawlPace,
    pub(crate) timings: Timings,
    pub(crate) pages: AtomicU64,
    pub(crate) stop: AtomicBool,
}

pub(crate) async fn run() {
    let rates: String = setting("PAGES_PER_S", "1157 2300".to_owned());
    for rate in rates.split_whitespace() {
        at_rate(rate.parse().unwrap_or_else(|_| panic!("PAGES_PER_S={rate} is no number"))).await;
    }
}

async fn at_rate(pages_per_s: f64) {
    let measured = Duration::from_secs(setting("FLEET_SECONDS", 300));
    let workers: u32 = setting("FLEET_WORKERS", 200);
    let server = Server::start(&[
        ("log_min_duration_statement", "100"),
        ("wal_compression", "lz4"),
        ("autovacuum_naptime", "15"),
        ("autovacuum_vacuum_cost_limit", "2000"),
        ("shared_preload_libraries", "pg_stat_statements"),
        ("pg_stat_statements.track", "top"),
    ]);
    say("calibration", &server.calibration());
    let owner = server.migrated("ours").await;
    let pace = CrawlPace {
        pages_per_slot: pages_per_s / 256.0,
        checkpoint: Duration::from_secs(setting("CHECKPOINT_SECONDS", 15)),
        own_links: setting("OWN_LINKS", 10),
        links_elsewhere: setting("LINKS_ELSEWHERE", 1),
    };
    let fleet = Arc::new(Fleet {
        url: server.url("ours", "everytab_worker"),
        crawl: frontier::start_crawl(&owner).await,
        graph: Graph::new(setting("HOSTS", 20_000)),
        pace,
        timings: Timings::default(),
        pages: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    });
    server.sql("ours", "create extension pg_stat_statements");
    server.sql("postgres", "checkpoint");
    server.pin("0");
    server::pin(std::process::id(), "1");
    eprintln!("crawl-fleet: {workers} workers, {pages_per_s} pages/s, {} s", measured.as_secs());
    let running: Vec<_> = (0..workers)
        .map(|number| tokio::spawn(crawl_worker::work(Arc::clone(&fleet), number)))
        .collect();
    tokio::time::sleep(START_PAUSE * workers + STARTED + 2 * fleet.pace.checkpoint).await;
    fleet.timings.reset();
    server.sql("ours", "select pg_stat_statements_reset()");
    let before = (server.usage(), fleet.pages.load(Ordering::Relaxed), rows(&server));
    let client_before = server::own_processor_time();
    tokio::time::sleep(measured).await;
    let used = server.used_since(&before.0);
    let client = server::own_processor_time() - client_before;
    let pages = fleet.pages.load(Ordering::Relaxed) - before.1;
    eprintln!("clients used {:.2} of their core", client.as_secs_f64() / measured.as_secs_f64());
    report(&fleet, &used, (pages, rows(&server) - before.2), pages_per_s);
    statements(&server, used.elapsed);
    fleet.stop.store(true, Ordering::Relaxed);
    let mut slots = HashSet::new();
    for worker in running {
        for slot in worker.await.unwrap() {
            assert!(slots.insert(slot), "slot {slot} was held twice");
        }
    }
    audit(&server, slots.len());
    owner.close().await;
    server.end();
}

fn rows(server: &Server) -> i64 {
    server.number("ours", "select count(*) from everytab.fetches")
}

fn report(fleet: &Fleet, used: &Used, (pages, fetches): (u64, i64), wanted: f64) {
    let seconds = used.elapsed.as_secs_f64();
    for (verb, figures) in fleet.timings.report(used.elapsed) {
        say("verb", &json!({"verb": verb, "figures": figures}));
    }
    let per_second = |amount: f64| (amount / seconds * 10.0).round() / 10.0;
    say(
        "crawl-fleet",
        &json!({"wanted_pages_per_s": wanted, "pages_per_s": per_second(pages as f64),
                "fetches_recorded_per_s": per_second(fetches as f64),
                "server_cores": (used.cores * 1_000.0).round() / 1_000.0,
                "transactions_per_s": per_second(used.commits as f64),
                "wal_bytes_a_page": used.wal_bytes as f64 / pages as f64}),
    );
    let made = pages as f64 / seconds;
    assert!(made > wanted * 0.97, "{made} pages/s: the simulated workers were too slow");
}

fn statements(server: &Server, elapsed: Duration) {
    let sql = "select json_build_object('calls', calls, 'ms', round(total_exec_time), 'mean_ms',
                      round(mean_exec_time::numeric, 2), 'statement', left(query, 60))
                 from pg_stat_statements order by total_exec_time desc limit 8";
    for line in server.sql("ours", sql).lines() {
        let figures: serde_json::Value = serde_json::from_str(line).unwrap();
        say("statement", &json!({"seconds": elapsed.as_secs(), "figures": figures}));
    }
}

fn audit(server: &Server, slots: usize) {
    let one = |sql: &str| server.number("ours", sql);
    assert_eq!(slots, 256, "slots that were held at the end");
    let uneven = one("select count(*) from everytab.crawl_slots where known <> pending + captured");
    assert_eq!(uneven, 0, "known, pending and captured disagree");
    let captured = one("select sum(captured) from everytab.crawl_slots");
    assert_eq!(captured, rows(server), "captured pages and rows disagree");
    let last = "select distinct on (slot, host_hash) known from everytab.frontier_chunks
                 order by slot, host_hash, seq desc";
    let known = one(&format!("select sum(known) from ({last}) as last"));
    assert_eq!(known, one("select sum(known) from everytab.crawl_slots"), "chunks and sums");
}
