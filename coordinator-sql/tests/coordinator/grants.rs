//! Tests that the worker's role can execute the functions that a worker needs, and has no access to
//! tables.

use everytab_coordinator::{Coordinator, JobKind, NewScan, ScanState};
use serde_json::json;
use uuid::Uuid;

use crate::{
    session::{Session, query},
    setup::{Database, digests, sqlstate},
};

const DENIED: &str = "42501";

async fn refusal(connection: &Session, sql: String) -> Option<String> {
    let error = connection.0.batch_execute(&sql).await.err()?;
    Some(error.code().unwrap().code().to_owned())
}

#[tokio::test]
async fn the_worker_reads_and_writes_no_table() {
    let database = Database::new().await;
    database.start(1).await;
    let tables: Vec<(String, String)> = query(
        "select relname::text, relkind::text from pg_class c
        join pg_namespace n on n.oid = relnamespace
        where nspname = 'everytab' and relkind in ('r', 'p', 'S') order by 1",
    )
    .rows(&database.pool)
    .await;
    assert!(tables.len() > 15);
    let worker = Session::connect(&database.worker_url).await;
    for (table, kind) in tables {
        let mut tried = vec![format!("select * from everytab.{table}")];
        if kind != "S" {
            tried.push(format!("delete from everytab.{table}"));
            tried.push(format!("truncate everytab.{table}"));
            tried.push(format!("insert into everytab.{table} default values"));
            tried.push(format!("copy everytab.{table} to stdout"));
        }
        for sql in tried {
            let code = refusal(&worker, sql.clone()).await;
            assert_eq!(code.as_deref(), Some(DENIED), "{sql}");
        }
    }
    for sql in [
        "create table everytab.mine ()",
        "create function coordinator.mine() returns \
        integer language sql as 'select 1'",
        "create schema mine",
        "set role postgres",
    ] {
        assert_eq!(refusal(&worker, sql.into()).await.as_deref(), Some(DENIED), "{sql}");
    }
}

/// The functions are listed by name, so that adding one is a deliberate decision.
const OF_WORKERS: &[&str] = &[
    "audit_run",
    "bundled_shards",
    "checkpoint_item",
    "checkpoint_slot",
    "complete",
    "crawl_archives",
    "crawl_settings",
    "discard",
    "drop_ended_frontier",
    "drop_read_links",
    "earlier_crawl",
    "earlier_fetches",
    "earlier_outcomes",
    "frontier_health",
    "job_history",
    "lease",
    "lease_slots",
    "lease_webhooks",
    "list_scans",
    "load_blocked_hosts",
    "load_blocklist",
    "load_bundle_shard",
    "load_crawl_run",
    "load_due_hosts",
    "load_exclusions",
    "load_host_chunks",
    "load_icon",
    "load_index",
    "load_index_rows",
    "load_later_blocks",
    "load_robots_overrides",
    "load_scan",
    "load_site_hosts",
    "load_slot_sums",
    "load_suspects",
    "load_title_patterns",
    "load_warc",
    "most_tabs",
    "open_crawls",
    "open_index_rows",
    "read_links",
    "record_bundles",
    "record_hosts",
    "record_icons",
    "record_pages",
    "record_webhook",
    "release",
    "release_slots",
    "renew",
    "renew_slots",
    "reserve_pages",
    "retry",
    "run_outcomes",
    "run_progress",
    "scan_number",
    "scan_status",
    "schema_digest",
    "sweep",
    "webhook_backlog",
    "withheld_runs",
];

#[tokio::test]
async fn the_worker_executes_these_functions_and_no_others() {
    let database = Database::new().await;
    let mut allowed: Vec<(String,)> = query(
        "select proname::text from pg_proc p join pg_namespace n on n.oid = pronamespace
          where nspname = 'coordinator' and has_function_privilege('everytab_worker', p.oid,
                'execute')",
    )
    .rows(&database.pool)
    .await;
    allowed.sort();
    let allowed: Vec<&str> = allowed.iter().map(|(name,)| name.as_str()).collect();
    assert_eq!(allowed, OF_WORKERS);
}

#[tokio::test]
async fn every_function_that_the_worker_may_call_runs_with_its_owners_rights() {
    let database = Database::new().await;
    let unsafe_ones: Vec<(String,)> = query(
        "select proname::text from pg_proc p join pg_namespace n on n.oid = pronamespace
          where nspname = 'coordinator' and has_function_privilege('everytab_worker', p.oid,
                'execute')
            and not (prosecdef and proconfig @> array['search_path=everytab, pg_temp'])",
    )
    .rows(&database.pool)
    .await;
    assert_eq!(unsafe_ones, []);
}

