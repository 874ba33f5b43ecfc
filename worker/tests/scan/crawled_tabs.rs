//! Tests a live crawl of a small internet, its indexes, and a scan that makes tabs from them,
//! without preparing data in between.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
    thread,
};

use everytab_commoncrawl::warc::{Limits, read_record, write::sha256_digest};
use everytab_postgres::shared_for_tests;
use serde_json::Value;

use crate::{
    environment::{Database, Internet, Stores},
    live_crawls::{crawler, expected, graph_of_sites, key_of, start_crawl, status},
    setup::{Running, assert_same, files, folder, run, scan_locally, tabs, wait_for, worker},
};

pub(crate) fn bucket_of(internet: &Internet) -> std::path::PathBuf {
    internet.folder.path().join("crawls")
}

/// Crawls all sites with one worker, which also writes the indexes. Returns the crawl's id and
/// name.
pub(crate) fn crawled(internet: &Internet, database: &Database) -> (String, String) {
    let id = start_crawl(internet, database, "0s");
    crawler(internet, database, &["--exit-when-done"]).finish().expect_code(0);
    let ended = status(database, &id);
    assert_eq!((&ended["state"], &ended["indexes"]), (&"ended".into(), &"written".into()));
    (id, ended["name"].as_str().unwrap().to_owned())
}

pub(crate) fn cdxj_lines(bucket: &Path, name: &str) -> Vec<(String, Value)> {
    let folder = bucket.join(format!("crawl-data/{name}/cc-index/collections/{name}/indexes"));
    let mut text = String::new();
    let packed = fs::read(folder.join("cdx-00000.gz")).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(&packed[..]), &mut text)
        .unwrap();
    let parsed = text.lines().map(|line| {
        let (place, json) = line.split_once(" {").unwrap();
        (place.to_owned(), serde_json::from_str(&format!("{{{json}")).unwrap())
    });
    parsed.collect()
}

pub(crate) fn scanned(database: &Database, crawl: &str) -> BTreeMap<String, Value> {
    let Stores { archive, site, .. } = database.stores.clone();
    let mut start = database.owner(&["scan", "start", "--from-crawl", crawl]);
    start.args(["--archive", &archive, "--site", &site, "--lease", "2s"]);
    run(start).expect_code(0);
    let worker = Running::start(database.worker(&["--exit-when-done"]));
    worker.finish().expect_code(0);
    let site = Path::new(site.strip_prefix("file://").unwrap());
    let named = tabs(site).into_iter().map(|tab| {
        let url = tab["url"].as_str().unwrap();
        (url.split_once("://").unwrap().1.to_owned(), tab)
    });
    named.collect()
}

#[test]
fn a_live_crawl_becomes_a_page_of_tabs() {
    let internet = graph_of_sites(19, 40, 800);
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let (id, name) = crawled(&internet, &database);
    let bucket = bucket_of(&internet);

    // The index contains every record in the crawl once, with its outcome.
    let expected = expected(&internet);
    let lines = cdxj_lines(&bucket, &name);
    assert!(lines.is_sorted_by(|one, other| one.0 <= other.0));
    let mut pages = BTreeMap::new();
    let mut robots = 0;
    for (_, line) in &lines {
        let (url, file) = (line["url"].as_str().unwrap(), line["filename"].as_str().unwrap());
        assert!(bucket.join(file).exists(), "{file}");
        if file.contains("/robotstxt/") {
            assert!(url.ends_with("/robots.txt"), "{url}");
            let digest = line["digest"].as_str().unwrap_or_default();
            assert!(digest.starts_with("sha256:"), "{line}");
            robots += 1;
            continue;
        }
        let status = line["status"].as_str().unwrap().to_owned();
        assert_eq!(pages.insert(key_of(url), status), None, "{url} twice");
    }
    assert!(robots > 20, "{robots}");
    for (url, outcome) in &expected {
        let status = pages.get(url).map(String::as_str);
        match outcome.as_str() {
            "ok" => assert_eq!(status, Some("200"), "{url}"),
            "redirected" => assert!(status.is_some_and(|s| s.starts_with('3')), "{url}"),
            "robots_disallowed" => assert_eq!(status, None, "{url}"),
            _ => {}
        }
    }

    let tabs = scanned(&database, &id);
    let is_home = |url: &str| url.matches('/').count() == 3 && url.ends_with('/');
    let is_html =
        |url: &str| lines.iter().any(|(_, l)| l["url"] == url && l["mime"] == "text/html");
    let homes: BTreeSet<&str> = expected
        .iter()
        .filter(|(url, outcome)| is_home(url) && *outcome == "ok" && is_html(url))
        .filter_map(|(url, _)| url.split("://").nth(1)?.strip_suffix('/'))
        .collect();
    assert!(homes.len() > 30, "{homes:?}");
    assert_eq!(tabs.keys().map(String::as_str).collect::<BTreeSet<_>>(), homes);
    let document = fs::read(bucket.join(format!("crawl-data/{name}/crawl.json"))).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["counts"]["captures"].as_u64(), Some(lines.len() as u64));
    assert_eq!(document["counts"]["by_subset"]["robotstxt"].as_u64(), Some(robots));
    let listed = fs::read_to_string(bucket.join("collinfo.json")).unwrap();
    assert!(listed.contains(&format!("\"id\": \"{name}\"")), "{listed}");
}

