//! Tests live crawls of a graph of sites: a backup in the middle, and `doctor`.

use std::collections::{BTreeMap, BTreeSet};

use everytab_frontier::{CanonicalUrl, ParameterList};
use everytab_postgres::PrivatePostgres;
use everytab_testbed::{ClosedCrawl, GraphSettings, OracleScope, Settings, SiteGraph};
use serde_json::Value;

use crate::{
    consistency::OwnedDatabase,
    environment::{Database, Internet, Stores, internet_with},
    scrape::{address_of, documented, names, scrape, sum},
    setup::{Running, run, wait_for},
};

/// Returns a small internet with a graph of sites. No failure is temporary, because retries would
/// take a minute.
pub(crate) fn graph_of_sites(seed: u64, hosts: u64, pages: u64) -> Internet {
    internet_with(|scratch| Settings::graph(seed, sites(hosts, pages), scratch))
}

pub(crate) fn sites(hosts: u64, pages: u64) -> GraphSettings {
    GraphSettings { hosts, sites: hosts / 2, pages, unavailable: 0, ..GraphSettings::default() }
}

pub(crate) fn graph(internet: &Internet) -> &SiteGraph {
    internet.running.graph().unwrap()
}

/// Starts a crawl over all sites, with this delay and a directory as its store. Returns the crawl's
/// id.
pub(crate) fn start_crawl(internet: &Internet, database: &Database, delay: &str) -> String {
    let store = internet.folder.path().join("crawls").display().to_string();
    start_crawl_to(&store, internet, database, delay)
}

pub(crate) fn start_crawl_to(
    store: &str,
    internet: &Internet,
    database: &dyn OwnedDatabase,
    delay: &str,
) -> String {
    let seed = graph(internet).url(graph(internet).home(0));
    let mut command = database.owner(&["crawl", "start", "--to", store, "--delay", delay]);
    command.args(["--scope", "any", "--depth", "1000", "--site-pages", "100000", &seed]);
    let started = run(command).expect_code(0);
    started.stdout.split(' ').next().unwrap().to_owned()
}

pub(crate) fn crawler(internet: &Internet, database: &Database, more: &[&str]) -> Running {
    Running::start(
        database.worker(&[&["--role", "crawl", "--own", &own_sites(internet)], more].concat()),
    )
}

pub(crate) fn own_sites(internet: &Internet) -> String {
    let graph = graph(internet);
    (0..graph.sites()).map(|site| graph.site_name(site)).collect::<Vec<_>>().join(",")
}

pub(crate) fn status(database: &dyn OwnedDatabase, id: &str) -> Value {
    let ended = run(database.owner(&["crawl", "status", id, "--json"])).expect_code(0);
    serde_json::from_str(&ended.stdout).unwrap()
}

pub(crate) fn key_of(url: &str) -> String {
    CanonicalUrl::parse(url, &ParameterList::default()).unwrap().key().to_owned()
}

/// Returns the outcome of each URL that a crawl recorded, by normalized key.
pub(crate) fn recorded(database: &dyn OwnedDatabase, id: &str) -> BTreeMap<String, String> {
    let mut recorded = BTreeMap::new();
    let mut after = "0-0-0".to_owned();
    loop {
        let page = run(database.owner(&["crawl", "fetches", id, "--json", "--after", &after]));
        let page = page.expect_code(0).stdout;
        if page.is_empty() {
            return recorded;
        }
        for line in page.lines() {
            let fetch: Value = serde_json::from_str(line).unwrap();
            after = fetch["position"].as_str().unwrap().to_owned();
            let url = fetch["url"].as_str().unwrap();
            let outcome = fetch["outcome"].as_str().unwrap().to_owned();
            assert_eq!(recorded.insert(key_of(url), outcome), None, "{url} is recorded twice");
        }
    }
}

