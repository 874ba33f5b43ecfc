//! Tests that functions that load a job's input do not need statistics, because a new or restored
//! scan's tables do not have any yet.

use serde_json::json;

use crate::{
    session::{Session, query},
    setup::{Database, LEASE_MS},
};

const SHARDS: i32 = 30;
const HOSTS_PER_SHARD: i32 = 400;

async fn recorded_scan(database: &Database) -> i32 {
    let scan = database.start_with(1, LEASE_MS, json!({"entries_per_bundle": 120})).await;
    for table in ["hosts", "pages", "icons"] {
        let sql = format!("alter table everytab.{table}_{scan} set (autovacuum_enabled = off)");
        query(&sql).execute(&database.pool).await;
    }
    for sql in [
        "insert into everytab.jobs (run, kind, part) select $1, kind::everytab.job_kind, shard
           from generate_series(0, $2 - 1) shard, unnest('{warc,icon}'::text[]) kind where $3 > 0",
        "update everytab.jobs set state = 'completed', lease_number = 1
          where run = $1 and $2 + $3 > 0",
        "insert into everytab.job_results (job_id, run, lease_number, kind, part, worker_id,
                                           leased_at, token, stats)
         select job_id, run, 1, kind, part, 'w', now(), gen_random_uuid(), '{}'
           from everytab.jobs where run = $1 and $2 + $3 > 0",
        "update everytab.scans set shards = $2, hash_span = 18446744073709551615
          where scan = $1 and $3 > 0",
        "insert into everytab.warc_files (path)
         select 'crawl-data/' || n from generate_series(1, 2000) n where $1 + $2 + $3 > 0",
        "insert into everytab.hosts (scan, file, lease_number, hash, hostname, https, fetch_time,
                                     warc_file, warc_offset, warc_length)
         select $1, 0, 1,
                (n::numeric * 18446744073709551615 / ($2 * $3) - 9223372036854775808)::bigint,
                'h' || n || '.example', true, now(), 1 + n % 2000, n, 100
           from generate_series(0, $2 * $3 - 1) n",
        "insert into everytab.pages (scan, shard, lease_number, host_no, hostname, https, frameable,
                                     framing_rule, title_state, title, candidates, outcome)
         select $1, shard, 1, host_no, 'h' || host_no || '.example', true, true, 'none', 'ok', 't',
                '[]', 'ok'
           from generate_series(0, $2 - 1) shard, generate_series(0, $3 - 1) host_no",
        "insert into everytab.icons (scan, shard, lease_number, host_no, candidate_no, touch, width,
                                     height, bytes, archive_offset, archive_length, sha256, outcome,
                                     content_type, url)
         select $1, shard, 1, host_no, n, false, 32, 32, 100, n, 100,
                sha256((host_no || '-' || n)::text::bytea), 'ok', 'image/png',
                'https://h' || host_no || '.example/' || n
           from generate_series(0, $2 - 1) shard, generate_series(0, $3 - 1) host_no,
                generate_series(0, 2) n",
    ] {
        query(sql).bind(scan).bind(SHARDS).bind(HOSTS_PER_SHARD).execute(&database.pool).await;
    }
    scan
}

/// Returns the median number of buffers that loading a shard touches.
async fn buffers(database: &Database, function: &str, scan: i32) -> i64 {
    let session: Session = database.session().await;
    session.run("set statement_timeout = '30s'").await;
    let mut measured = Vec::new();
    for shard in 0..5 {
        let sql = format!(
            "explain (analyze, buffers, format json)
             select * from coordinator.{function}({scan}, {shard})"
        );
        let plan: serde_json::Value = query(&sql).value(&session).await;
        let count = |name: &str| plan[0]["Plan"][name].as_i64().unwrap();
        assert_eq!(count("Actual Rows"), i64::from(HOSTS_PER_SHARD), "{function}");
        measured.push(count("Shared Hit Blocks") + count("Shared Read Blocks"));
    }
    measured.sort_unstable();
    measured[2]
}

#[tokio::test]
async fn loading_a_shard_costs_the_same_with_and_without_statistics() {
    let database = Database::new().await;
    let scan = recorded_scan(&database).await;
    // The queue's own tables get statistics in a scan's first minutes. With them the planner
    // expects few rows, and used to choose nested loops.
    database.run("analyze everytab.jobs").await;
    let functions = ["load_warc", "load_icon", "load_bundle_shard"];
    let mut without = Vec::new();
    for function in functions {
        without.push(buffers(&database, function, scan).await);
    }
    database.run("analyze").await;
    for (function, without) in functions.into_iter().zip(without) {
        let with = buffers(&database, function, scan).await;
        assert!(
            without <= 2 * with && with <= 2 * without,
            "{function}: {without} buffers without statistics, {with} with"
        );
    }
}
