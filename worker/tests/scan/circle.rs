//! The circle out of S3: a live crawl of a small internet, its indexes, and a scan of them. The
//! only worker is killed in each kind of work, and the tabs are those of a circle without kills.

use std::{collections::BTreeMap, path::Path};

use everytab_commoncrawl::warc::{Limits, read_record};
use serde_json::Value;

use crate::{
    crawled_tabs::{cdxj_lines, crawled, scanned},
    environment::{Database, Stores},
    holding_proxy::HoldingProxy,
    kills::{KillPoint, kill_at},
    live_crawls::{expected, graph_of_sites, key_of, own_sites, recorded, start_crawl_to, status},
    outcomes,
    setup::{assert_same, published, run},
};

/// Where the only worker is killed: while it crawls, and in the jobs of the crawl's indexes.
const FIRST_KILL: KillPoint = ("pages are put", "PUT", "/segments/", 0);
const INDEX_KILLS: [KillPoint; 3] = [
    ("crawl-index", "PUT", "/cc-index/", 0),
    ("crawl-close", "PUT", "/crawl.json", 0),
    ("crawl-close", "PUT", "/collinfo.json", 0),
];
/// The same for the stages of a scan.
const SCAN_KILLS: [KillPoint; 6] = [
    ("index", "GET", "/cc-index/table/", 1),
    ("warc", "GET", "/segments/", 5),
    ("icon", "PUT", ".warc.gz", 0),
    ("bundle-shard", "PUT", "/tabs/", 0),
    ("search", "PUT", "index.tsv", 0),
    ("publish", "PUT", "/manifest.json", 0),
];

/// Kills the only worker, which has these arguments, in jobs of these kinds.
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
        // As if the lease, which is long for a crawl's indexes, had run out.
        database.psql("update everytab.jobs set lease_until = now() where state = 'leased'");
    }
}

/// The captures of a crawl by the key of their URL, which is spelled as in the link that was found
/// first: all that its index says of each but for when and where it was stored. Fails if a capture
/// is not where the index says.
fn captures(bucket: &Path, name: &str) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for (_, mut line) in cdxj_lines(bucket, name) {
        let fields = line.as_object_mut().unwrap();
        let mut take = |name: &str| fields.remove(name).unwrap().as_str().unwrap().to_owned();
        let (url, file) = (take("url"), take("filename"));
        let (offset, length): (usize, usize) =
            (take("offset").parse().unwrap(), take("length").parse().unwrap());
        let archive = std::fs::read(bucket.join(&file)).unwrap();
        let record = read_record(&archive[offset..offset + length], Limits::default()).unwrap();
        assert_eq!(record.target_uri().unwrap(), url);
        assert!(found.insert(key_of(&url), line).is_none(), "{url} twice");
    }
    found
}

#[test]
fn a_circle_whose_only_worker_is_killed_in_each_kind_of_work_ends_with_the_same_tabs() {
    let internet = graph_of_sites(24, 24, 500);
    let dir = internet.folder.path();
    let folders = Database::new(&internet, Stores::folders(&internet, &dir.join("undisturbed")));
    let (id, name) = crawled(&internet, &folders);
    scanned(&folders, &id);
    let expected_captures = captures(&dir.join("crawls"), &name);
    let expected_site = published(&dir.join("undisturbed/site"));

    let s3 = internet.s3();
    let proxy = HoldingProxy::before(&s3.endpoint);
    let database = Database::new(&internet, Stores::s3(&proxy.endpoint));
    let id = start_crawl_to("s3://everytab/crawls", &internet, &database, "0s");
    let own = own_sites(&internet);
    let crawls = ["--role", "crawl", "--own", &own, "--exit-when-done"];
    kill_at(FIRST_KILL, &proxy, &database, &crawls, || {
        status(&database, &id)["state"] == "running"
    });
    kill_in_jobs(&INDEX_KILLS, &proxy, &database, &crawls);
    run(database.worker(&crawls)).expect_code(0);
    let ended = status(&database, &id);
    assert_eq!((&ended["state"], &ended["indexes"]), (&"ended".into(), &"written".into()));
    assert_eq!(recorded(&database, &id), expected(&internet));
    let bucket = dir.join("s3/everytab/crawls");
    let found = captures(&bucket, ended["name"].as_str().unwrap());
    assert!(found.len() > 400, "{}", found.len());
    for (url, line) in &expected_captures {
        assert_eq!(found.get(url), Some(line), "{url}");
    }
    assert_eq!(found.len(), expected_captures.len());

    let mut start = database.owner(&["scan", "start", "--from-crawl", &id, "--lease", "2s"]);
    start.args(["--archive", &database.stores.archive, "--site", &database.stores.site]);
    run(start).expect_code(0);
    let scans = ["--exit-when-done"];
    kill_in_jobs(&SCAN_KILLS, &proxy, &database, &scans);
    run(database.worker(&scans)).expect_code(0);
    let site = dir.join("s3/everytab/site");
    assert_same(&expected_site, &published(&site), "without kills and with");
    outcomes::assert_totals(&site);
}
