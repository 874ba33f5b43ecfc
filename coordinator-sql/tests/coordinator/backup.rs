//! A scan's rows out of one database and into another: each comes back once, and unchanged.

use everytab_coordinator::{BACKUP_TABLES, Coordinator, JobKind, Restoring};
use serde_json::{Value, json};

use crate::setup::{Database, soon, sqlstate};

/// Rows of the data tables, without the numbers that a database gives anew.
const ROWS: [&str; 10] = [
    "select to_jsonb(t) - 'scan' from everytab.index_files t where scan = $1 order by 1",
    "select to_jsonb(t) - 'scan' from everytab.scan_blocklist t where scan = $1 order by 1",
    "select to_jsonb(t) - 'scan' from everytab.stages t where scan = $1 order by 1",
    "select to_jsonb(h) - 'scan' - 'warc_file' || to_jsonb(w) - 'warc_file'
       from everytab.hosts h join everytab.warc_files w using (warc_file) where scan = $1
      order by 1",
    "select to_jsonb(t) - 'scan' from everytab.pages t where scan = $1 order by 1",
    "select to_jsonb(t) - 'scan' from everytab.icons t where scan = $1 order by 1",
    "select to_jsonb(t) - 'scan' from everytab.bundles t where scan = $1 order by 1",
    "select to_jsonb(t) - 'scan' - 'job_id' from everytab.jobs t where scan = $1 order by 1",
    "select to_jsonb(r) - 'scan' - 'job_id' || jsonb_build_object('of', (j.kind, j.part))
       from everytab.job_results r join everytab.jobs j using (job_id)
      where r.scan = $1 order by 1",
    "select to_jsonb(e) - 'scan' - 'job_id' || jsonb_build_object('of', (j.kind, j.part))
       from everytab.job_events e join everytab.jobs j using (job_id)
      where e.scan = $1 order by 1",
];

async fn rows_of(database: &Database, scan: i32) -> Vec<Vec<(Value,)>> {
    let mut all = Vec::new();
    for sql in ROWS {
        all.push(database.rows(sql, scan).await);
    }
    all
}

/// A finished scan whose jobs have results, events and a discard behind them.
async fn finished_scan(database: &Database) -> i32 {
    database.owner.block("suffix", "bad.example", None).await.unwrap();
    let scan = database.start_sharded(5).await;
    let lease = database.lease_one(JobKind::Warc).await;
    database.worker.discard(lease, "not to be read", soon()).await.unwrap();
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished_with_discards");
    scan
}

/// All rows of a table, a few blocks at a time.
async fn backed_up(owner: &Coordinator, scan: i32, table: &str) -> Vec<Value> {
    let blocks = owner.backup_blocks(scan, table).await.unwrap();
    let mut rows = Vec::new();
    for block in 0..blocks {
        for row in owner.backup_rows(scan, table, block, 1).await.unwrap() {
            rows.push(serde_json::from_str(&row).unwrap());
        }
    }
    rows
}

fn job_numbers(jobs: &[Value]) -> (i64, i64) {
    let numbers = || jobs.iter().map(|job| job["job_id"].as_i64().unwrap());
    (numbers().min().unwrap(), numbers().max().unwrap())
}

/// Brings every table back, each in two halves.
async fn bring_back(from: &Coordinator, scan: i32, to: &Coordinator, restoring: &mut Restoring) {
    let files = backed_up(from, scan, "warc_files").await;
    let paths: Vec<String> =
        files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect();
    let here = to.restore_warc_files(&paths).await.unwrap();
    for table in &BACKUP_TABLES[1..] {
        let mut rows = backed_up(from, scan, table).await;
        for row in rows.iter_mut().filter(|_| *table == "hosts") {
            let place = files.iter().position(|f| f["warc_file"] == row["warc_file"]).unwrap();
            row["warc_file"] = json!(here[place]);
        }
        for (half, rows) in rows.chunks(rows.len().div_ceil(2).max(1)).enumerate() {
            let text = Value::from(rows.to_vec()).to_string();
            let done = json!([table, half]);
            assert!(to.restore_rows(restoring, table, &text, done).await.unwrap(), "{table}");
        }
    }
}