pub(crate) fn repeat(internet: &Internet, database: &Database, earlier: &str) -> Command {
    let store = bucket_of(internet).display().to_string();
    let mut command = database.owner(&["crawl", "start", "--again", earlier, "--to", &store]);
    command.args(["--scope", "any", "--depth", "1000", "--site-pages", "100000", "--delay", "0s"]);
    command
}

#[test]
fn a_repeated_crawl_refers_to_unchanged_records_and_keeps_its_tabs() {
    let internet = graph_of_sites(22, 24, 500);
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let running = start_crawl(&internet, &database, "1s");
    let early = run(repeat(&internet, &database, &running)).expect_code(1).stderr;
    assert!(early.contains("is running; only an ended crawl can be repeated"), "{early}");
    run(database.owner(&["crawl", "cancel", &running])).expect_code(0);
    let nothing = run(repeat(&internet, &database, &running)).expect_code(1).stderr;
    assert!(nothing.contains("no valid seeds"), "{nothing}");
    let unknown = run(repeat(&internet, &database, "none")).expect_code(1).stderr;
    assert!(unknown.contains("there is no crawl \"none\""), "{unknown}");

    let (first, first_name) = crawled(&internet, &database);
    let tabs = scanned(&database, &first);
    let bucket = bucket_of(&internet);
    let bytes_of = |name: &str| {
        let segments = files(&bucket.join(format!("crawl-data/{name}/segments")));
        segments.values().map(Vec::len).sum::<usize>()
    };
    internet.running.set_day(1);
    let started = run(repeat(&internet, &database, &first_name)).expect_code(0).stdout;
    let second = started.split(' ').next().unwrap().to_owned();
    crawler(&internet, &database, &["--exit-when-done"]).finish().expect_code(0);
    let ended = status(&database, &second);
    assert_eq!((&ended["state"], &ended["indexes"]), (&"ended".into(), &"written".into()));
    let name = ended["name"].as_str().unwrap();

    // Each page has a line in the index, and the record there contains today's page.
    let lines = cdxj_lines(&bucket, name);
    let mut revisits = 0;
    for (_, line) in lines.iter().filter(|(_, line)| line["status"] == "200") {
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        let number = |name: &str| text(name).parse::<usize>().unwrap();
        let archive = fs::read(bucket.join(text("filename"))).unwrap();
        let member = &archive[number("offset")..number("offset") + number("length")];
        let record = read_record(member, Limits::default()).unwrap();
        // The repeated crawl may first find a link with another spelling.
        assert_eq!(key_of(&record.target_uri().unwrap()), key_of(&text("url")));
        let body = record.http_response().unwrap().body;
        assert_eq!(text("digest"), sha256_digest(&[&body]));
        revisits += u64::from(text("filename").contains(&first_name));
    }
    assert!(revisits > 300, "{revisits} of {}", lines.len());
    let document = fs::read(bucket.join(format!("crawl-data/{name}/crawl.json"))).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["counts"]["revisits"].as_u64(), Some(revisits));
    assert_eq!(document["settings"]["again"], Value::from(first));
    let changed =
        lines.iter().filter(|(_, line)| line["status"] == "200").count() as u64 - revisits;
    assert!(changed > 10, "{changed}");
    let (stored, before) = (bytes_of(name), bytes_of(&first_name));
    assert!(stored < before, "{stored} bytes");
    let sent = database.psql(
        "select sum(bytes) from everytab.fetches where status = 200 group by crawl order by crawl",
    );
    let sent = sent.trim().replace('\n', " and ");
    println!(
        "{revisits} unchanged, {changed} not; bodies of {sent} bytes; {before}, {stored} kept"
    );
    let again = scanned(&database, &second);
    assert_eq!(again.keys().collect::<Vec<_>>(), tabs.keys().collect::<Vec<_>>());
}

