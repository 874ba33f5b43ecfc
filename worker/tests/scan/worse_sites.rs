//! Tests that a worse site does not silently replace a better one or one with an unreadable
//! manifest. A worse site has fewer icons or tabs.

use std::{fs, path::Path, process::Command};

use everytab_testbed::{Behaviour, Mix, Settings};
use serde_json::Value;

use crate::{
    environment::{Database, Internet, Stores, internet, internet_with},
    setup::{Ended, assert_same, files, folder, manifest, run, worker},
};

const HOSTS: u64 = 150;

fn database(internet: &Internet) -> (Database, std::path::PathBuf) {
    let out = internet.folder.path().join("out");
    (Database::new(internet, Stores::folders(internet, &out)), out.join("site"))
}

/// Returns a worker command that uses another internet.
fn worker_in(internet: &Internet, database: &Database) -> Command {
    let mut command = worker(["run", "--exit-when-done"]);
    command.args(internet.running.client.arguments()).env("DATABASE_URL", &database.worker_url);
    command
}

fn stats(site: &Path) -> Value {
    serde_json::from_slice(&fs::read(site.join("stats.json")).unwrap()).unwrap()
}

fn newest(database: &Database) -> String {
    database.status()["scan"].as_str().unwrap().to_owned()
}

fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn a_scan_without_icons_is_rejected_and_a_good_one_counts_unchanged_icons() {
    let internet = internet(HOSTS, Mix::none());
    // The same hosts, whose servers have lost everything.
    let gone = internet_with(|scratch| Settings {
        behaviours: Mix::only(Behaviour::Gone),
        ..Settings::generated(7, HOSTS, scratch)
    });
    let (database, site) = database(&internet);
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let first = newest(&database);
    let before = manifest(&site);
    let icons = before["with_icon"].as_u64().unwrap();
    assert!(icons > 100, "{before}");
    assert_eq!(before["titles"], before["hosts"]);
    let framed = before["framed"].as_u64().unwrap();
    assert!(framed > 0 && Some(framed) < before["titles"].as_u64(), "{before}");
    assert_eq!(before["entries_per_bundle"], 120);
    let counted = stats(&site);
    // Each fetched icon is fresh for 60 days. Icons inside pages have no response, so they do not
    // count.
    let fresh = counted["icons_fresh_for_30_days"].as_u64().unwrap();
    assert!(fresh > 100 && Some(fresh) <= counted["completed"].as_u64(), "{counted}");
    for field in ["icons_fresh_for_90_days", "icons_with_validator", "icons_compared"] {
        assert_eq!(counted[field], 0, "{field}");
    }
    let shown = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
    assert!(!shown.contains("  before") && !shown.contains("! unlike"), "{shown}");
    assert_eq!(database.status().get("before"), None);

    database.start_scan(internet.crawl(), &[]);
    run(worker_in(&gone, &database)).expect_code(3);
    let second = newest(&database);
    assert_eq!(manifest(&site)["scan"], first.as_str());
    let command = format!("`everytab-worker publish --scan {second} --force`");
    let lost = format!("tabs with an icon instead of {icons}");
    let refusal = ["publish refused", "would lose more than 20 %", &lost, &command];
    let shown = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
    assert_says(&shown.replace("\n             ", " "), &refusal);
    let marked = ["ok", "http_404_410"].map(|name| format!("\n! unlike     icon {name}: "));
    assert_says(&shown, &["\n  before     ", &marked[0], &marked[1], " % before\n"]);
    let status = database.status();
    assert_eq!(status["before"]["scan"], first.as_str());
    let unlike = status["unlike"].as_array().unwrap();
    let names: Vec<&Value> = unlike.iter().map(|outcome| &outcome["outcome"]).collect();
    assert!(names.contains(&&Value::from("ok")), "{unlike:?}");
    let publish = ["publish", "--scan", &second];
    let refused = run(database.owner(&publish)).expect_code(1).stderr;
    assert_says(&refused, &refusal);
    run(database.owner(&[&publish[..], &["--force"]].concat())).expect_code(0);
    let worse = manifest(&site);
    assert_eq!(worse["scan"], second.as_str());
    assert!(worse["with_icon"].as_u64().unwrap() * 5 < icons, "{worse}");

    run(database.owner(&["publish", "--scan", &first, "--force"])).expect_code(0);
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    assert_ne!(manifest(&site)["scan"], first.as_str());
    // Publishing a scan again keeps these counts.
    let assert_counted = || {
        let counted = stats(&site);
        assert_eq!(counted["icons_compared"], icons, "{counted}");
        assert_eq!(counted["icons_unchanged"], icons, "{counted}");
    };
    assert_counted();
    run(database.owner(&["publish"])).expect_code(0);
    assert_counted();
    run(database.owner(&["scan", "retry", "--kind", "map"])).expect_code(0);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    assert_counted();
    // They are also in the database, so they remain if the site loses them.
    fs::remove_file(site.join("stats.json")).unwrap();
    run(database.owner(&["publish"])).expect_code(0);
    assert_counted();
}

