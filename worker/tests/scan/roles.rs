//! Tests that workers with roles run only these roles' kinds of jobs, and together finish a scan.

use std::collections::{BTreeMap, BTreeSet};

use everytab_testbed::Mix;

use crate::{
    environment::{Database, Stores, internet},
    outcomes,
    setup::{Running, published, run, wait_for},
};

/// Each process's roles, and the job kinds that it leases.
const MIX: [(&str, &[&str]); 4] = [
    ("publish", &["publish"]),
    ("icons", &["icon"]),
    ("warc,bundles", &["bundle-shard", "search", "map", "warc"]),
    ("index", &["index"]),
];

#[test]
fn processes_of_four_roles_finish_a_scan_together_each_with_its_own_kinds() {
    let internet = internet(200, Mix::none());
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let start = |role: &str| Running::start(database.worker(&["--exit-when-done", "--role", role]));
    let workers: Vec<(Running, &[&str])> =
        MIX.iter().map(|(role, kinds)| (start(role), *kinds)).collect();
    // Without a scan, each worker logs the kinds that it waits for.
    for (worker, kinds) in &workers {
        let line = wait_for("a line about waiting", || {
            let said = worker.stderr_text();
            said.lines().find(|line| line.contains("no work now; waiting")).map(str::to_owned)
        });
        for kind in *kinds {
            assert!(line.contains(kind), "{line}");
        }
        assert!(!kinds.contains(&"index") || !line.contains("icon"), "{line}");
    }
    database.start_scan(internet.crawl(), &[]);
    let kinds_of: BTreeMap<u32, &[&str]> =
        workers.iter().map(|(worker, kinds)| (worker.pid(), *kinds)).collect();
    for (worker, _) in workers {
        worker.finish().expect_code(0);
    }
    assert_eq!(database.status()["state"], "finished");
    assert_eq!(done_by(&database), expected(&kinds_of));
    assert!(!published(&dir.join("site")).is_empty());
    outcomes::assert_totals(&dir.join("site"));
}

fn expected(kinds_of: &BTreeMap<u32, &[&str]>) -> BTreeMap<u32, BTreeSet<String>> {
    let names = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect();
    kinds_of.iter().map(|(pid, kinds)| (*pid, names(kinds))).collect()
}

fn done_by(database: &Database) -> BTreeMap<u32, BTreeSet<String>> {
    let said = database
        .psql("select distinct split_part(worker_id, ':', 2), kind from everytab.job_results");
    let mut done: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for line in said.lines().filter(|line| !line.is_empty()) {
        let (pid, kind) = line.split_once('|').unwrap();
        done.entry(pid.parse().unwrap()).or_default().insert(kind.to_owned());
    }
    done
}

#[test]
fn a_worker_whose_role_has_no_work_waits_until_the_scan_ends_or_is_cancelled() {
    let internet = internet(60, Mix::none());
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    database.start_scan(internet.crawl(), &[]);
    let mut index = Running::start(database.worker(&["--exit-when-done", "--role", "index"]));
    wait_for("the end of its work", || {
        index.stderr_text().contains("no work now; waiting").then_some(())
    });
    let done: BTreeSet<String> = done_by(&database).into_values().flatten().collect();
    assert_eq!(done, BTreeSet::from(["index".to_owned()]));
    assert!(!index.has_ended(), "the scan is not over");
    run(database.owner(&["scan", "cancel"])).expect_code(0);
    index.finish().expect_code(0);
    assert_eq!(database.status()["state"], "cancelled");
}