#[test]
fn indexes_written_again_after_kills_are_the_same_bytes() {
    let internet = graph_of_sites(20, 12, 300);
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let (id, name) = crawled(&internet, &database);
    let folder = bucket_of(&internet).join(format!("crawl-data/{name}"));
    let written = || {
        let all = files(&folder).into_iter();
        all.filter(|(name, _)| !name.starts_with("segments/")).collect::<BTreeMap<_, _>>()
    };
    let before = written();
    assert!(before.keys().any(|name| name.ends_with(".parquet")), "{:?}", before.keys());
    let stage = |kind: &str, what: &str| {
        let sql = format!(
            "select count(*) from everytab.jobs where kind = '{kind}' and state = '{what}'
                and run = (select max(run) from everytab.runs)"
        );
        (database.psql(&sql).trim() == "1").then_some(())
    };
    for kind in ["crawl-index", "crawl-close"] {
        for object in before.keys() {
            fs::remove_file(folder.join(object)).unwrap();
        }
        // Simulates a crawl that ended before the program wrote indexes.
        database.psql("update everytab.crawls set run = null");
        let said = run(database.owner(&["crawl", "index", &id])).expect_code(0).stdout;
        assert!(said.contains("are written by workers"), "{said}");
        database.psql("update everytab.runs set lease_ms = 2000");
        if kind == "crawl-close" {
            database.psql("update everytab.runs set paused_kinds = '{crawl-close}'");
            let first = crawler(&internet, &database, &[]);
            wait_for("the stage before", || stage("crawl-index", "completed"));
            first.terminate();
            first.finish().expect_code(4);
        }
        // Both kinds of jobs read this table before they write, so the worker dies during the job.
        thread::scope(|scope| {
            let lock = "begin; lock table everytab.crawl_archives; select pg_sleep(60)";
            scope.spawn(|| shared_for_tests().psql(&database.name, lock));
            let others = "from pg_stat_activity where query like '%select pg_sleep(60)'
                              and datname = current_database() and pid <> pg_backend_pid()";
            wait_for("the lock", || {
                let holders = format!("select count(*) {others} and wait_event = 'PgSleep'");
                (database.psql(&holders).trim() == "1").then_some(())
            });
            database.psql("update everytab.runs set paused_kinds = '{}'");
            let mut dies = crawler(&internet, &database, &[]);
            wait_for("a lease", || stage(kind, "leased"));
            dies.kill();
            database.psql(&format!("select pg_terminate_backend(pid) {others}"));
        });
        assert_eq!(status(&database, &id)["indexes"], "pending");
        crawler(&internet, &database, &["--exit-when-done"]).finish().expect_code(0);
        assert_eq!(status(&database, &id)["indexes"], "written");
        assert_same(&before, &written(), kind);
    }
    let again = run(database.owner(&["crawl", "index", &id])).expect_code(0).stdout;
    assert!(again.contains("written already"), "{again}");
}

#[test]
fn a_scan_from_a_crawl_that_is_not_indexed_says_why() {
    let internet = graph_of_sites(21, 4, 20);
    let dir = internet.folder.path();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let refused = |crawl: &str| {
        let Stores { archive, site, .. } = database.stores.clone();
        let mut start = database.owner(&["scan", "start", "--from-crawl", crawl]);
        start.args(["--archive", &archive, "--site", &site]);
        run(start).expect_code(1).stderr
    };
    assert!(refused("none").contains("there is no crawl \"none\""));
    let id = start_crawl(&internet, &database, "1s");
    assert!(refused(&id).contains("it has not ended"));
    let early = run(database.owner(&["crawl", "index", &id])).expect_code(1).stderr;
    assert!(early.contains("has not ended"), "{early}");
    run(database.owner(&["crawl", "cancel", &id])).expect_code(0);
    assert!(refused(&id).contains("its indexes are not written yet"));
    database.psql("update everytab.crawls set run = null");
    assert!(refused(&id).contains("`crawl index` starts the jobs that write them"));
    let both = ["scan", "start", "--from-crawl", &id, "--crawl", "CC-MAIN-2026-05"];
    let mut both = database.owner(&both);
    both.args(["--archive", "/a", "--site", "/s"]);
    assert!(run(both).expect_code(2).stderr.contains("cannot be used with"));
}

