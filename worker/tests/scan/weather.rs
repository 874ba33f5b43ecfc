//! Tests stores that deny access or become unreachable in the middle of a scan. Jobs wait without
//! losing an attempt, and the published bytes do not change.

use std::{
    collections::BTreeMap,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use everytab_patience::LongWait;
use everytab_testbed::{Behaviour, Mix, Storm, Weather};

use crate::{
    consistency::{SMALL_SHARDS, assert_consistent},
    environment::{Database, Internet, Stores, internet, stage},
    outcomes,
    setup::{Running, answering, assert_same, published, run, wait_for},
};

/// Environment variable with the seconds of each storm in [`the_weather_of_an_hour_is_waited_out`].
const STORM_SECONDS: &str = "STORM_SECONDS";

/// Long enough that no lease expires on a busy host. A job is also released if it makes no progress
/// for this long.
const LEASE: &str = "10s";

const HOSTS: u64 = 120;

fn a_few_faults(hosts: u64) -> Internet {
    internet(hosts, Mix::none().with(Behaviour::NotFound, 100_000))
}

/// Returns the files that a scan publishes with working stores, and the number of requests to the
/// bucket.
fn fair(internet: &Internet) -> (BTreeMap<String, Vec<u8>>, u64) {
    let dir = internet.folder.path().join("fair");
    let source = internet.running.client.bucket_url.clone();
    let stores = Stores { source, ..Stores::folders(internet, &dir) };
    let database = Database::new(internet, stores);
    database.start_scan(internet.crawl(), &SMALL_SHARDS);
    let before = internet.running.counts().bucket_requests;
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    (published(&dir.join("site")), internet.running.counts().bucket_requests - before)
}

/// Runs a scan through a storm, which ends `lasting` after `scan status` names the store and the
/// worker has retried it.
fn scan_in(weather: &Weather, storm: Storm, database: &Database, store: &str, lasting: Duration) {
    let what = format!("{storm:?}");
    weather.begin(storm);
    let worker = Running::start(database.worker(&["--exit-when-done"]));
    // A store that responds occasionally is retried less and less often before a job is released.
    let mut wait = LongWait::new();
    loop {
        let status = database.status();
        assert_ne!(status["state"], "finished", "no storm: {what}");
        let troubles = status["troubles"].to_string();
        if troubles.contains(&format!("waiting for the {store}: ")) {
            break;
        }
        wait.note((what.clone(), weather.refused(), status["stages"].clone()));
        std::thread::sleep(Duration::from_millis(100));
    }
    let refused = weather.refused();
    wait_for(&format!("another request, {what}"), || (weather.refused() > refused).then_some(()));
    let shown = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
    assert!(shown.contains("WAITING"), "{shown}");
    std::thread::sleep(lasting);
    // Lease no job while the storm ends. Otherwise, the store could deny a job's request and then
    // respond to the canary, so that the release would count as an attempt.
    run(database.owner(&["scan", "pause"])).expect_code(0);
    wait_for(&format!("all jobs given back, {what}"), || {
        let status = database.status();
        let stages = status["stages"].as_array().expect("stages");
        stages.iter().all(|stage| stage["leased"] == 0).then_some(())
    });
    weather.clear();
    run(database.owner(&["scan", "resume"])).expect_code(0);
    let ended = worker.finish().expect_code(0);
    let named = format!("waiting for the {store}: ");
    assert!(ended.stderr.contains(&named), "{}", ended.stderr);
    assert_consistent(database);
    let status = database.status();
    for event in ["retry", "discard", "expired"] {
        assert!(status["events"][event].is_null(), "{what}: {}", status["events"]);
    }
    assert_eq!(status["troubles"].as_array().map(Vec::len), Some(0), "{}", status["troubles"]);
}

/// Runs a scan through each storm over the source. The storms start while records are read.
fn assert_source_weather_is_waited_out(storms: &[(&str, Storm)], lasting: Duration) {
    let internet = a_few_faults(HOSTS);
    let s3 = internet.s3();
    let (expected, requests) = fair(&internet);
    for (number, (scheme, storm)) in storms.iter().enumerate() {
        let dir = internet.folder.path().join(number.to_string());
        let folders = Stores::folders(&internet, &dir);
        let http = internet.running.client.bucket_url.clone();
        let (stores, weather) = match *scheme {
            "s3" => {
                let source = "s3://crawl".to_owned();
                let s3_endpoint = Some(s3.endpoint.clone());
                (Stores { source, s3: s3_endpoint, ..folders }, &s3.weather)
            }
            _ => (Stores { source: http, ..folders }, &internet.running.bucket_weather),
        };
        let database = Database::new(&internet, stores);
        database.start_scan_with_lease(internet.crawl(), LEASE, &SMALL_SHARDS);
        // A scan's last requests to the source are for the hosts' records.
        let storm = if storm.path.is_empty() {
            storm.clone().after(requests - HOSTS / 2)
        } else {
            storm.clone()
        };
        scan_in(weather, storm, &database, "source", lasting);
        assert_same(&expected, &published(&dir.join("site")), "fair and foul weather");
        outcomes::assert_totals(&dir.join("site"));
    }
}

#[test]
fn refusals_of_the_source_in_mid_stage_discard_no_job_and_change_no_byte() {
    // A 403 over HTTP pauses all requests for tens of seconds, so only the next test includes it.
    let storms = [
        ("http", Storm::of(503)),
        ("s3", Storm::of(503).sparing(900)),
        ("s3", Storm::of(403)),
        // The store responds to the canary, and rejects every record.
        ("s3", Storm::of(403).over("/segments/")),
    ];
    assert_source_weather_is_waited_out(&storms, Duration::ZERO);
}

#[test]
#[ignore = "takes minutes; make weather runs it"]
fn the_weather_of_an_hour_is_waited_out() {
    let seconds = std::env::var(STORM_SECONDS).ok().and_then(|text| text.parse().ok());
    let lasting = Duration::from_secs(seconds.unwrap_or(600));
    let storms = [("http", Storm::of(403)), ("http", Storm::of(503))];
    assert_source_weather_is_waited_out(&storms, lasting);
}

#[test]
fn refusals_of_archive_and_site_discard_no_job_and_change_no_byte() {
    let internet = a_few_faults(HOSTS);
    let s3 = internet.s3();
    let site = internet.folder.path().join("s3/everytab/site");
    let database = Database::new(&internet, Stores::s3(&s3.endpoint));
    database.start_scan(internet.crawl(), &SMALL_SHARDS);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let expected = published(&site);
    for (store, storm) in [
        ("archive", Storm::of(403).over("/everytab/private/archive/")),
        ("archive", Storm::of(503).over("/everytab/private/archive/")),
        ("site", Storm::of(403).over("/everytab/site/scans/")),
    ] {
        let database = Database::new(&internet, Stores::s3(&s3.endpoint));
        database.start_scan_with_lease(internet.crawl(), LEASE, &SMALL_SHARDS);
        scan_in(&s3.weather, storm, &database, store, Duration::ZERO);
        let mut found = published(&site);
        found.remove("canary");
        assert_same(&expected, &found, store);
    }
}

#[test]
fn a_record_that_the_source_refuses_costs_its_host_and_no_other() {
    let internet = a_few_faults(HOSTS);
    let s3 = internet.s3();
    let dir = internet.folder.path();
    let stores = Stores {
        s3: Some(s3.endpoint.clone()),
        source: "s3://crawl".to_owned(),
        ..Stores::folders(&internet, &dir.join("out"))
    };
    let database = Database::new(&internet, stores);
    database.start_scan(internet.crawl(), &SMALL_SHARDS);
    run(database.owner(&["scan", "pause", "--kind", "warc"])).expect_code(0);
    let worker = Running::start(database.worker(&["--exit-when-done"]));
    wait_for("the hosts", || {
        (stage(&database.status(), "index")["outstanding"] == 0).then_some(())
    });
    let offset = database.psql("select min(warc_offset) from everytab.hosts where warc_offset > 0");
    s3.weather.begin(Storm::of(403).over(&format!("bytes={}-", offset.trim())));
    run(database.owner(&["scan", "resume", "--kind", "warc"])).expect_code(0);
    worker.finish().expect_code(0);
    assert_consistent(&database);
    let status = database.status();
    assert!(status["events"]["release"].is_null(), "{}", status["events"]);
    let outcomes = &status["outcomes"]["warc"]["outcomes"];
    let refused = outcomes["warc_refused"].as_u64();
    assert!((Some(1)..=Some(5)).contains(&refused), "{outcomes}");
    outcomes::assert_totals(&dir.join("out/site"));
}

/// The index files contain the same rows, but 28 writers with different settings wrote them. With
/// 120 hosts the two sites would have different numbers of files.
#[test]
fn index_files_of_every_writer_give_the_same_bytes() {
    const WRITER: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/core/commoncrawl/tests/commoncrawl/variants/write.py"
    );
    let python = std::env::var("EVERYTAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", "import pyarrow, duckdb"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no pyarrow and duckdb");
        return;
    }
    let internet = a_few_faults(250);
    let (expected, _) = fair(&internet);
    let bucket = &internet.running.client.bucket_dir;
    let written = Command::new(&python).arg(WRITER).arg(bucket).arg(internet.crawl()).output();
    let written = written.unwrap();
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let files: u64 = String::from_utf8(written.stdout).unwrap().trim().parse().unwrap();
    assert_eq!(files, 28);
    let dir = internet.folder.path().join("variants");
    let source = internet.running.client.bucket_url.clone();
    let stores = Stores { source, ..Stores::folders(&internet, &dir) };
    let database = Database::new(&internet, stores);
    database.start_scan(internet.crawl(), &SMALL_SHARDS);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    assert_eq!(stage(&database.status(), "index")["done"], files);
    assert_same(&expected, &published(&dir.join("site")), "the usual files and all variants");
}