/// Returns the outcomes that a crawl of all sites must have.
pub(crate) fn expected(internet: &Internet) -> BTreeMap<String, String> {
    let graph = graph(internet);
    let fetches = graph.oracle(ClosedCrawl::new(vec![graph.home(0)], OracleScope::Any));
    fetches.map(|fetch| (fetch.url, fetch.outcome.to_owned())).collect()
}

#[test]
fn a_restored_crawl_continues_to_its_end_in_another_server() {
    let internet = graph_of_sites(4, 30, 900);
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    // Use many more transaction ids than a new server has used.
    database.psql(
        "do $$ begin for n in 1..20000 loop
             perform pg_current_xact_id(); commit;
         end loop; end $$",
    );
    let id = start_crawl(&internet, &database, "200ms");
    let mut first = crawler(&internet, &database, &[]);
    wait_for("some pages", || {
        let status = status(&database, &id);
        (status["captured"].as_i64() > Some(20) && status["pending"].as_i64() > Some(0))
            .then_some(())
    });
    let place = format!("file://{}", dir.join("backup").display());
    let made = run(database.owner(&["backup", "--to", &place])).expect_code(0);
    assert!(made.stderr.contains("keep their stores"), "{}", made.stderr);
    first.kill();
    let mut verify = database.owner(&["restore", "--verify", "--from", &place]);
    verify.env_remove("DATABASE_URL");
    assert!(run(verify).expect_code(0).stderr.contains("the backup is intact"));

    let server = PrivatePostgres::start_for_tests().unwrap();
    let restored = Database::on(&server, &internet, Stores::folders(&internet, dir));
    for _ in 0..2 {
        run(restored.owner(&["restore", "--from", &place])).expect_code(0);
    }
    let next = |database: &str| {
        let sql = "select pg_snapshot_xmax(pg_current_snapshot())";
        server.psql(database, sql).unwrap().trim().parse::<i64>().unwrap()
    };
    assert!(next(&restored.name) < 20_000, "the new server's transaction IDs must be lower");
    let before = status(&restored, &id);
    assert_eq!(before["state"], "running");
    assert!(before["captured"].as_i64() > Some(20), "{before}");
    let expected = expected(&internet);
    assert!(
        recorded(&restored, &id).len() < expected.len(),
        "the crawl had already ended at the backup"
    );
    crawler(&internet, &restored, &["--exit-when-done"]).finish().expect_code(0);
    assert_eq!(recorded(&restored, &id), expected);
    let ended = status(&restored, &id);
    assert_eq!((&ended["state"], &ended["ended_by"]), (&"ended".into(), &"empty".into()));
    let number = |name: &str| ended[name].as_i64().unwrap();
    assert_eq!(number("seeds") + number("sent"), number("read"));
    server.erase().unwrap();
}

#[test]
fn a_restore_does_not_drop_the_crawls_of_a_database() {
    let internet = graph_of_sites(5, 4, 20);
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let id = start_crawl(&internet, &database, "1s");
    let place = format!("file://{}", dir.join("backup").display());
    run(database.owner(&["backup", "--to", &place])).expect_code(0);
    let other = Database::new(&internet, Stores::folders(&internet, dir));
    let kept = start_crawl(&internet, &other, "1s");
    let refused = run(other.owner(&["restore", "--from", &place])).expect_code(1);
    assert!(refused.stderr.contains("give a new database"), "{}", refused.stderr);
    let refused = run(other.owner(&["backup", "--to", &place])).expect_code(1);
    assert!(refused.stderr.contains("a backup of other crawls"), "{}", refused.stderr);
    assert_eq!(status(&other, &kept)["seeds"], 1);
    assert_ne!(id, kept);
    let usage = run(other.owner(&["restore", "--from", &place, "--site", "file:///x"]));
    usage.expect_code(2);
}

