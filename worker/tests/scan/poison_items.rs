//! Tests that an item that kills each worker that processes it costs only this item.
//!
//! The first tests kill each worker when it requests the item. Decoders have separate processes,
//! which a debug build can make crash.

use std::{collections::BTreeSet, thread, time::Duration};

use everytab_testbed::{Behaviour, Latency, Mix, Settings};
use serde_json::Value;

use crate::{
    environment::{Database, Internet, Stores, internet, internet_with},
    outcomes,
    setup::{Running, run, tabs, wait_for},
};

/// Maximum number of killed workers: three until the job runs under isolation, three for each item,
/// and some more on a slow host.
const MAX_DEATHS: usize = 40;

/// Runs one worker after the other, and kills each when `is_poisoned` returns true. Returns how
/// many were killed before one finished the scan.
fn deaths_until_the_end(database: &Database, mut is_poisoned: impl FnMut() -> bool) -> usize {
    for deaths in 0..MAX_DEATHS {
        let mut running = Running::start(database.worker(&["--exit-when-done"]));
        let ended = wait_for("the worker's death or the scan's end", || {
            if running.has_ended() {
                return Some(true);
            }
            is_poisoned().then_some(false)
        });
        if ended {
            running.finish().expect_code(0);
            return deaths;
        }
        running.kill();
    }
    panic!("{MAX_DEATHS} workers died, and the scan is not finished");
}

fn undisturbed(internet: &Internet, more: &[&str]) -> (Value, Vec<Value>) {
    let dir = internet.folder.path().join("undisturbed");
    let database = Database::new(internet, Stores::folders(internet, &dir));
    database.start_scan(internet.crawl(), more);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    (database.status(), tabs(&dir.join("site")))
}

#[test]
fn a_page_that_kills_its_worker_costs_only_this_page() {
    let internet = internet(60, Mix::none());
    let (_, expected) = undisturbed(&internet, &[]);
    let (proxy, stores) = internet.behind_proxy(internet.folder.path());
    let database = Database::new(&internet, stores);
    database.start_scan(internet.crawl(), &[]);
    let mut index = Running::start(database.worker(&["--role", "index"]));
    let is_indexed = "select count(*) from everytab.stages where kind = 'warc' and outstanding > 0";
    wait_for("the hosts", || (database.psql(is_indexed).trim() == "1").then_some(()));
    index.kill();
    let poison =
        "select hostname || ' bytes=' || warc_offset || '-' || warc_offset + warc_length - 1
                    from everytab.hosts where warc_offset > 0 order by hash limit 1";
    let poison = database.psql(poison);
    let (hostname, range) = poison.trim().split_once(' ').unwrap();
    proxy.hold("GET", range.to_owned().leak(), 0);
    let deaths = deaths_until_the_end(&database, || proxy.take_held());
    assert!(deaths >= 6, "three deaths until isolation, three of the item: {deaths}");

    let status = database.status();
    assert_eq!(status["state"], "finished", "{status}");
    assert_eq!(status["outcomes"]["warc"]["outcomes"]["crashed"], 1, "{status}");
    outcomes::assert_totals(&internet.folder.path().join("site"));
    let left = tabs(&internet.folder.path().join("site"));
    let url = |tab: &Value| tab["url"].as_str().unwrap().to_owned();
    let lost: Vec<String> = expected.iter().filter(|tab| !left.contains(tab)).map(url).collect();
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert!(lost.iter().all(|lost| lost.ends_with(&format!("://{hostname}"))), "{lost:?}");
    assert_eq!(left.len() + 1, expected.len());
}