#[test]
fn a_cdn_that_is_away_delays_the_end_of_the_scan_and_discards_nothing() {
    let internet = internet(60, Mix::none());
    let is_fair = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&is_fair);
    let endpoint = answering(move || {
        if asked.load(Ordering::SeqCst) {
            ("201 Created", "<Invalidation><Id>I1</Id></Invalidation>".to_owned())
        } else {
            ("503 Service Unavailable", "<E><Code>ServiceUnavailable</Code></E>".to_owned())
        }
    });
    let dir = internet.folder.path().join("out");
    let database = Database::new(&internet, Stores::folders(&internet, &dir));
    database.start_scan(internet.crawl(), &["--distribution", "E2QWRUHAPOMQZL"]);
    let mut command = database.worker(&["--exit-when-done"]);
    command.env("AWS_ENDPOINT_URL_CLOUDFRONT", endpoint).env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "AK").env("AWS_SECRET_ACCESS_KEY", "SK");
    let worker = Running::start(command);
    wait_for("the CDN in the status", || {
        database.status()["troubles"].to_string().contains("waiting for the cdn: ").then_some(())
    });
    assert!(dir.join("site/manifest.json").exists(), "the site must already be published");
    is_fair.store(true, Ordering::SeqCst);
    worker.finish().expect_code(0);
    assert_consistent(&database);
    let status = database.status();
    assert!(status["events"]["retry"].is_null(), "{}", status["events"]);
    assert!(status["events"]["release"].as_u64() > Some(0), "{}", status["events"]);
}

#[test]
fn a_list_of_index_files_that_comes_late_gives_way_to_the_crawl_before() {
    let internet = a_few_faults(HOSTS);
    let s3 = internet.s3();
    let stores = Stores::s3(&s3.endpoint);
    let database = Database::new(&internet, stores);
    let start = |expected: i32| {
        let mut command = database.owner(&["scan", "start", "--crawl", "latest"]);
        command.args(database.stores.arguments());
        run(command).expect_code(expected)
    };
    for status in [404, 403] {
        s3.weather.begin(Storm::of(status).over(&format!("{}/cc-index-table", internet.crawl())));
        let refused = start(1).stderr;
        assert!(refused.contains("is not in s3://crawl"), "{status}: {refused}");
        s3.weather.clear();
    }
    start(0);
}
