//! A database of the version before runs is migrated in place: finished scans show what they
//! showed, and a running scan goes on to its end. The fixtures say how they were made.

use std::time::Duration;

use everytab_coordinator::{Completion, Digests, Error, Fence, JobKind, Lease, migrations};
use everytab_postgres::{ADMIN_USER, shared_for_tests};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    session::{Session, query},
    setup::{Database, digests, output_of, soon, template},
};

const BEFORE_RUNS: &str = include_str!("../fixtures/before_runs.sql");
const FINISHED: i32 = 1;
const RUNNING: i32 = 2;

/// The fixture in a database of its own, as the older program left it.
async fn before_runs() -> Database {
    let server = shared_for_tests();
    // The older program created the roles, which belong to the server and are not in the fixture.
    // Without a migrated database on the server there are none.
    template(server);
    let name = server.fresh_database(None);
    let url = server.url(&name, ADMIN_USER);
    Session::connect(&url).await.run(BEFORE_RUNS).await;
    Database::at(url, server.url(&name, "everytab_worker"), name.clone()).await
}

async fn migrated() -> Database {
    let database = before_runs().await;
    database.owner.migrate().await.unwrap();
    database
}

/// The status as the older program showed it.
fn recorded(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

async fn status(database: &Database, scan: i32) -> Value {
    let mut status =
        serde_json::to_value(database.worker.scan_status(scan).await.unwrap()).unwrap();
    for later in ["now", "archive_rate", "troubles"] {
        status.as_object_mut().unwrap().remove(later);
    }
    status
}

#[tokio::test]
async fn an_older_database_is_refused_until_it_is_migrated() {
    let database = before_runs().await;
    let error = database.owner.check_schema().await.unwrap_err();
    assert!(matches!(error, Error::Schema { .. }), "{error}");
    let applied = database.owner.migrate().await.unwrap();
    assert_eq!(applied, migrations()[2..]);
    database.worker.check_schema().await.unwrap();
}

#[tokio::test]
async fn functions_of_the_older_version_are_gone_after_migrating() {
    let sql = "select proname::text from pg_proc
                where pronamespace = 'coordinator'::regnamespace and $1 = 0 order by 1";
    let (old, new) = (migrated().await, Database::new().await);
    let found: Vec<(String,)> = old.rows(sql, 0).await;
    let expected: Vec<(String,)> = new.rows(sql, 0).await;
    assert_eq!(found, expected);
}

#[tokio::test]
async fn finished_and_running_scans_show_the_same_status_after_migrating() {
    let database = migrated().await;
    let finished = recorded(include_str!("../fixtures/before_runs_status_1.json"));
    assert_eq!(status(&database, FINISHED).await, finished);
    let running = recorded(include_str!("../fixtures/before_runs_status_2.json"));
    assert_eq!(status(&database, RUNNING).await, running);
    let row = recorded(include_str!("../fixtures/before_runs_backup_1.json"));
    let mut found = database.owner.backup_scan(FINISHED).await.unwrap().unwrap();
    found.as_object_mut().unwrap().remove("archive_rate");
    assert_eq!(found, row);
    let scans = database.worker.list_scans().await.unwrap();
    let states: Vec<&str> = scans.iter().map(|scan| scan.state.as_str()).collect();
    assert_eq!(states, ["cancelled", "paused", "running", "finished"]);
    for scan in 1..=4 {
        database.assert_audited(scan).await;
    }
}

/// The lease that the older program gave of a shard's job.
async fn held_lease(database: &Database, kind: JobKind) -> Lease {
    let sql = "select job_id, lease_number, lease_token, part from everytab.jobs
                where run = $1 and kind = $2::text::everytab.job_kind and state = 'leased'";
    let (job_id, lease_number, token, part): (i64, i32, Uuid, i32) =
        query(sql).bind(RUNNING).bind(kind.as_str().to_owned()).row(&database.pool).await;
    Lease {
        fence: Fence { job_id, lease_number, token },
        run: RUNNING,
        subject: Uuid::nil(),
        kind,
        part,
        length: Duration::from_secs(300),
        attempts: 0,
        crashes: 0,
        uses_isolation: false,
        rate: None,
        archive_rate: None,
    }
}

#[tokio::test]
async fn a_running_scan_goes_on_to_its_end_after_migrating() {
    let database = migrated().await;
    let fixed: Vec<(Value,)> =
        database.rows("select digests from everytab.runs where run = $1", RUNNING).await;
    let encoder = fixed[0].0["encoder"].as_str().unwrap().to_owned();
    let other = Digests { encoder: "other".into() };
    let withheld = database.worker.withheld_runs(&other).await.unwrap();
    assert_eq!(withheld[0].wanted, encoder);
    // The usual worker of these tests has this encoder, and reads this crawl.
    database.run("update everytab.scans set crawl = 'CC-MAIN-2026-01'").await;
    database.run("update everytab.runs set digests = '{\"encoder\": \"encoder\"}'").await;
    assert_eq!(database.worker.withheld_runs(&digests()).await.unwrap(), []);

    // A lease that the older program gave still completes.
    let held = held_lease(&database, JobKind::Warc).await;
    let output = output_of(&held);
    let stats = serde_json::json!({"inputs": {"hosts": 1}, "outcomes": {"ok": 1}});
    let done = database.worker.complete(held, &output, &stats, soon()).await.unwrap();
    assert_eq!(done, Completion::Recorded);
    // The other one runs out; its job is under isolation, with a suspect from before.
    let suspect = held_lease(&database, JobKind::Icon).await.fence.job_id;
    database.expire_leases().await;
    assert_eq!(database.worker.sweep(9).await.unwrap(), 1);
    assert_eq!(database.worker.load_suspects(suspect).await.unwrap(), [(7, 2)]);
    database.end_backoffs().await;
    assert!(database.lease(JobKind::Icon, 9).await.is_empty(), "the stage is paused");
    assert!(database.owner.pause_run(RUNNING, Some(JobKind::Icon), false).await.unwrap());
    let lease = database.lease_part(JobKind::Icon, 3).await;
    assert_eq!((lease.crashes, lease.uses_isolation, lease.rate), (5, true, Some(500)));
    assert_eq!(database.complete(lease).await, Completion::Recorded);

    database.work().await;
    assert_eq!(database.state_of_scan(RUNNING).await, "finished_with_discards");
    database.assert_audited(RUNNING).await;
    assert_eq!(database.worker.bundled_shards(RUNNING).await.unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    // What was discarded before is retried now, the index file too.
    assert_eq!(database.owner.retry_jobs(RUNNING, None, None, None).await.unwrap(), 2);
    database.work().await;
    assert_eq!(database.state_of_scan(RUNNING).await, "finished");
    database.assert_audited(RUNNING).await;
}

#[tokio::test]
async fn scans_of_the_older_version_can_be_dropped_and_their_numbers_are_not_given_again() {
    let database = migrated().await;
    assert!(!database.owner.drop_scan(RUNNING).await.unwrap());
    for scan in [FINISHED, 4] {
        assert!(database.owner.drop_scan(scan).await.unwrap());
    }
    let left = "select count(*) from everytab.runs where run = $1";
    assert_eq!(database.value::<i64>(left, FINISHED).await, 0);
    // Scan 5 was dropped by the older program.
    assert_eq!(database.start(1).await, 6);
}
