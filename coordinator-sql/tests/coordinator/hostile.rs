//! Tests that a worker's stolen credentials have limited power.

use everytab_coordinator::JobKind;
use serde_json::json;
use tokio_postgres::error::DbError;

use crate::{
    session::{Session, query},
    setup::{Database, digests},
};

/// Stores the fence in session settings, because a hostile worker cannot create a table for it.
const TAKE: &str = "
    select set_config('evil.job', job_id::text, false),
           set_config('evil.number', lease_number::text, false),
           set_config('evil.token', lease_token::text, false)
      from coordinator.lease('evil', '{index}', 1, $1, '{0}')";

const FENCE: &str = "current_setting('evil.job')::bigint, current_setting('evil.number')::integer,
                     current_setting('evil.token')::uuid";

fn record_hosts(rows: u32, chunk: u32, path: &str) -> String {
    let row = |n| format!("\"({n},bank{n}.example,t,2026-01-01Z,{path},0,1000)\"");
    let rows = (1..=rows).map(row).collect::<Vec<_>>().join(",");
    format!("select coordinator.record_hosts({FENCE}, {chunk}, '{{{rows}}}')")
}

fn complete(stats: &str) -> String {
    format!(
        "select coordinator.complete(array[f.job], array[f.number], array[f.token],
                                     array['{stats}'::jsonb])
           from (values ({FENCE})) as f (job, number, token)"
    )
}

async fn refused(session: &Session, sql: &str) -> DbError {
    let error = session.0.batch_execute(sql).await.expect_err(sql);
    error.as_db_error().unwrap_or_else(|| panic!("{sql}: {error}")).clone()
}

const WARC: &str = "crawl-data/CC-MAIN-2026-01/segments/1.2/warc/CC-MAIN-1-00000.warc.gz";

#[tokio::test]
async fn each_statement_of_a_hostile_worker_is_refused() {
    let database = Database::new().await;
    let scan = database.start(40).await;
    database.revoke_temporary().await;
    let evil = Session::connect(&database.worker_url).await;
    let own = json!({"encoder": digests().encoder});
    let leased: i64 =
        query("select count(*) from coordinator.lease('evil', '{index}', 2147483647, $1, '{0}')")
            .bind(own.clone())
            .value(&evil)
            .await;
    assert_eq!(leased, 32, "a call returns at most 32 leases");
    let _: Vec<(String, String, String)> = query(TAKE).bind(own).rows(&evil).await;
    let before = database.contents().await;
    let long = "x".repeat(301);
    for (sql, code, said) in [
        ("create temporary table l (a integer)".to_owned(), "42501", "temporary"),
        (record_hosts(5_001, 1, WARC), "22023", "at most 5000 rows"),
        (record_hosts(1, 2_001, WARC), "22023", "chunk number 2001"),
        (record_hosts(1, 0, WARC), "22023", "chunk number 0"),
        (record_hosts(1, 1, "../../any/key/in/the/bucket"), "22023", "not the path of a WARC file"),
        (
            record_hosts(1, 1, "crawl-data/CC-MAIN-2026-01/../x"),
            "22023",
            "not the path of a WARC file",
        ),
        (
            record_hosts(1, 1, "/crawl-data/CC-MAIN-2026-01/x"),
            "22023",
            "not the path of a WARC file",
        ),
        (record_hosts(1, 1, &format!("crawl-data/CC-MAIN-2026-01/{long}")), "22023", "WARC file"),
        (complete("{}"), "22023", "lacks its counts"),
        (complete(r#"{"inputs":{},"outcomes":{}}"#), "22023", "lacks its counts"),
        (
            complete(r#"{"inputs":{},"outcomes":{},"counts":{"hosts":-1}}"#),
            "22023",
            "lacks its counts",
        ),
        (
            complete(r#"{"inputs":{},"outcomes":{},"counts":{"hosts":"many"}}"#),
            "22023",
            "lacks its counts",
        ),
    ] {
        let error = refused(&evil, &sql).await;
        assert_eq!(error.code().code(), code, "{sql}: {error}");
        assert!(error.message().contains(said), "{sql}: {error}");
    }
    assert_eq!(database.contents().await, before);
    database.assert_audited(scan).await;
    evil.0.batch_execute(&record_hosts(5_000, 1, WARC)).await.unwrap();
}

#[tokio::test]
async fn pages_and_icons_beyond_their_lengths_are_refused() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    let evil = Session::connect(&database.worker_url).await;
    let page = |hostname: &str, title: &str, candidates: &str| {
        let job = lease.fence.job_id;
        let number = lease.fence.lease_number;
        let token = lease.fence.token;
        format!(
            "select coordinator.record_pages({job}, {number}, '{token}', 1,
                 '{{\"(0,{hostname},t,t,none,utf-8,ok,{title},{candidates},ok)\"}}')"
        )
    };
    for sql in [
        page(&"a".repeat(254), "t", "[]"),
        page("a.example", &"t".repeat(1001), "[]"),
        page("a.example", "t", &format!("[{}]", "1".repeat(1_048_576))),
    ] {
        let error = refused(&evil, &sql).await;
        assert_eq!(error.code().code(), "23514", "{error}");
    }
    evil.0.batch_execute(&page("a.example", &"t".repeat(1000), "[]")).await.unwrap();
    database.assert_audited(scan).await;
}

#[tokio::test]
async fn a_role_leases_only_its_own_kinds_of_jobs() {
    let database = Database::new().await;
    database.start(2).await;
    let url = |role: &str| database.worker_url.replace("everytab_worker", role);
    let asks = |kind: &str| {
        let own = json!({"encoder": digests().encoder});
        format!("select coordinator.lease('w', '{{{kind}}}', 1, '{own}', '{{0}}')")
    };
    let all = ["index", "warc", "icon", "bundle-shard", "search", "publish"];
    for (role, kinds) in [
        ("everytab_worker", &all[..]),
        ("everytab_worker_crawl", &all[..2]),
        ("everytab_worker_icons", &all[2..3]),
        ("everytab_worker_site", &all[3..]),
    ] {
        let session = Session::connect(&url(role)).await;
        for kind in all {
            if kinds.contains(&kind) {
                session.0.batch_execute(&asks(kind)).await.unwrap();
            } else {
                let error = refused(&session, &asks(kind)).await;
                assert_eq!(error.code().code(), "42501", "{role} {kind}: {error}");
                assert!(error.message().contains(role), "{error}");
            }
        }
        let limits: Vec<(String, i32)> = query(
            "select current_setting('statement_timeout'), rolconnlimit
               from pg_roles where rolname = current_user",
        )
        .rows(&session)
        .await;
        assert_eq!(limits, [("90s".to_owned(), 1_000)], "{role}");
    }
    let icons = Session::connect(&url("everytab_worker_icons")).await;
    for sql in [
        "select coordinator.load_later_blocks(1, '{}', '{}')",
        "select coordinator.load_warc(1, 0)",
    ] {
        assert_eq!(refused(&icons, sql).await.code().code(), "42501", "{sql}");
    }
}
