//! Tests the commands that show a scan to operators (status, history and lists), and dropping a
//! scan.

use everytab_coordinator::{Completion, JobKind, Output, Progress, ScanStatus};
use serde_json::{Value, json};

use crate::setup::{Database, WORKER_ID, kinds_before, soon};

async fn status(database: &Database, scan: i32) -> Value {
    serde_json::to_value(database.worker.scan_status(scan).await.unwrap()).unwrap()
}

#[tokio::test]
async fn a_status_keeps_its_json_when_parsed_and_written_again() {
    let database = Database::new().await;
    let scan = database.start_sharded(3).await;
    database.work_on(&[JobKind::Warc]).await;
    let lease = database.lease_one(JobKind::Icon).await;
    database.worker.retry(lease, "the store is full", soon()).await.unwrap();
    database
        .run(
            "update everytab.jobs set crashes = 3, not_before = 'infinity' where attempts = 1;
             update everytab.stages set outstanding = 7 where kind = 'icon'",
        )
        .await;
    let _held = database.lease_one(JobKind::Icon).await;
    let sql = "select coordinator.scan_status($1::integer)";
    let written: Value = database.value(sql, scan).await;
    for section in ["workers", "careful", "errors", "drift", "stages"] {
        assert!(!written[section].as_array().unwrap().is_empty(), "{section}: {written}");
    }
    let read: ScanStatus = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap().to_string(), written.to_string());
}

fn stage<'a>(status: &'a Value, kind: &str) -> &'a Value {
    let stages = status["stages"].as_array().unwrap();
    stages.iter().find(|stage| stage["kind"] == kind).unwrap()
}

#[tokio::test]
async fn outcomes_are_summed_over_completed_jobs_only() {
    let database = Database::new().await;
    let scan = database.start_sharded(3).await;
    for (inputs, ok) in [(10, 7), (20, 15)] {
        let lease = database.lease_one(JobKind::Warc).await;
        let stats = json!({
            "inputs": {"hosts": inputs}, "outcomes": {"ok": ok, "no_page": inputs - ok},
            "counts": {"bytes": 5_000_000_000_i64}, "durations": {"run_ms": [1, 2]}, "note": "x",
        });
        let output = Output::Pages(vec![]);
        database.worker.complete(lease, &output, &stats, soon()).await.unwrap();
    }
    let outcomes = status(&database, scan).await["outcomes"]["warc"].clone();
    let expected = json!({
        "inputs": {"hosts": 30}, "outcomes": {"ok": 22, "no_page": 8},
        "counts": {"bytes": 10_000_000_000_i64},
    });
    assert_eq!(outcomes, expected);
    database.run("update everytab.icons set outcome = 'x'").await;
    database.work().await;
    database.run("update everytab.icons set outcome = 'x' where shard = 0").await;
    let items = |status: &Value| status["outcomes"]["icon"]["inputs"]["items"].clone();
    assert_eq!(items(&status(&database, scan).await), 3);
    assert_eq!(database.owner.retry_jobs(scan, None, None, Some("x")).await.unwrap(), 1);
    assert_eq!(items(&status(&database, scan).await), 2);
    database.work().await;
    assert_eq!(items(&status(&database, scan).await), 3);
}