#[tokio::test]
async fn a_scan_comes_back_row_for_row_beside_others() {
    let from = Database::new().await;
    let other = from.start(1).await;
    from.work().await;
    let scan = finished_scan(&from).await;
    let to = Database::new().await;
    to.owner.restore_warc_files(&["another.warc.gz".to_owned()]).await.unwrap();
    let before = to.start(3).await;
    to.work().await;

    let row = from.owner.backup_scan(scan).await.unwrap().unwrap();
    let (first, last) = job_numbers(&backed_up(&from.owner, scan, "jobs").await);
    let mut restoring = to.owner.restore_begin(&row, first, last).await.unwrap();
    assert_eq!(to.state_of_scan(restoring.scan).await, "cancelled", "no worker may take its jobs");
    bring_back(&from.owner, scan, &to.owner, &mut restoring).await;
    assert!(to.owner.restore_end(&restoring, &row).await.unwrap());

    let mut back = to.owner.backup_scan(restoring.scan).await.unwrap().unwrap();
    back["scan"] = row["scan"].clone();
    assert_eq!(back, row);
    let rows = rows_of(&to, restoring.scan).await;
    assert_eq!(rows, rows_of(&from, scan).await);
    assert!(rows.iter().all(|table| !table.is_empty()), "every table has rows to compare");
    to.assert_audited(restoring.scan).await;
    // New jobs get numbers of their own, and the scans that were there are as they were.
    let after = to.start(1).await;
    to.work().await;
    for scan in [before, after] {
        assert_eq!(to.state_of_scan(scan).await, "finished");
    }
    assert_eq!(from.state_of_scan(other).await, "finished");
    assert!(to.owner.drop_scan(restoring.scan).await.unwrap());
}

#[tokio::test]
async fn rows_that_are_sent_twice_or_by_two_come_back_once() {
    let from = Database::new().await;
    let scan = finished_scan(&from).await;
    let to = Database::new().await;
    let row = from.owner.backup_scan(scan).await.unwrap().unwrap();
    let begin = || to.owner.restore_begin(&row, 1, 100);
    let mut first = begin().await.unwrap();
    let mut second = begin().await.unwrap();
    assert_eq!(first, second, "the second finds what the first made");
    let pages = Value::from(backed_up(&from.owner, scan, "pages").await).to_string();
    assert!(to.owner.restore_rows(&mut first, "pages", &pages, json!(1)).await.unwrap());
    assert!(!to.owner.restore_rows(&mut second, "pages", &pages, json!(1)).await.unwrap());
    assert!(!to.owner.restore_end(&second, &row).await.unwrap());
    assert_eq!(begin().await.unwrap().done, json!(1), "the mark is what a third goes on from");
    let count = "select count(*) from everytab.pages where scan = $1";
    assert_eq!(to.value::<i64>(count, first.scan).await, 4);
    assert!(to.owner.restore_end(&first, &row).await.unwrap());
    assert_eq!(sqlstate(begin().await), "ET004", "whole, it is not to be mixed with another");
}

#[tokio::test]
async fn only_the_owner_reads_and_only_what_belongs_to_a_scan() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    let (owner, worker) = (&database.owner, &database.worker);
    for table in ["blocklist", "migrations", "hosts; drop table everytab.jobs", "pg_authid"] {
        assert_eq!(sqlstate(owner.backup_blocks(scan, table).await), "ET003", "{table}");
        assert_eq!(sqlstate(owner.backup_rows(scan, table, 0, 1).await), "ET003", "{table}");
    }
    assert_eq!(sqlstate(worker.backup_scan(scan).await), "42501");
    assert_eq!(sqlstate(worker.backup_rows(scan, "hosts", 0, 1).await), "42501");
    assert_eq!(sqlstate(worker.restore_warc_files(&[]).await), "42501");
    let row = json!({"scan_id": uuid::Uuid::new_v4(), "settings": {}});
    assert_eq!(sqlstate(worker.restore_begin(&row, 1, 1).await), "42501");
}
