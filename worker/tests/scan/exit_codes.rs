//! Tests a worker's exit codes, and the queue's state after each: 0 or 3 when the scan has ended, 4
//! after a signal, and 1 after a stalled job.

use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt as _, path::Path};

use everytab_testbed::{Behaviour, Mix};

use crate::{
    environment::{Database, Stores, copy_folder, internet, stage},
    setup::{Running, assert_same, files, published, run, wait_for},
};

#[test]
fn a_worker_that_gets_a_signal_releases_its_leases_uncounted_and_exits_4() {
    let internet = internet(150, Mix::none());
    let (proxy, database) = internet.held_scan();
    let running = Running::start(database.worker(&["--exit-when-done", "--drain", "300ms"]));
    proxy.wait_until_held();
    assert!(stage(&database.status(), "warc")["leased"].as_u64() > Some(0));
    running.terminate();
    let ended = running.finish().expect_code(4);
    let status = database.status();
    assert_eq!(stage(&status, "warc")["leased"], 0, "{status}\n{}", ended.stderr);
    assert_eq!(status["state"], "running");
    let counted = "select coalesce(sum(attempts), 0) || ' ' || coalesce(sum(crashes), 0)
                     from everytab.jobs where kind = 'warc'";
    assert_eq!(database.psql(counted).trim(), "0 0");
    assert!(status["events"]["release"].as_u64() > Some(0), "{}", status["events"]);
    proxy.release();
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    assert_eq!(database.status()["state"], "finished");
}

#[test]
fn a_worker_that_gets_a_signal_finishes_the_jobs_that_it_can() {
    let slow = Mix::none().with(Behaviour::Slow, 500_000);
    let internet = internet(150, slow);
    let stores = Stores::folders(&internet, internet.folder.path());
    let database = Database::new(&internet, stores);
    database.start_scan(internet.crawl(), &[]);
    let running = Running::start(database.worker(&["--exit-when-done"]));
    wait_for("a leased icon job", || {
        (stage(&database.status(), "icon")["leased"].as_u64() > Some(0)).then_some(())
    });
    running.terminate();
    running.finish().expect_code(4);
    let status = database.status();
    assert!(stage(&status, "icon")["done"].as_u64() > Some(0), "{status}");
    assert_eq!(stage(&status, "icon")["leased"], 0, "{status}");
    assert_eq!(status["events"]["release"], serde_json::Value::Null, "{}", status["events"]);
}

#[test]
fn a_truncated_index_file_is_named_the_others_are_scanned_and_a_retry_completes_the_scan() {
    let internet = internet(250, Mix::none());
    let dir = internet.folder.path();
    let bucket = dir.join("damaged");
    copy_folder(&internet.running.client.bucket_dir, &bucket);
    let name = truncate_an_index_file(&bucket);
    let database = Database::new(&internet, Stores::folders_of(&bucket, &dir.join("out")));
    database.start_scan(internet.crawl(), &[]);
    let ended = run(database.worker(&["--exit-when-done"])).expect_code(3);
    let status = database.status();
    assert_eq!(status["state"], "finished_with_discards", "{status}");
    assert_eq!(stage(&status, "index")["discarded"], 1);
    assert_eq!(stage(&status, "index")["done"], 2);
    let said = status["errors"].to_string();
    assert!(said.contains(&name), "{said}\n{}", ended.stderr);
    let line = ended.stderr.lines().find(|line| line.contains(&name)).unwrap_or_default();
    assert!(line.contains("discarding the job"), "{}", ended.stderr);
    let without_file = published(&dir.join("out/site"));

    // Once the file is repaired, the discarded job and those that depend on it can run again.
    copy_folder(&internet.running.client.bucket_dir, &bucket);
    run(database.owner(&["scan", "retry"])).expect_code(0);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    assert_eq!(database.status()["state"], "finished");
    let whole = Database::new(&internet, Stores::folders(&internet, &dir.join("whole")));
    whole.start_scan(internet.crawl(), &[]);
    run(whole.worker(&["--exit-when-done"])).expect_code(0);
    let expected = published(&dir.join("whole/site"));
    assert_ne!(expected, without_file, "the damaged file contained no hosts");
    assert_same(&expected, &published(&dir.join("out/site")), "whole and repaired");
}

fn truncate_an_index_file(bucket: &Path) -> String {
    let found = files(&bucket.join("cc-index"));
    let (name, bytes) = found
        .iter()
        .find(|(name, _)| name.contains("subset=warc") && name.contains("part-00001"))
        .unwrap();
    let path = bucket.join("cc-index").join(name);
    fs::write(&path, bytes.get(..bytes.len() / 2).unwrap()).unwrap();
    path.file_name().unwrap().display().to_string()
}

#[test]
fn a_stalled_job_is_released_and_its_worker_ends() {
    let internet = internet(150, Mix::none());
    let (proxy, database) = internet.held_scan();
    let ended = run(database.worker(&["--exit-when-done", "--stall-limit", "1s"])).expect_code(1);
    assert!(ended.stderr.contains("the job made no progress for too long"), "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: a job made no progress"), "{last}");
    proxy.release();
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let status = database.status();
    assert_eq!(status["state"], "finished");
    assert!(status["events"]["expired"].as_u64() > Some(0), "{}", status["events"]);
}

#[test]
fn publishing_again_writes_only_what_has_changed() {
    let internet = internet(60, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let site = dir.join("site");
    // A write replaces the file, so its inode changes.
    let inodes = || -> BTreeMap<String, u64> {
        let inode = |name: &String| fs::metadata(site.join(name)).unwrap().ino();
        files(&site).into_keys().map(|name| (name.clone(), inode(&name))).collect()
    };
    let written_by = |change: &dyn Fn()| -> Vec<String> {
        let before = inodes();
        change();
        run(database.owner(&["publish"])).expect_code(0);
        let after = inodes();
        after
            .into_iter()
            .filter(|(name, inode)| before.get(name) != Some(inode))
            .map(|p| p.0)
            .collect()
    };
    assert_eq!(written_by(&|| {}), ["history.json", "manifest.json", "stats.json"]);
    let page = "index.html";
    let whole = fs::read(site.join(page)).unwrap();
    let found = written_by(&|| fs::write(site.join(page), "of another version").unwrap());
    assert_eq!(found, ["history.json", page, "manifest.json", "stats.json"]);
    assert_eq!(fs::read(site.join(page)).unwrap(), whole);
}