#[tokio::test]
async fn a_scan_is_compared_with_the_last_one_of_its_site_that_was_published() {
    let database = Database::new().await;
    let scan_of = async |site: i32| {
        let scan = database.start_sharded(2).await;
        let sql = "update everytab.scans
                      set settings = settings || jsonb_build_object('site', $1::bigint)
                    where scan = (select max(scan) from everytab.scans) returning scan";
        assert_eq!(database.value::<i32>(sql, site).await, scan);
        scan
    };
    let compared = async |scan: i32| {
        let earlier = database.worker.earlier_outcomes(scan).await.unwrap()?;
        Some(serde_json::to_value(earlier).unwrap())
    };
    let as_earlier = async |scan: i32| {
        let status = status(&database, scan).await;
        let stages = status["outcomes"].as_object().unwrap().iter();
        let outcomes = stages.map(|(kind, sections)| (kind.clone(), sections["outcomes"].clone()));
        let outcomes = outcomes.filter(|(_, names)| names.is_object());
        Some(json!({"scan": status["scan"], "outcomes": outcomes.collect::<Value>()}))
    };
    let first = scan_of(1).await;
    database.work().await;
    assert_eq!(compared(first).await, None);
    let of_another_site = scan_of(2).await;
    database.work().await;
    let expected = as_earlier(first).await;
    assert!(expected.as_ref().unwrap()["outcomes"]["warc"].is_object(), "{expected:?}");
    assert_eq!(compared(of_another_site).await, expected, "no other scan has finished");
    let cancelled = scan_of(1).await;
    database.owner.cancel_run(cancelled).await.unwrap();
    let not_published = scan_of(1).await;
    database.work_on(&kinds_before(JobKind::Publish)).await;
    let lease = database.lease_one(JobKind::Publish).await;
    database.worker.discard(lease, "publish refused", soon()).await.unwrap();
    assert_eq!(database.state_of_scan(not_published).await, "finished_with_discards");
    let now = scan_of(1).await;
    assert_eq!(compared(now).await, expected);
    assert_eq!(compared(scan_of(3).await).await, as_earlier(of_another_site).await);
}

#[tokio::test]
async fn the_status_shows_stages_workers_errors_and_no_drift() {
    let database = Database::new().await;
    let scan = database.start_sharded(5).await;
    let failed = database.lease_one(JobKind::Warc).await;
    let failed_job = failed.fence.job_id;
    let failed_part = failed.part;
    database.worker.retry(failed, "the store is full", soon()).await.unwrap();
    database
        .run("update everytab.jobs set not_before = now() + interval '1 h' where attempts = 1")
        .await;
    assert_eq!(database.lease(JobKind::Warc, 3).await.len(), 3);
    let shown = status(&database, scan).await;
    assert_eq!((&shown["state"], &shown["shards"]), (&json!("running"), &json!(5)));
    assert_eq!(shown["crawl"], "CC-MAIN-2026-01");
    let warc = stage(&shown, "warc");
    assert_eq!((&warc["outstanding"], &warc["leased"]), (&json!(5), &json!(3)));
    assert_eq!(stage(&shown, "index")["done"], 1);
    assert!(stage(&shown, "index")["finished_at"].is_string());
    assert!(warc["started_at"].is_string() && warc["finished_at"].is_null());
    assert_eq!(shown["stages"].as_array().unwrap().len(), 7);
    assert_eq!(shown["workers"][0]["holder"], WORKER_ID);
    assert_eq!(shown["workers"][0]["leases"], 3);
    let error = &shown["errors"][0];
    assert_eq!(
        (&error["event"], &error["message"]),
        (&json!("retry"), &json!("the store is full"))
    );
    assert_eq!((&error["part"], &error["job_id"]), (&json!(failed_part), &json!(failed_job)));
    assert_eq!((&shown["events"], &shown["drift"]), (&json!({"retry": 1}), &json!([])));
}

#[tokio::test]
async fn drift_between_counters_and_rows_is_shown() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    database.run("update everytab.stages set outstanding = 3 where kind in ('warc', 'icon')").await;
    let drift = status(&database, scan).await["drift"].clone();
    let line = |kind| json!({"kind": kind, "outstanding": 3, "unfinished": 2});
    assert_eq!(drift, json!([line("warc"), line("icon")]));
}

#[tokio::test]
async fn a_fresh_database_reports_that_it_has_no_scan() {
    let database = Database::new().await;
    assert_eq!(database.worker.progress(&JobKind::OF_SCANS).await.unwrap(), Progress::NoScan);
    assert_eq!(database.worker.scan_number(None).await.unwrap(), None);
    assert!(database.worker.list_scans().await.unwrap().is_empty());
    assert!(database.worker.load_scan(1).await.is_err());
    assert!(database.worker.load_index(1, 0).await.is_err());
}