#[test]
fn an_icon_that_kills_its_worker_costs_only_this_icon() {
    let internet_of = |slow: Duration| {
        internet_with(|scratch| Settings {
            behaviours: Mix::none().with(Behaviour::Slow, 60_000),
            latency: Latency { slow_at_least: slow, slow_at_most: slow, ..Latency::default() },
            ..Settings::generated(7, 15, scratch)
        })
    };
    let answering = internet_of(Duration::ZERO);
    answering.running.keep_access_log();
    let (before, expected) = undisturbed(&answering, &["--robots", "off"]);
    // On a busy host a late worker may request a URL twice, so count distinct ones.
    let mut slow_urls: BTreeSet<_> = answering.running.access_log().into_iter().collect();
    slow_urls.retain(|(host, _)| answering.running.behaviour(host) == Behaviour::Slow);
    let poisoned = slow_urls.len() as u64;
    assert!((1..=4).contains(&poisoned), "{poisoned} URLs of slow hosts: choose another share");
    // The same hosts, but a slow one responds only after its worker has been killed.
    let internet = internet_of(Duration::from_secs(60));
    let seen = || {
        let requests = internet.running.counts().requests;
        requests.get(&Behaviour::Slow).copied().unwrap_or(0)
    };
    let dir = internet.folder.path().join("poisoned");
    let database = Database::new(&internet, Stores::folders(&internet, &dir));
    database.start_scan(internet.crawl(), &["--robots", "off"]);
    let mut known = seen();
    let deaths = deaths_until_the_end(&database, || {
        // Count the killed worker's requests before the next worker starts.
        let now = seen();
        let is_poisoned = now > known;
        if is_poisoned {
            thread::sleep(Duration::from_millis(50));
        }
        known = seen();
        is_poisoned
    });
    assert!(deaths >= 6, "three deaths until isolation, three of an item: {deaths}");

    let status = database.status();
    assert_eq!(status["state"], "finished", "{status}");
    let icon = |status: &Value, name: &str| status["outcomes"]["icon"]["outcomes"][name].as_u64();
    assert_eq!(icon(&status, "crashed"), Some(poisoned), "{}", status["outcomes"]["icon"]);
    assert_eq!(
        icon(&status, "ok").map(|ok| ok + poisoned),
        icon(&before, "ok"),
        "{}",
        status["outcomes"]["icon"]
    );
    outcomes::assert_totals(&dir.join("site"));
    let left = tabs(&dir.join("site"));
    assert_eq!(left.len(), expected.len(), "the host must keep its tab without this icon");
    let changed = expected.iter().zip(&left).filter(|(before, after)| before != after).count();
    assert!((1..=poisoned).contains(&(changed as u64)), "{changed} tabs changed");
}

/// Corrupt icons crash their decoder in several ways. The worker survives, and the published files
/// do not change.
#[test]
fn a_decoder_that_crashes_costs_its_icon_alone() {
    let internet = internet(40, Mix::none().with(Behaviour::BrokenImage, 300_000));
    let published = |name: &str, fault: Option<&str>| {
        let dir = internet.folder.path().join(name);
        let database = Database::new(&internet, Stores::folders(&internet, &dir));
        database.start_scan(internet.crawl(), &["--robots", "off"]);
        let mut worker = database.worker(&["--exit-when-done"]);
        if let Some(fault) = fault {
            worker.env("EVERYTAB_TEST_DECODER", fault);
        }
        let said = run(worker);
        said.expect_code(0);
        outcomes::assert_totals(&dir.join("site"));
        let failed = database.status()["outcomes"]["bundle-shard"]["counts"].clone();
        (tabs(&dir.join("site")), failed)
    };
    let failed = |counts: &Value, reason: &str| {
        counts[format!("conversion_failed_{reason}")].as_u64().unwrap_or_default()
    };
    let (expected, counts) = published("corrupt", None);
    let corrupt = failed(&counts, "image_corrupt");
    assert!(corrupt > 3 && failed(&counts, "crashed") == 0, "{counts}");
    for fault in ["abort", "allocate", "file", "socket"] {
        let (tabs, counts) = published(fault, Some(fault));
        assert_eq!(failed(&counts, "crashed"), corrupt, "{fault}: {counts}");
        assert_eq!(failed(&counts, "image_corrupt"), 0, "{fault}: {counts}");
        assert_eq!(tabs, expected, "{fault}");
    }
}
