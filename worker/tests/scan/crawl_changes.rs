//! Tests how an operator changes, repeats and removes a crawl.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use everytab_testbed::{Behaviour, GraphSettings, Settings};
use serde_json::{Value, json};

use crate::{
    crawled_tabs::{bucket_of, crawled, repeat},
    environment::{Database, Stores, internet_with},
    live_crawls::{crawler, graph_of_sites, recorded, sites, start_crawl, status},
    setup::{Ended, files, run},
};

fn crawl(database: &Database, arguments: &[&str]) -> Ended {
    run(database.owner(&[&["crawl"], arguments].concat()))
}

#[test]
fn only_the_failed_urls_of_an_ended_crawl_are_retried() {
    let settings =
        GraphSettings { dead: 250, dead_as: vec![Behaviour::DnsNxdomain], ..sites(12, 300) };
    let internet = internet_with(|scratch| Settings::graph(31, settings, scratch));
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let store = bucket_of(&internet).display().to_string();
    let again = |id: &str, more: &[&str]| {
        let start = ["start", "--again", id, "--only", "failed", "--to", &store];
        crawl(&database, &[&start, more].concat())
    };
    let id = start_crawl(&internet, &database, "0s");
    let refused = again(&id, &[]).expect_code(1).stderr;
    assert!(refused.contains("only an ended crawl can be repeated"), "{refused}");
    crawler(&internet, &database, &["--exit-when-done"]).finish().expect_code(0);
    let first = status(&database, &id);
    let failures: BTreeSet<&str> =
        first["failures"].as_object().unwrap().keys().map(String::as_str).collect();
    assert!(failures.len() > 1, "{failures:?}");
    let expected: BTreeSet<String> = recorded(&database, &id)
        .into_iter()
        .filter(|(_, outcome)| failures.contains(outcome.as_str()))
        .map(|(url, _)| url)
        .collect();
    let started = again(&id, &["--delay", "0s"]).expect_code(0);
    let seeds = format!("{} seeds, 0 refused", expected.len());
    assert!(started.stderr.contains(&seeds), "{}", started.stderr);
    let second = started.stdout.split(' ').next().unwrap();
    crawler(&internet, &database, &["--exit-when-done"]).finish().expect_code(0);
    let asked: BTreeSet<String> = recorded(&database, second).into_keys().collect();
    assert_eq!(asked, expected);

    let nothing = start_crawl(&internet, &database, "0s");
    crawl(&database, &["cancel", &nothing]).expect_code(0);
    let refused = again(&nothing, &[]).expect_code(1).stderr;
    assert!(refused.contains("can be retried"), "{refused}");
    let refused = again("no-such-crawl", &[]).expect_code(1).stderr;
    assert!(refused.contains("there is no crawl \"no-such-crawl\""), "{refused}");
    assert!(again(&id, &["https://a.test/"]).expect_code(2).stderr.contains("--only"));
    let alone = ["start", "--only", "failed", "--to", &store];
    assert!(crawl(&database, &alone).expect_code(2).stderr.contains("--again <ID>"));
}

#[test]
fn includes_and_excludes_of_a_running_crawl_are_changed_and_shown() {
    let internet = graph_of_sites(32, 6, 60);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let id = start_crawl(&internet, &database, "0s");
    let set = |arguments: &[&str]| crawl(&database, &[&["set", &id], arguments].concat());
    let bad = set(&["--exclude", "a.test/*", "--exclude", "re:("]).expect_code(2).stderr;
    assert!(bad.contains("--exclude: pattern 2: "), "{bad}");
    assert!(set(&[]).expect_code(2).stderr.contains("<SETTINGS>"));
    let changed = set(&["--exclude", "*/page/*", "--include", "*", "rate=500"]).expect_code(0);
    assert_eq!(changed.stdout, "version 2: 1 includes, 1 excludes\nrate=500\n");
    let same = set(&["--exclude", "*/page/*"]).expect_code(0).stdout;
    assert_eq!(same, "version 2: 1 includes, 1 excludes\n");
    let absent = set(&["--drop-exclude", "*/other/*"]).expect_code(1).stderr;
    assert!(absent.contains("--drop-exclude */other/*: the crawl has no such pattern"), "{absent}");
    let dropped = set(&["--drop-include", "*", "--exclude", "a.test"]).expect_code(0).stdout;
    assert_eq!(dropped, "version 3: 0 includes, 2 excludes\n");
    let shown = status(&database, &id);
    assert_eq!(shown["settings"]["exclude"], json!(["*/page/*", "a.test"]));
    assert_eq!(shown["patterns"][0]["exclude"], json!([]));
    assert_eq!(shown["patterns"][1]["include"], json!(["*"]));
    assert!(shown["patterns"][2]["changed_at"].is_string());
    let text = crawl(&database, &["status", &id]).expect_code(0).stdout;
    assert!(text.contains("patterns      version 3 since "), "{text}");
    crawl(&database, &["cancel", &id]).expect_code(0);
    let ended = set(&["--exclude", "b.test"]).expect_code(1).stderr;
    assert!(ended.contains("nothing was changed: crawl"), "{ended}");
}

fn objects(bucket: &std::path::Path, name: &str) -> BTreeMap<String, u64> {
    let folder = bucket.join(format!("crawl-data/{name}"));
    if !folder.exists() {
        return BTreeMap::new();
    }
    let all = files(&folder).into_iter();
    all.map(|(name, bytes)| (name, bytes.len() as u64)).collect()
}

fn drop_crawl(database: &Database, name: &str, more: &[&str]) -> Ended {
    crawl(database, &[&["drop", name], more].concat())
}