#[tokio::test]
async fn progress_is_running_during_any_scan_and_then_shows_how_the_newest_ended() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    assert_eq!(
        database.worker.progress(&JobKind::OF_CRAWLS).await.unwrap(),
        Progress::NoScan,
        "a scan does not occupy a worker for crawls"
    );
    assert_eq!(database.worker.progress(&JobKind::OF_SCANS).await.unwrap(), Progress::Running);
    let lease = database.lease_one(JobKind::Warc).await;
    database.worker.discard(lease, "bad", soon()).await.unwrap();
    database.work().await;
    assert_eq!(
        database.worker.progress(&JobKind::OF_SCANS).await.unwrap(),
        Progress::EndedWithDiscards
    );
    let second = database.start(1).await;
    assert_eq!(database.worker.progress(&JobKind::OF_SCANS).await.unwrap(), Progress::Running);
    database.owner.pause_run(second, None, true).await.unwrap();
    assert_eq!(
        database.worker.progress(&JobKind::OF_SCANS).await.unwrap(),
        Progress::Running,
        "paused"
    );
    database.owner.cancel_run(second).await.unwrap();
    assert_eq!(database.worker.progress(&JobKind::OF_SCANS).await.unwrap(), Progress::Ended);
    let listed = database.worker.list_scans().await.unwrap();
    let listed: Vec<_> = listed.iter().map(|scan| (scan.state.as_str(), scan.discarded)).collect();
    assert_eq!(listed, [("cancelled", 0), ("finished_with_discards", 3)]);
    let id = database.worker.load_scan(scan).await.unwrap().scan_id;
    assert_eq!(database.worker.scan_number(Some(id)).await.unwrap(), Some(scan));
}

#[tokio::test]
async fn only_a_finished_scan_can_be_dropped_and_other_scans_remain() {
    let database = Database::new().await;
    let kept = database.start_sharded(2).await;
    database.work().await;
    let before = database.contents().await;
    let scan = database.start_sharded(2).await;
    assert!(!database.owner.drop_scan(scan).await.unwrap(), "the scan is still running");
    database.work().await;
    assert!(database.owner.drop_scan(scan).await.unwrap());
    assert!(!database.owner.drop_scan(scan).await.unwrap(), "the scan was already dropped");
    assert_eq!(database.contents().await, before);
    let left = "select count(*) from pg_class where relname like '%\\_' || $1::integer";
    assert_eq!(database.value::<i64>(left, scan).await, 0, "partitions");
    assert_eq!(database.worker.load_warc(kept, 0).await.unwrap().len(), 1);
    assert_eq!(database.worker.load_bundle_shard(kept, 0).await.unwrap().len(), 1);
}

#[tokio::test]
async fn two_concurrent_scans_do_not_affect_each_other() {
    let database = Database::new().await;
    let scans = [database.start(3).await, database.start(3).await];
    let lease = database.lease_one(JobKind::Index).await;
    database.worker.discard(lease, "bad", soon()).await.unwrap();
    database.work().await;
    assert_eq!(database.state_of_scan(scans[0]).await, "finished_with_discards");
    assert_eq!(database.state_of_scan(scans[1]).await, "finished");
    for scan in scans {
        database.assert_audited(scan).await;
    }
}

#[tokio::test]
async fn a_jobs_history_is_in_time_order() {
    let database = Database::new().await;
    database.start_sharded(1).await;
    let lease = database.lease_one(JobKind::Warc).await;
    let job_id = lease.fence.job_id;
    database.worker.release(lease, "draining", soon()).await.unwrap();
    let _crashed = database.lease_one(JobKind::Warc).await;
    database.expire_leases().await;
    let lease = database.lease_one(JobKind::Warc).await;
    assert_eq!(database.complete(lease).await, Completion::Recorded);
    let history = database.worker.job_history(job_id).await.unwrap();
    let events: Vec<_> = history.iter().map(|e| (e.event.as_str(), e.lease_number)).collect();
    assert_eq!(events, [("release", 1), ("expired", 2), ("completed", 3)]);
    assert!(history.iter().all(|event| event.worker_id.as_deref() == Some(WORKER_ID)));
}

