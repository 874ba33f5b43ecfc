//! Tests a live crawl in S3, its indexes, and a scan that reads them, while the only worker is
//! killed during each kind of work. The tabs must not change.

use std::{collections::BTreeMap, path::Path};

use everytab_commoncrawl::warc::{Limits, read_record, write::sha256_digest};
use everytab_testbed::{GraphSettings, Settings};
use serde_json::Value;

use crate::{
    crawled_tabs::{cdxj_lines, crawled, scanned},
    environment::{Database, Stores, internet_with},
    holding_proxy::HoldingProxy,
    kills::{KillPoint, kill_at},
    live_crawls::{expected, key_of, own_sites, recorded, sites, start_crawl_to, status},
    outcomes,
    setup::{assert_same, published, run},
};

/// Kills of the crawling worker: before its first upload, before it uploads a robots.txt, and after
/// some archives.
const CRAWL_KILLS: [KillPoint; 3] = [
    ("an archive is put", "PUT", "/segments/", 0),
    ("robots.txt are put", "PUT", "/robotstxt/", 0),
    ("more archives are put", "PUT", "/segments/", 2),
];
const INDEX_KILLS: [KillPoint; 3] = [
    ("crawl-index", "PUT", "/cc-index/", 0),
    ("crawl-close", "PUT", "/crawl.json", 0),
    ("crawl-close", "PUT", "/collinfo.json", 0),
];
/// Kills in a scan's stages before `map`. That stage is paused during them, because it would run at
/// the same time as `search`.
const KILLS_BEFORE_MAPS: [KillPoint; 5] = [
    ("index", "GET", "/cc-index/table/", 1),
    ("warc", "GET", "/segments/", 5),
    ("icon", "PUT", ".warc.gz", 0),
    ("bundle-shard", "PUT", "/tabs/", 0),
    ("search", "PUT", "index.tsv", 0),
];
const LAST_KILLS: [KillPoint; 2] =
    [("map", "PUT", ".jpg", 0), ("publish", "PUT", "/manifest.json", 0)];

fn kill_in_jobs(
    points: &[KillPoint],
    proxy: &HoldingProxy,
    database: &Database,
    arguments: &[&str],
) {
    for &point in points {
        let leased = format!(
            "select count(*) > 0 from everytab.jobs where kind = '{}' and state = 'leased'",
            point.0
        );
        let is_leased = || database.psql(&leased).trim() == "t";
        kill_at(point, proxy, database, arguments, is_leased);
        // A lease of an index job lasts a minute, so expire it now.
        database.psql("update everytab.jobs set lease_until = now() where state = 'leased'");
    }
}

/// Returns a crawl's captures, and how many of them have their body in another URL's record. The
/// key is the normalized URL, because a URL is recorded as the first link spells it. Fails if a
/// capture is not at its location in the index.
fn captures(bucket: &Path, name: &str) -> (BTreeMap<String, Value>, usize) {
    let mut found = BTreeMap::new();
    let mut copies = 0;
    for (_, mut line) in cdxj_lines(bucket, name) {
        let fields = line.as_object_mut().unwrap();
        let mut take = |name: &str| fields.remove(name).unwrap().as_str().unwrap().to_owned();
        let (url, file) = (take("url"), take("filename"));
        let (offset, length): (usize, usize) =
            (take("offset").parse().unwrap(), take("length").parse().unwrap());
        let archive = std::fs::read(bucket.join(&file)).unwrap();
        let record = read_record(&archive[offset..offset + length], Limits::default()).unwrap();
        let body = record.http_response().unwrap().body;
        let of_body = if line["status"] == "200" { sha256_digest(&[&body]) } else { String::new() };
        assert!(of_body.is_empty() || line["digest"] == of_body, "{url}: {line}");
        let is_own = record.target_uri().unwrap() == url;
        assert!(is_own || line["mime"] == "application/pdf", "{url}: {line}");
        copies += usize::from(!is_own);
        let before = found.insert(key_of(&url), line.clone());
        // If a worker dies between a robots.txt's upload and the next checkpoint, the file is
        // fetched again.
        let is_again = url.ends_with("/robots.txt") && before.as_ref() == Some(&line);
        assert!(before.is_none() || is_again, "{url} twice");
    }
    (found, copies)
}

#[test]
fn a_circle_whose_only_worker_is_killed_in_each_kind_of_work_gives_the_same_tabs() {
    let settings = GraphSettings { media: 300, copies: 1_000, ..sites(24, 500) };
    let internet = internet_with(|scratch| Settings::graph(24, settings, scratch));
    let dir = internet.folder.path();
    let folders = Database::new(&internet, Stores::folders(&internet, &dir.join("undisturbed")));
    let (id, name) = crawled(&internet, &folders);
    scanned(&folders, &id);
    let (expected_captures, copies) = captures(&dir.join("crawls"), &name);
    assert!(copies > 10, "{copies}");
    let expected_site = published(&dir.join("undisturbed/site"));

    let s3 = internet.s3();
    let proxy = HoldingProxy::before(&s3.endpoint);
    let database = Database::new(&internet, Stores::s3(&proxy.endpoint));
    let id = start_crawl_to("s3://everytab/crawls", &internet, &database, "0s");
    let own = own_sites(&internet);
    let crawls = ["--role", "crawl", "--own", &own, "--exit-when-done"];
    for point in CRAWL_KILLS {
        kill_at(point, &proxy, &database, &crawls, || status(&database, &id)["state"] == "running");
        database.psql("update everytab.slots set lease_until = now() where holder <> ''");
    }
    kill_in_jobs(&INDEX_KILLS, &proxy, &database, &crawls);
    run(database.worker(&crawls)).expect_code(0);
    let ended = status(&database, &id);
    assert_eq!((&ended["state"], &ended["indexes"]), (&"ended".into(), &"written".into()));
    assert_eq!(recorded(&database, &id), expected(&internet));
    let bucket = dir.join("s3/everytab/crawls");
    let (found, _) = captures(&bucket, ended["name"].as_str().unwrap());
    assert!(found.len() > 300, "{}", found.len());
    for (url, line) in &expected_captures {
        assert_eq!(found.get(url), Some(line), "{url}");
    }
    assert_eq!(found.len(), expected_captures.len());

    let mut start = database.owner(&["scan", "start", "--from-crawl", &id, "--lease", "2s"]);
    start.args(["--archive", &database.stores.archive, "--site", &database.stores.site]);
    run(start).expect_code(0);
    let scans = ["--exit-when-done"];
    run(database.owner(&["scan", "pause", "--kind", "map"])).expect_code(0);
    kill_in_jobs(&KILLS_BEFORE_MAPS, &proxy, &database, &scans);
    run(database.owner(&["scan", "resume", "--kind", "map"])).expect_code(0);
    kill_in_jobs(&LAST_KILLS, &proxy, &database, &scans);
    run(database.worker(&scans)).expect_code(0);
    let site = dir.join("s3/everytab/site");
    assert_same(&expected_site, &published(&site), "without kills and with");
    outcomes::assert_totals(&site);
}