#[test]
fn a_crawl_can_be_scraped_and_its_counters_begin_at_zero() {
    let internet = graph_of_sites(7, 8, 400);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let id = start_crawl(&internet, &database, "500ms");
    let mut watching = database.owner(&["crawl", "status", &id, "--watch", "--json"]);
    watching.args(["--metrics", "127.0.0.1:0"]).env("EVERYTAB_LOG", "info");
    let watching = Running::start(watching);
    let worker = crawler(&internet, &database, &["--metrics", "127.0.0.1:0"]);
    let (of_worker, of_crawl) = (address_of(&worker), address_of(&watching));
    let series = wait_for("recorded pages", || {
        let series = scrape(&internet, &of_worker);
        let captured = sum(&series, "everytab_crawl_fetches_total", &["state=\"captured\""]);
        let held = sum(&series, "everytab_crawl_slots", &[]);
        (captured > 0.0 && held == 256.0).then_some(series)
    });
    for (name, label) in [
        ("everytab_crawl_fetches_total{", "state=\"left\""),
        ("everytab_crawl_checkpoints_total{", "result=\"lost\""),
        ("everytab_crawl_errors_total{", "call=\"lease\""),
        ("everytab_fetches_total{", "purpose=\"sitemap\""),
    ] {
        let is_one = |full: &str| full.starts_with(name) && full.contains(label);
        let found = series.iter().find(|(full, _)| is_one(full)).map(|(_, value)| *value);
        assert_eq!(found, Some(0.0), "{name}{label}");
    }
    assert!(sum(&series, "everytab_crawl_links_total", &["direction=\"read\""]) > 0.0);
    let watched = wait_for("captured pages of the crawl", || {
        let series = scrape(&internet, &of_crawl);
        let captured = sum(&series, "everytab_crawl_urls", &["state=\"captured\""]);
        (captured > 0.0).then_some(series)
    });
    let mut seen = names(&series);
    seen.extend(names(&watched));
    let is_of_a_crawl = |name: &String| name.starts_with("everytab_crawl_");
    let known = documented().into_values().filter(is_of_a_crawl).collect::<BTreeSet<_>>();
    assert_eq!(seen.into_iter().filter(is_of_a_crawl).collect::<BTreeSet<_>>(), known);
    worker.terminate();
    worker.finish().expect_code(4);
}

#[test]
fn doctor_reports_what_a_crawl_is_missing() {
    let internet = graph_of_sites(6, 4, 20);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let says = |expected: &[&str]| {
        let mut command =
            database.owner(&["doctor", "--user-agent", "Bot/1.0 (+https://bot.page)"]);
        command.env("DATABASE_URL", &database.worker_url);
        let said = run(command).stdout;
        for line in expected {
            assert!(said.lines().any(|said| said.starts_with(line)), "{line}: {said}");
        }
    };
    says(&["ok    live crawls      none is open"]);
    let id = start_crawl(&internet, &database, "1s");
    says(&[
        "ok    live crawls      1 open, 1 running",
        "FAIL  crawl workers    no worker was seen lately; start",
        "ok    slots            0 of 256 held",
        "ok    unread links",
        "ok    clock",
        "ok    User-Agent",
        "ok    crawl store",
    ]);
    let worker = crawler(&internet, &database, &[]);
    wait_for("all slots", || {
        let held = database.psql("select count(*) from everytab.slots where holder is not null");
        (held.trim() == "256").then_some(())
    });
    says(&["ok    crawl workers    1 seen lately", "ok    slots            256 of 256 held"]);
    run(database.owner(&["crawl", "cancel", &id])).expect_code(0);
    worker.terminate();
    worker.finish().expect_code(4);
    database.psql("update everytab.slots set deaths = 2 where slot = 7");
    start_crawl(&internet, &database, "1s");
    let store = internet.folder.path().join("crawls");
    std::fs::remove_dir_all(&store).ok();
    std::fs::write(&store, "").unwrap();
    says(&[
        "FAIL  slots            0 of 256 held; slots 7 lost several workers in a row",
        "FAIL  crawl store",
    ]);
}
