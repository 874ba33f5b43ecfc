//! Measures how long workers wait during each operator's call, while another session reads every
//! table for ten seconds, like a dump.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    rc::Rc,
    time::{Duration, Instant},
};

use everytab_coordinator::{Coordinator, JobKind, LeaseCursors, NewScan};
use serde_json::{Map, Value, json};
use tokio::task::{JoinSet, LocalSet};
use tokio_postgres::{
    NoTls,
    types::{ToSql, Type},
};
use uuid::Uuid;

use crate::{
    samples, say,
    server::{Server, digests, start_sharded},
    setting,
};

/// Locks every table until the transaction ends.
const READ_ALL: &str = "
    begin;
    do $$ declare t regclass; begin
        for t in select c.oid from pg_class c
                  where c.relnamespace = 'everytab'::regnamespace and c.relkind in ('r', 'p') loop
            execute format('lock table %s in access share mode', t);
        end loop;
    end $$";
const CALLS: [&str; 9] = [
    "none",
    "snapshot",
    "blocklist import",
    "scan start",
    "scan exclude",
    "scan retry",
    "revoking leases",
    "scan cancel",
    "scan drop",
];

type Longest = Rc<RefCell<BTreeMap<&'static str, Duration>>>;

pub(crate) async fn run() {
    let workers: usize = setting("WORKERS", 8);
    let reader_seconds: u64 = setting("READER_S", 10);
    let server = Server::start(&[]);
    say("calibration", &server.calibration());
    let owner = server.migrated("ours").await;
    let dropped = start_sharded(&owner, setting("SHARDS", 2_000), 300_000).await;
    let lease = |kinds: &'static [JobKind], wanted| {
        let owner = owner.clone();
        async move {
            let cursors = LeaseCursors::default();
            owner.lease("bench", kinds, wanted, &digests(), &cursors).await.unwrap()
        }
    };
    for job in lease(&[JobKind::Warc], 32).await {
        let deadline = Instant::now() + Duration::from_secs(60);
        owner.discard(job, "bench", deadline).await.unwrap();
    }
    let fleet_scan = start(&owner, setting("FILES", 50_000)).await;
    let longest = Longest::default();
    let local = LocalSet::new();
    local
        .run_until(async {
            let mut fleet = JoinSet::new();
            for _ in 0..workers {
                let url = server.url("ours", "everytab_worker");
                fleet.spawn_local(work(url, dropped, Rc::clone(&longest)));
            }
            for call in CALLS {
                longest.borrow_mut().clear();
                let reader = server.session("ours").await;
                reader.batch_execute(READ_ALL).await.unwrap();
                let reading = async {
                    tokio::time::sleep(Duration::from_secs(reader_seconds)).await;
                    reader.batch_execute("commit").await.unwrap();
                };
                let begun = Instant::now();
                let operating = async {
                    operate(&owner, call, dropped).await;
                    begun.elapsed().as_millis()
                };
                let ((), operator_ms) = tokio::join!(reading, operating);
                if let Some(ended) = fleet.try_join_next() {
                    panic!("a worker ended: {ended:?}");
                }
                let mut figures = Map::new();
                figures.insert("operator".into(), json!(call));
                figures.insert("operator_ms".into(), json!(operator_ms));
                for (verb, time) in longest.borrow().iter() {
                    figures.insert(format!("longest_{verb}_ms"), json!(time.as_millis()));
                }
                say("locks", &Value::Object(figures));
            }
        })
        .await;
    let drift = owner.audit_run(fleet_scan).await.unwrap();
    assert_eq!(drift, [], "counters and rows disagree");
    owner.close().await;
    say("calibration", &server.calibration());
    server.end();
}

async fn start(owner: &Coordinator, files: usize) -> i32 {
    let scan = NewScan {
        scan_id: Uuid::new_v4(),
        crawl: "CC-MAIN-2026-01".into(),
        settings: json!({"entries_per_bundle": 120}),
        lease_ms: 300_000,
        archive_rate: None,
        digests: digests(),
        files: (0..files).map(|file| (format!("file-{file}.parquet"), None)).collect(),
    };
    owner.start_scan(&scan).await.unwrap()
}

async fn operate(owner: &Coordinator, call: &str, dropped: i32) {
    match call {
        "none" => {}
        "snapshot" => owner.snapshot().await.unwrap().end().await.unwrap(),
        "blocklist import" => {
            let count: usize = setting("BLOCKED", 100_000);
            let names: Vec<String> = (0..count).map(|n| format!("host-{n:09}.example")).collect();
            let patterns: Vec<&str> = names.iter().map(String::as_str).collect();
            let kinds = vec!["hostname"; patterns.len()];
            owner.import_list("bench", "bench", &kinds, &patterns).await.unwrap();
        }
        "scan start" => drop(start(owner, 300).await),
        "scan exclude" => {
            let pattern = [("suffix", "example.com".to_owned())];
            owner.exclude(dropped, &pattern).await.unwrap();
            owner.rebundle_excluded(dropped, &pattern).await.unwrap();
        }
        "scan retry" => {
            assert_eq!(owner.retry_jobs(dropped, None, None, None).await.unwrap(), 32);
        }
        "revoking leases" => drop(owner.revoke_leases(Some(dropped), "bench").await.unwrap()),
        "scan cancel" => assert!(owner.cancel_run(dropped).await.unwrap()),
        "scan drop" => assert!(owner.drop_scan(dropped).await.unwrap()),
        other => panic!("unknown call {other}"),
    }
}

async fn work(url: String, loaded: i32, longest: Longest) {
    let (session, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::task::spawn_local(async move { drop(connection.await) });
    let stats = samples::least_stats(0);
    let digests = json!({ "encoder": digests().encoder });
    loop {
        let lease = "select job_id, lease_number, lease_token
                       from coordinator.lease('bench', '{index}', 1, $1, '{1}')";
        let parameters = [(&digests as &(dyn ToSql + Sync), Type::JSONB)];
        let rows = timed(&longest, "lease", session.query_typed(lease, &parameters)).await;
        let row = rows.first().unwrap_or_else(|| panic!("no job is left: raise FILES"));
        let (job, number, token): (i64, i32, Uuid) = (row.get(0), row.get(1), row.get(2));
        let fence: [(&(dyn ToSql + Sync), Type); 4] = [
            (&job, Type::INT8),
            (&number, Type::INT4),
            (&token, Type::UUID),
            (&stats, Type::JSONB),
        ];
        let renew = "select count(*)
                       from coordinator.renew('bench', array[$1], array[$2], array[$3])";
        timed(&longest, "renew", session.query_typed(renew, &fence[..3])).await;
        for kind in ["warc", "icon", "bundle_shard"] {
            let load = format!("select count(*) from coordinator.load_{kind}({loaded}, 0)");
            timed(&longest, "load", session.query_typed(&load, &[])).await;
        }
        let complete = "select coordinator.complete(array[$1], array[$2], array[$3], array[$4])";
        timed(&longest, "complete", session.query_typed(complete, &fence)).await;
    }
}

async fn timed<T>(
    longest: &Longest,
    verb: &'static str,
    call: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> T {
    let begun = Instant::now();
    let result = call.await.unwrap_or_else(|error| panic!("{verb}: {error:?}"));
    let mut longest = longest.borrow_mut();
    let time = longest.entry(verb).or_default();
    *time = begun.elapsed().max(*time);
    result
}