#[tokio::test]
async fn the_status_shows_each_workers_leases_jobs_and_errors() {
    let database = Database::new().await;
    let scan = database.start_sharded(4).await;
    let lease = async |worker_id: &'static str, kind| {
        database.lease_as(worker_id, &[kind], 1).await.pop().unwrap()
    };
    for inputs in [30, 12] {
        let done = lease("busy", JobKind::Warc).await;
        let stats = json!({"inputs": {"hosts": inputs}, "outcomes": {"ok": inputs}});
        let output = Output::Pages(vec![]);
        database.worker.complete(done, &output, &stats, soon()).await.unwrap();
    }
    let _held = lease("busy", JobKind::Icon).await;
    let _held = lease("busy", JobKind::Warc).await;
    let given_back = lease("resting", JobKind::Warc).await;
    database.worker.release(given_back, "the resolver does not answer", soon()).await.unwrap();
    database
        .run(
            "insert into everytab.job_events (job_id, run, at, event, lease_number, worker_id)
                  select min(job_id), min(run), now() - interval '1 h', 'expired', 1, 'long gone'
                    from everytab.jobs",
        )
        .await;
    let shown = status(&database, scan).await;
    let workers = shown["workers"].as_array().unwrap();
    let names: Vec<&str> = workers.iter().filter_map(|w| w["holder"].as_str()).collect();
    assert_eq!(names, ["busy", "resting", WORKER_ID], "{shown}");
    let busy = &workers[0];
    assert_eq!((&busy["leases"], &busy["kinds"]), (&json!(2), &json!(["warc", "icon"])));
    assert_eq!(
        (&busy["jobs"], &busy["items"], &busy["errors"]),
        (&json!(2), &json!(42), &json!(0))
    );
    let rate = busy["items_per_second"].as_f64().unwrap();
    assert!(rate > 0.0 && rate <= 42.0, "{rate}");
    let resting = &workers[1];
    assert_eq!((&resting["leases"], &resting["oldest_lease"]), (&json!(0), &Value::Null));
    assert_eq!((&resting["errors"], &resting["jobs"]), (&json!(1), &json!(0)));
    assert_eq!(resting["last_error"], "the resolver does not answer");
}

/// A store's message disappears when any worker completes a job, but a resolver's must not.
#[tokio::test]
async fn a_worker_with_a_faulty_resolver_is_named_while_others_work() {
    let database = Database::new().await;
    let scan = database.start_sharded(6).await;
    database.work_on(&[JobKind::Warc]).await;
    let lease = async |worker_id: &'static str| {
        database.lease_as(worker_id, &[JobKind::Icon], 1).await.pop().unwrap()
    };
    let release = async |worker_id, reason| {
        let lease = lease(worker_id).await;
        database.worker.release(lease, reason, soon()).await.unwrap();
    };
    let troubles = async || {
        let troubles = status(&database, scan).await["troubles"].clone();
        let named = |trouble: &Value| trouble["holder"].as_str().unwrap().to_owned();
        troubles.as_array().unwrap().iter().map(named).collect::<Vec<_>>()
    };
    release("faulty", "waiting for the resolver: it returned a false result").await;
    database.complete(lease("healthy").await).await;
    assert_eq!(troubles().await, ["faulty"]);
    database.complete(lease("faulty").await).await;
    assert!(troubles().await.is_empty());
    // The store is shared by all workers, so another worker's success ends this message.
    release("faulty", "waiting for the archive: it cannot be reached").await;
    assert_eq!(troubles().await, ["faulty"]);
    database.complete(lease("healthy").await).await;
    assert!(troubles().await.is_empty());
    // If a worker was stopped, its message disappears when no icon jobs are left.
    release("stopped", "waiting for the resolver: no response").await;
    assert_eq!(troubles().await, ["stopped"]);
    database.work_on(&[JobKind::Icon]).await;
    assert!(troubles().await.is_empty());
}