#[test]
fn a_published_scan_with_worse_results_after_a_retry_does_not_change_its_site() {
    let internet = internet(HOSTS, Mix::none());
    let gone = internet_with(|scratch| Settings {
        behaviours: Mix::only(Behaviour::Gone),
        ..Settings::generated(7, HOSTS, scratch)
    });
    let (database, site) = database(&internet);
    database.start_scan(internet.crawl(), &["--entries-per-bundle", "20"]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let scan = newest(&database);
    let icons = manifest(&site)["with_icon"].as_u64().unwrap();
    let published = files(&site);
    let retry = |outcome| {
        run(database.owner(&["scan", "retry", "--outcome", outcome])).expect_code(0);
    };
    let assert_refused = |parts: &[&str]| {
        let shown = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
        assert_says(&shown.replace("\n             ", " "), parts);
        assert_same(&files(&site), &published, "the site");
    };

    // Most servers have lost the icons.
    retry("ok");
    run(worker_in(&gone, &database)).expect_code(3);
    let reason =
        ["shows this scan, and shard ", " tabs with an icon instead of ", "more than 20 %"];
    assert_refused(&[&reason[..], &["publish refused", "repeat the `scan retry`"]].concat());

    // First repair the results. Then make them worse again, and accept them by removing the
    // manifest.
    retry("http_404_410");
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    assert_eq!(manifest(&site)["with_icon"], icons);
    retry("ok");
    run(worker_in(&gone, &database)).expect_code(3);
    fs::remove_file(site.join("manifest.json")).unwrap();
    run(database.owner(&["scan", "retry", "--kind", "bundle-shard"])).expect_code(0);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let worse = manifest(&site);
    assert_eq!(worse["scan"], scan.as_str());
    assert!(worse["with_icon"].as_u64().unwrap() * 5 < icons, "{worse}");
}

#[test]
fn a_scan_sets_how_much_the_site_may_lose() {
    let internet = internet(HOSTS, Mix::none());
    let (database, site) = database(&internet);
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    // This limit keeps two thirds of the hosts.
    let limit = ["--limit", "100"];
    database.start_scan(internet.crawl(), &limit);
    run(database.worker(&["--exit-when-done"])).expect_code(3);
    database.start_scan(internet.crawl(), &[&limit[..], &["--max-loss", "60"]].concat());
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    assert_eq!(manifest(&site)["scan"], newest(&database).as_str());
    let refused = ["scan", "start", "--crawl", internet.crawl(), "--max-loss", "100"];
    let mut refused = database.owner(&refused);
    refused.args(database.stores.arguments());
    assert_says(&run(refused).expect_code(2).stderr, &["--max-loss", "0..=99"]);
}

#[test]
fn an_unreadable_manifest_is_replaced_only_with_force() {
    let internet = internet(60, Mix::none());
    let (database, site) = database(&internet);
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let path = site.join("manifest.json");
    let whole = fs::read(&path).unwrap();
    for damaged in [&whole[..whole.len() / 2], b"", b"{}"] {
        fs::write(&path, damaged).unwrap();
        let scan = newest(&database);
        let refusal = [
            "publish refused",
            "manifest.json cannot be parsed",
            "restore the correct manifest.json or remove it",
            &format!("`everytab-worker publish --scan {scan} --force`"),
        ];
        let refused = run(database.owner(&["publish"])).expect_code(1).stderr;
        assert_says(&refused, &refusal);
        assert_eq!(fs::read(&path).unwrap(), damaged);
        // The publish job is rejected, too.
        let retry = ["scan", "retry", "--kind", "publish"];
        run(database.owner(&retry)).expect_code(0);
        run(database.worker(&["--exit-when-done"])).expect_code(3);
        let shown = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
        assert_says(&shown.replace("\n             ", " "), &refusal);
        assert_eq!(fs::read(&path).unwrap(), damaged);
        run(database.owner(&["publish", "--force"])).expect_code(0);
        assert_eq!(manifest(&site)["scan"], scan.as_str());
    }
}

/// The site may be showing this scan, so its bundles must not be rewritten before publishing is
/// rejected.
#[test]
fn a_published_scan_with_an_unreadable_manifest_keeps_its_bundles_after_a_retry() {
    let internet = internet(60, Mix::none());
    let gone = internet_with(|scratch| Settings {
        behaviours: Mix::only(Behaviour::Gone),
        ..Settings::generated(7, 60, scratch)
    });
    let (database, site) = database(&internet);
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let scan = newest(&database);
    let path = site.join("manifest.json");
    let whole = fs::read(&path).unwrap();
    let icons = manifest(&site)["with_icon"].clone();
    let changed = |change: fn(&mut serde_json::Map<String, Value>)| {
        let mut changed: Value = serde_json::from_slice(&whole).unwrap();
        change(changed.as_object_mut().unwrap());
        changed.to_string().into_bytes()
    };
    let mut bundles = files(&site);
    bundles.retain(|name, _| name.contains("/tabs/") || name.contains("/icons/"));
    assert!(bundles.keys().any(|name| name.contains("/tabs/0.json")), "{:?}", bundles.keys());
    let reason = "manifest.json cannot be parsed";
    let damages = [
        (whole[..whole.len() / 2].to_vec(), reason),
        (b"null".to_vec(), reason),
        // A field of the wrong type, a missing field, and an invalid prefix.
        (changed(|manifest| drop(manifest.insert("bundles".into(), "all".into()))), reason),
        (changed(|manifest| drop(manifest.remove("hosts"))), reason),
        (
            changed(|manifest| drop(manifest.insert("prefix".into(), "scans".into()))),
            "trailing slash",
        ),
    ];
    let retry = |option, value| {
        run(database.owner(&["scan", "retry", option, value])).expect_code(0);
    };
    for (damaged, reason) in damages {
        fs::write(&path, &damaged).unwrap();
        // All servers have lost the icons.
        retry("--outcome", "ok");
        run(worker_in(&gone, &database)).expect_code(3);
        let shown = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
        let remedy =
            "restore the correct manifest.json or remove it and `scan retry --kind bundle-shard`";
        let refused = [reason, remedy, "publish refused"];
        assert_says(&shown.replace("\n             ", " "), &refused);
        let mut left = files(&site);
        left.retain(|name, _| bundles.contains_key(name));
        assert_same(&left, &bundles, "the bundles");
        assert_eq!(fs::read(&path).unwrap(), damaged);

        fs::write(&path, &whole).unwrap();
        retry("--outcome", "http_404_410");
        run(database.worker(&["--exit-when-done"])).expect_code(0);
        assert_eq!(manifest(&site)["with_icon"], icons);
    }

    // A scan that the site does not show is bundled, and published once the manifest is repaired.
    fs::write(&path, b"{").unwrap();
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(3);
    fs::write(&path, &whole).unwrap();
    retry("--kind", "publish");
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let later = manifest(&site);
    assert_ne!(later["scan"], scan.as_str());
    assert_eq!(later["with_icon"], icons);
}

/// These lists only serve to count unchanged icons, so damage must not prevent publishing.
#[test]
fn a_damaged_icon_list_of_the_published_scan_does_not_prevent_publishing_the_next() {
    let internet = internet(60, Mix::none());
    let (database, site) = database(&internet);
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let lists = site.join(manifest(&site)["prefix"].as_str().unwrap()).join("icons");
    for list in fs::read_dir(&lists).unwrap() {
        fs::write(list.unwrap().path(), "damaged\n").unwrap();
    }
    database.start_scan(internet.crawl(), &[]);
    let ended = run(database.worker(&["--exit-when-done"])).expect_code(0);
    assert_says(&ended.stderr, &["WARN", "publishing without the number of unchanged icons"]);
    assert_eq!(manifest(&site)["scan"], newest(&database).as_str());
    assert_eq!(stats(&site)["icons_compared"], 0);
}

#[test]
fn a_finished_local_scan_publishes_a_lost_manifest_but_rejects_a_damaged_one() {
    let folder = folder();
    let dir = folder.path().display().to_string();
    let local = || -> Ended {
        let sample = ["--sample", "--sample-hosts", "40", "--sample-mix", "none"];
        let command = ["local", "--dir", &dir, "--exit-when-done"];
        run(worker([&command[..], &sample].concat()))
    };
    local().expect_code(0);
    let path = folder.path().join("site/manifest.json");
    let scan = manifest(&folder.path().join("site"))["scan"].clone();
    fs::write(&path, "{").unwrap();
    // The command repeats this message in every run.
    for _ in 0..2 {
        let refused = local().expect_code(3).stderr;
        assert_says(&refused, &["publish refused", "manifest.json cannot be parsed"]);
        assert_says(&refused, &["remove the site's manifest.json", "run the same command again"]);
        assert_eq!(fs::read(&path).unwrap(), b"{");
    }
    fs::remove_file(&path).unwrap();
    local().expect_code(0);
    assert_eq!(manifest(&folder.path().join("site"))["scan"], scan);
    fs::remove_file(&path).unwrap();
    local().expect_code(0);
    assert_eq!(manifest(&folder.path().join("site"))["scan"], scan);
}