fn assert_running_is_in_the_way(database: &Database, first: &str, third: &str) {
    let refused = drop_crawl(database, third, &[]).expect_code(1).stderr;
    assert!(refused.contains("is running; end it with `crawl cancel`"), "{refused}");
    let refused = drop_crawl(database, first, &[]).expect_code(1).stderr;
    assert!(refused.contains("repeats crawl"), "{refused}");
    crawl(database, &["cancel", third]).expect_code(0);
    let refused = drop_crawl(database, third, &["--dry-run"]).expect_code(1).stderr;
    assert!(refused.contains("the indexes of crawl"), "{refused}");
    let refused = drop_crawl(database, "no-such-crawl", &[]).expect_code(1).stderr;
    assert!(refused.contains("there is no crawl \"no-such-crawl\""), "{refused}");
}

#[test]
fn dropping_a_crawl_keeps_only_archives_that_other_crawls_refer_to() {
    let internet = graph_of_sites(33, 8, 200);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let bucket = bucket_of(&internet);
    let (_, first) = crawled(&internet, &database);
    let started = |name: &str| -> (String, String) {
        let started = run(repeat(&internet, &database, name)).expect_code(0).stdout;
        let (id, name) = started.trim().split_once(' ').unwrap();
        (id.to_owned(), name.to_owned())
    };
    let (_, second) = started(&first);
    crawler(&internet, &database, &["--exit-when-done"]).finish().expect_code(0);
    let drop = |name: &str, more: &[&str]| drop_crawl(&database, name, more);
    let counted = |name: &str, more: &[&str]| -> Value {
        let dropped = drop(name, &[&["--json"], more].concat()).expect_code(0).stdout;
        serde_json::from_str(&dropped).unwrap()
    };

    assert_running_is_in_the_way(&database, &first, &started(&first).0);

    let count = |name: &str, what: &str| -> u64 {
        let sql = format!(
            "select count(*) from everytab.{what} where crawl =
                (select crawl from everytab.crawls where name = '{name}')"
        );
        database.psql(&sql).trim().parse().unwrap()
    };
    let before = objects(&bucket, &first);
    let would = counted(&first, &["--dry-run"]);
    assert_eq!(objects(&bucket, &first), before);
    assert_eq!(would["fetches"], count(&first, "fetches"));
    let kept_records = database.psql(&format!(
        "select count(distinct (a.object, f.body_offset)) from everytab.fetches f
           join everytab.crawl_archives a on a.archive = f.body_archive and a.crawl = f.crawl
          where a.object like 'crawl-data/{first}/%'
            and f.crawl = (select crawl from everytab.crawls where name = '{second}')"
    ));
    assert!(would["kept"]["records"].as_u64() > Some(50), "{would}");
    assert_eq!(would["kept"]["records"].to_string(), kept_records.trim());
    let text = drop(&first, &["--dry-run"]).expect_code(0).stdout;
    assert!(text.contains("would be removed: ") && text.contains("would be kept: "), "{text}");

    // The next run finishes a run that was interrupted after it had dropped some rows.
    database.psql(&format!(
        "select coordinator.mark_dropping(id, true) from everytab.crawls where name = '{first}';
         select coordinator.drop_crawl_rows(crawl, 20) from everytab.crawls where name = '{first}'"
    ));
    assert_eq!(status(&database, &first)["state"], "dropping");
    let again = run(repeat(&internet, &database, &first)).expect_code(1).stderr;
    assert!(again.contains("is dropping; its rows and archives are removed"), "{again}");
    let did = counted(&first, &[]);
    assert_eq!((&did["removed"], &did["kept"]), (&would["removed"], &would["kept"]));
    for table in ["fetches", "frontier_chunks", "frontier_due", "crawl_slots", "crawl_archives"] {
        assert_eq!(count(&first, table), 0, "{table}");
    }
    let kept = objects(&bucket, &first);
    assert_eq!(kept.values().sum::<u64>(), would["kept"]["bytes"].as_u64().unwrap());
    assert!(!kept.is_empty() && kept.len() < before.len());
    assert_named_objects_exist(&database, &bucket);
    let listed = fs::read_to_string(bucket.join("collinfo.json")).unwrap();
    assert!(!listed.contains(&first) && listed.contains(&second), "{listed}");
    assert!(!crawl(&database, &["list"]).expect_code(0).stdout.contains(&first));
    assert_eq!(status(&database, &first)["state"], "dropped");
    assert_eq!(counted(&first, &[])["removed"], json!({ "objects": 0, "bytes": 0 }));

    // A crawl that a scan reads cannot be dropped. Dropping the last crawl that refers to another
    // crawl's archives also removes these.
    let Stores { archive, site, .. } = database.stores.clone();
    let mut scan = database.owner(&["scan", "start", "--from-crawl", &second]);
    scan.args(["--archive", &archive, "--site", &site]);
    run(scan).expect_code(0);
    let refused = drop(&second, &[]).expect_code(1).stderr;
    assert!(refused.contains("reads crawl"), "{refused}");
    run(database.owner(&["scan", "cancel"])).expect_code(0);
    let last = counted(&second, &[]);
    assert_eq!(last["kept"], json!({ "objects": 0, "bytes": 0, "records": 0 }));
    assert!(objects(&bucket, &first).is_empty() && objects(&bucket, &second).is_empty());
    assert_named_objects_exist(&database, &bucket);
}

fn assert_named_objects_exist(database: &Database, bucket: &std::path::Path) {
    let named = database.psql("select distinct object from everytab.crawl_archives");
    for object in named.lines() {
        assert!(bucket.join(object.trim()).exists(), "{object}");
    }
}