#[test]
fn a_list_of_sites_becomes_a_page_of_tabs_by_one_command() {
    let dir = folder();
    let sample = ["--sample", "--sample-hosts", "80", "--sample-mix", "none", "--sites"];
    let first = scan_locally(dir.path(), 2, &sample);
    let bucket = dir.path().join("crawls");
    let crawls = || fs::read_dir(bucket.join("crawl-data")).unwrap().count();
    let name = fs::read_dir(bucket.join("crawl-data")).unwrap().next().unwrap().unwrap();
    let name = name.file_name().into_string().unwrap();
    let lines = cdxj_lines(&bucket, &name);
    let tabs = tabs(&dir.path().join("site"));
    let shown: BTreeSet<&str> =
        tabs.iter().map(|tab| tab["url"].as_str().unwrap().split_once("://").unwrap().1).collect();
    assert!(shown.len() > 60, "{} tabs: {}", shown.len(), first.stderr);
    assert!(tabs.iter().filter(|tab| tab["icon"].is_string()).count() > 30, "{tabs:?}");

    // Some home pages redirect to a deeper page, which then has the tab.
    let document = fs::read(bucket.join(format!("crawl-data/{name}/crawl.json"))).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    let below: Vec<&str> = lines
        .iter()
        .filter(|(_, line)| {
            line["status"] == "302" && !line["url"].as_str().unwrap().contains("robots")
        })
        .map(|(_, line)| line["url"].as_str().unwrap())
        .collect();
    assert!(!below.is_empty(), "no home page redirects");
    assert_eq!(document["counts"]["home_redirects"].as_u64(), Some(below.len() as u64));
    let host = |url: &&str| shown.contains(url.split('/').nth(2).unwrap());
    assert!(below.iter().any(host), "{below:?} have no tab");

    // The repeated command does nothing. With another list it starts another crawl.
    scan_locally(dir.path(), 1, &sample);
    assert_eq!(crawls(), 1);
    let list = dir.path().join("list.txt");
    let some = shown.iter().take(3).copied().collect::<Vec<_>>().join("\n");
    fs::write(&list, format!("# three sites\n{some}\nftp://no.site.test/\n")).unwrap();
    let listed = [&sample[..], &[list.to_str().unwrap()]].concat();
    let site = dir.path().join("three");
    let more = ["--again", "--site", site.to_str().unwrap()];
    let three = scan_locally(dir.path(), 1, &[&listed[..], &more].concat());
    assert!(three.stderr.contains("--sites, line 5: ftp://no.site.test/"), "{}", three.stderr);
    assert_eq!((crawls(), self::tabs(&site).len()), (2, 3));
}

#[test]
fn a_list_of_sites_finishes_although_some_do_not_respond() {
    let dir = folder();
    // An ordinary crawl would retry some of these hosts for up to a day.
    let sample = ["--sample", "--sample-hosts", "100", "--sample-mix", "issue", "--sites"];
    let scan = scan_locally(dir.path(), 1, &sample);
    let line = scan.stderr.lines().rfind(|line| line.contains(" URLs: ")).unwrap_or_default();
    let number = |after: &str| -> u64 {
        let word = line.split(after).nth(1).and_then(|rest| rest.split_whitespace().next());
        word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{after} in {line:?}"))
    };
    assert_eq!(number("crawl "), number(" of "), "{line}");
    assert!(number(" failed, ") > 0, "no host failed: {line}");
    assert!(tabs(&dir.path().join("site")).len() > 60, "{}", scan.stderr);
}

#[test]
fn an_invalid_list_of_sites_is_rejected_and_named() {
    let dir = folder();
    let data = dir.path().join("data");
    let refused = |list: &str, code| {
        let data = data.display().to_string();
        let arguments = ["local", "--sample", "--dir", &data, "--sites", list];
        run(worker(arguments)).expect_code(code).stderr
    };
    let missing = dir.path().join("no-such-file").display().to_string();
    assert!(refused(&missing, 2).contains(&format!("--sites {missing}: ")));
    assert!(!data.exists(), "nothing may be created");
    let empty = dir.path().join("empty");
    fs::write(&empty, "\n# nothing\n").unwrap();
    let said = refused(empty.to_str().unwrap(), 2);
    assert!(said.contains("no line of the list is a URL or a hostname"), "{said}");
    let alone = run(worker(["local", "--dir", data.to_str().unwrap(), "--sites"]));
    assert!(alone.expect_code(2).stderr.contains("give a FILE"));
}