async fn operate(worker: &Coordinator, scan: i32) -> Vec<String> {
    let new_scan = NewScan {
        scan_id: Uuid::new_v4(),
        crawl: "c".into(),
        settings: json!({}),
        lease_ms: 1_000,
        archive_rate: None,
        digests: digests(),
        files: vec![("f".into(), None)],
    };
    vec![
        sqlstate(worker.start_scan(&new_scan).await),
        sqlstate(worker.cancel_run(scan).await),
        sqlstate(worker.pause_run(scan, None, true).await),
        sqlstate(worker.pause_run(scan, Some(JobKind::Icon), true).await),
        sqlstate(worker.set_rate(scan, Some(1)).await),
        sqlstate(worker.set_archive_rate(scan, Some(1)).await),
        sqlstate(worker.retry_jobs(scan, None, None, None).await),
        sqlstate(worker.revoke_leases(None, "mine").await),
        sqlstate(worker.drop_scan(scan).await),
        sqlstate(worker.block("hostname", "a.example", None).await),
        sqlstate(worker.unblock("hostname", "a.example").await),
        sqlstate(worker.list_blocked().await),
        sqlstate(worker.exclude(1, &[("hostname", "a.example".to_owned())]).await),
        sqlstate(worker.rebundle_excluded(scan, &[]).await),
        sqlstate(worker.referenced_archives(scan).await),
    ]
}

#[tokio::test]
async fn the_worker_cannot_call_the_operators_functions() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    database.run("update everytab.migrations set digest = 'another'").await;
    let before = database.contents().await;
    let codes = operate(&database.worker, scan).await;
    assert!(codes.iter().all(|code| code == DENIED), "{codes:?}");
    assert!(!database.worker.may_migrate().await.unwrap());
    assert_eq!(sqlstate(database.worker.migrate().await), DENIED);
    assert_eq!(database.contents().await, before);
}

#[tokio::test]
async fn the_worker_can_perform_a_whole_scan() {
    let database = Database::new().await;
    let scan = database.start(2).await;
    database.worker.check_schema().await.unwrap();
    let lease = database.lease_one(JobKind::Index).await;
    let file = database.worker.load_index(scan, lease.part).await.unwrap();
    assert_eq!((file.path.as_str(), file.max_captures), ("file-0.parquet", None));
    database.complete(lease).await;
    database.work().await;
    assert_eq!(database.worker.load_scan(scan).await.unwrap().shards, Some(2));
    assert_eq!(database.worker.bundled_shards(scan).await.unwrap(), [0, 1]);
    assert_eq!(database.worker.list_scans().await.unwrap()[0].state, ScanState::Finished);
    assert_eq!(database.worker.scan_number(None).await.unwrap(), Some(scan));
    assert!(!database.worker.run_outcomes(scan).await.unwrap().is_empty());
}

/// Temporary tables must not shadow the tables that functions use.
#[tokio::test]
async fn temporary_tables_of_a_worker_do_not_affect_functions() {
    let database = Database::new().await;
    database.start(1).await;
    let session = Session::connect(&database.worker_url).await;
    let make = "create temporary table jobs (job_id bigint)";
    database.revoke_temporary().await;
    assert_eq!(refusal(&session, make.into()).await.as_deref(), Some(DENIED));
    // In some databases the owner cannot revoke this right.
    let grant = "do $$ begin execute format('grant temporary on database %I to everytab_worker',
                                            current_database()); end $$";
    database.run(grant).await;
    for sql in [make, "create temporary table scans ()"] {
        session.run(sql).await;
    }
    let sql = "select count(*) from coordinator.lease('mine', '{index}', 9, '{}', '{0}')";
    let leased: i64 = query(sql).value(&session).await;
    assert_eq!(leased, 1);
    assert!(database.lease(JobKind::Index, 9).await.is_empty());
}

/// Like temporary tables, large objects could fill the server's disk.
#[tokio::test]
async fn a_worker_cannot_create_large_objects() {
    let database = Database::new().await;
    let session = Session::connect(&database.worker_url).await;
    for sql in [
        "select lo_from_bytea(0, decode(repeat('00', 9), 'hex'))",
        "select lo_create(0)",
        "select lo_creat(-1)",
    ] {
        assert_eq!(refusal(&session, sql.into()).await.as_deref(), Some(DENIED), "{sql}");
    }
}
