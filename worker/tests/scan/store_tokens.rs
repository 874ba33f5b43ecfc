//! Tests store tokens: a worker whose disk at a store's path is not the scan's must not write
//! there. The tokens remain as long as the scan's rows.

use std::{fs, path::Path, process::Command};

use everytab_postgres::shared_for_tests;
use everytab_testbed::Mix;

use crate::{
    environment::{Database, Internet, Stores, internet, stage},
    setup::{Running, assert_same, files, published, run, wait_for},
};

/// Long enough that no lease expires on a busy host.
const LEASE: &str = "10s";

fn scan_id(database: &Database) -> String {
    database.psql("select max(scan_id::text) from everytab.scans").trim().to_owned()
}

fn trouble_of(database: &Database, store: &str) -> String {
    wait_for(&format!("the {store} to be named"), || {
        let troubles = database.status()["troubles"].to_string();
        troubles.contains(&format!("waiting for the {store}: ")).then_some(troubles)
    })
}

fn assert_nothing_was_lost(database: &Database) {
    let status = database.status();
    assert_eq!(status["state"], "finished", "{status}");
    for event in ["retry", "discard", "expired"] {
        assert!(status["events"][event].is_null(), "{}", status["events"]);
    }
}

#[test]
fn a_worker_with_another_disk_at_a_stores_path_performs_no_job_there() {
    let internet = internet(60, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    database.start_scan_with_lease(internet.crawl(), LEASE, &[]);
    let token = format!(".everytab/{}", scan_id(&database));
    for (store, kinds) in [("archive", "icon"), ("site", "bundle-shard")] {
        let (here, away) = (dir.join(store), dir.join(format!("{store} elsewhere")));
        assert!(here.join(&token).exists());
        fs::rename(&here, &away).unwrap();
        // Another scan's token.
        let other = here.join(".everytab/01900000-0000-7000-8000-000000000001");
        fs::create_dir_all(other.parent().unwrap()).unwrap();
        fs::write(&other, "").unwrap();
        let worker = Running::start(database.worker(&["--exit-when-done"]));
        let said = trouble_of(&database, store);
        for part in [here.to_str().unwrap(), "is not the scan's store", &token, "mount"] {
            assert!(said.contains(part), "{said}");
        }
        let status = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
        assert!(status.contains("WAITING"), "{status}");
        let sql = format!("select count(*) from everytab.job_results where kind = '{kinds}'");
        assert_eq!(database.psql(&sql).trim(), "0");
        assert_eq!(files(&here).len(), 1, "{:?}", files(&here).keys());
        fs::remove_dir_all(&here).unwrap();
        fs::rename(&away, &here).unwrap();
        if store == "archive" {
            worker.terminate();
            worker.finish().expect_code(4);
        } else {
            // The worker checks the store again, and continues without a restart.
            worker.finish().expect_code(0);
        }
    }
    assert_nothing_was_lost(&database);
    assert!(!published(&dir.join("site")).is_empty());
}

#[test]
fn a_worker_with_a_wrong_store_for_one_scan_works_for_the_next_one() {
    let internet = internet(20, Mix::none());
    let dir = internet.folder.path();
    let mut database = Database::new(&internet, Stores::folders(&internet, &dir.join("first")));
    database.start_scan_with_lease(internet.crawl(), LEASE, &[]);
    fs::rename(dir.join("first/archive"), dir.join("elsewhere")).unwrap();
    let worker = Running::start(database.worker(&[]));
    trouble_of(&database, "archive");
    run(database.owner(&["scan", "cancel"])).expect_code(0);
    database.stores = Stores::folders(&internet, &dir.join("second"));
    database.start_scan_with_lease(internet.crawl(), LEASE, &[]);
    wait_for("the second scan", || (database.status()["state"] == "finished").then_some(()));
    assert_nothing_was_lost(&database);
    worker.terminate();
    worker.finish().expect_code(4);
}

#[test]
fn publish_does_not_write_to_another_disk_at_the_sites_path() {
    let internet = internet(20, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let scan = finished_scan(&internet, &database);
    let (site, away) = (dir.join("site"), dir.join("elsewhere"));
    fs::rename(&site, &away).unwrap();
    for more in [&[][..], &["--force"]] {
        let command = database.owner(&[&["publish"][..], more].concat());
        let refused = run(command).expect_code(1).stderr;
        for part in ["publish refused", "is not the scan's store", &scan, "mount"] {
            assert!(refused.contains(part), "{refused}");
        }
        assert!(!site.exists());
    }
    fs::rename(&away, &site).unwrap();
    run(database.owner(&["publish"])).expect_code(0);
}

#[test]
fn nothing_is_written_to_a_stores_path_after_its_disk_is_lost() {
    let internet = internet(60, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    database.start_scan_with_lease(internet.crawl(), LEASE, &[]);
    let stage_verb = |verb, kind| {
        run(database.owner(&["scan", verb, "--kind", kind])).expect_code(0);
    };
    for kind in ["bundle-shard", "search", "map"] {
        stage_verb("pause", kind);
    }
    // The worker has used each store before its disk is lost.
    let worker = Running::start(database.worker(&["--exit-when-done"]));
    for (store, done, next) in
        [("archive", "icon", "bundle-shard"), ("site", "bundle-shard", "search")]
    {
        wait_for(&format!("all jobs of {done}"), || {
            let status = database.status();
            let of_kind = stage(&status, done);
            (of_kind["done"].as_u64() > Some(0) && of_kind["outstanding"] == 0).then_some(())
        });
        let (here, away) = (dir.join(store), dir.join(format!("{store} elsewhere")));
        fs::rename(&here, &away).unwrap();
        fs::create_dir(&here).unwrap();
        stage_verb("resume", next);
        let said = trouble_of(&database, store);
        assert!(said.contains("is not the scan's store"), "{said}");
        let sql = format!("select count(*) from everytab.job_results where kind = '{next}'");
        assert_eq!(database.psql(&sql).trim(), "0");
        assert!(files(&here).is_empty(), "{:?}", files(&here).keys());
        fs::remove_dir(&here).unwrap();
        fs::rename(&away, &here).unwrap();
    }
    stage_verb("resume", "map");
    worker.finish().expect_code(0);
    assert_nothing_was_lost(&database);
}

#[test]
fn a_host_with_other_disks_cannot_back_up_or_list_requests() {
    let internet = internet(40, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    finished_scan(&internet, &database);
    let place = dir.join("backup");
    let backup = ["backup", "--to", &format!("file://{}", place.display())];
    run(database.owner(&backup)).expect_code(0);
    let good = files(&place);
    let host = database.psql("select min(hostname) from everytab.pages");
    let requests = ["scan", "requests", host.trim()];
    run(database.owner(&requests)).expect_code(0);
    // A retry changes the scan's row, so its backup must be written again.
    run(database.owner(&["scan", "retry", "--kind", "publish"])).expect_code(0);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    for store in ["archive", "site"] {
        let (here, away) = (dir.join(store), dir.join("away"));
        fs::rename(&here, &away).unwrap();
        fs::create_dir(&here).unwrap();
        let refused = run(database.owner(&backup)).expect_code(1).stderr;
        for part in [here.to_str().unwrap(), "is not the scan's store", "mount"] {
            assert!(refused.contains(part), "{refused}");
        }
        assert_same(&files(&place), &good, "the backup");
        if store == "archive" {
            let refused = run(database.owner(&requests)).expect_code(1).stderr;
            assert!(refused.contains("is not the scan's store"), "{refused}");
        }
        fs::remove_dir(&here).unwrap();
        fs::rename(&away, &here).unwrap();
    }
    run(database.owner(&backup)).expect_code(0);
}

#[test]
fn a_bucket_without_the_scans_token_is_rejected_too() {
    let internet = internet(40, Mix::none());
    let s3 = internet.s3();
    let database = Database::new(&internet, Stores::s3(&s3.endpoint));
    database.start_scan_with_lease(internet.crawl(), LEASE, &[]);
    let bucket = internet.folder.path().join("s3/everytab");
    let token = bucket.join("private/.everytab").join(scan_id(&database));
    let bytes = fs::read(&token).unwrap();
    assert!(bucket.join("site/.everytab").join(scan_id(&database)).exists());
    fs::remove_file(&token).unwrap();
    let worker = Running::start(database.worker(&["--exit-when-done"]));
    let said = trouble_of(&database, "archive");
    assert!(said.contains("s3://everytab/private/.everytab/"), "{said}");
    let put = bucket.join("private/archive");
    assert!(!put.exists() || files(&put).keys().all(|name| !name.ends_with(".warc.gz")));
    fs::write(&token, bytes).unwrap();
    worker.finish().expect_code(0);
    assert_nothing_was_lost(&database);
}

fn with_token(dir: &Path, scan: &str) -> Vec<&'static str> {
    let holds = |store: &&str| dir.join(store).join(".everytab").join(scan).exists();
    ["archive", "site"].into_iter().filter(holds).collect()
}

fn finished_scan(internet: &Internet, database: &Database) -> String {
    database.start_scan(internet.crawl(), &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    scan_id(database)
}

#[test]
fn tokens_remain_as_long_as_the_scans_rows() {
    let internet = internet(20, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let first = finished_scan(&internet, &database);
    let second = finished_scan(&internet, &database);
    run(database.owner(&["scan", "gc", "--keep", "0"])).expect_code(0);
    assert!(!dir.join("site/scans").join(&first).exists());
    assert_eq!(with_token(dir, &first), ["archive", "site"]);
    let drop = ["scan", "gc", "--keep", "0", "--drop-rows"];
    run(database.owner(&[&drop[..], &["--dry-run"]].concat())).expect_code(0);
    assert_eq!(with_token(dir, &first), ["archive", "site"]);
    run(database.owner(&drop)).expect_code(0);
    assert!(with_token(dir, &first).is_empty());
    assert_eq!(with_token(dir, &second), ["archive", "site"]);
}

#[test]
fn a_token_that_cannot_be_deleted_is_named_and_the_rest_of_the_scan_is_dropped() {
    let internet = internet(20, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let first = finished_scan(&internet, &database);
    finished_scan(&internet, &database);
    // A store deletes nothing outside its directory.
    let tokens = dir.join("archive/.everytab");
    fs::rename(&tokens, dir.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(dir.join("elsewhere"), &tokens).unwrap();
    let gc = run(database.owner(&["scan", "gc", "--keep", "0", "--drop-rows"])).expect_code(0);
    for part in ["remains", &format!(".everytab/{first}"), dir.join("archive").to_str().unwrap()] {
        assert!(gc.stderr.contains(part), "{}", gc.stderr);
    }
    assert_eq!(with_token(dir, &first), ["archive"]);
    assert_eq!(database.psql("select count(*) from everytab.scans").trim(), "1");
}

#[test]
fn a_scan_that_does_not_start_leaves_no_token() {
    let internet = internet(20, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    fs::write(dir.join("site"), "").unwrap();
    let mut command = database.owner(&["scan", "start", "--crawl", internet.crawl()]);
    command.args(database.stores.arguments());
    run(command).expect_code(1);
    fs::remove_file(dir.join("site")).unwrap();
    database.psql("alter table everytab.scans add constraint refuses check (false) not valid");
    let mut command = database.owner(&["scan", "start", "--crawl", internet.crawl()]);
    command.args(database.stores.arguments());
    run(command).expect_code(1);
    for store in ["archive", "site"] {
        let left = dir.join(store).join(".everytab");
        assert!(!left.exists() || files(&left).is_empty(), "{store}: {:?}", files(&left).keys());
    }
}

#[test]
fn a_restored_scan_recognises_the_stores_that_it_was_restored_to() {
    let internet = internet(40, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let scan = finished_scan(&internet, &database);
    let expected = published(&dir.join("site"));
    let backup = format!("file://{}/backup", dir.display());
    run(database.owner(&["backup", "--to", &backup])).expect_code(0);
    for store in ["archive", "site"] {
        fs::remove_dir_all(dir.join(store)).unwrap();
    }
    let home = dir.join("restored");
    let Stores { archive, site, .. } = Stores::folders(&internet, &home);
    let name = shared_for_tests().fresh_database(None);
    let there = |mut command: Command, user: &str| {
        command.env("DATABASE_URL", shared_for_tests().url(&name, user));
        run(command).expect_code(0)
    };
    let to = ["restore", "--from", &backup, "--site", &site, "--archive", &archive];
    there(database.owner(&to), "postgres");
    assert_eq!(with_token(&home, &scan), ["archive", "site"]);
    // These jobs read the archive and write to the site.
    there(database.owner(&["scan", "retry", "--kind", "map"]), "postgres");
    there(database.worker(&["--exit-when-done"]), "everytab_worker");
    assert_same(&published(&home.join("site")), &expected, "restored");
}
