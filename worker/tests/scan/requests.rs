//! Tests `scan requests` and the public request files against the servers' access log.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
    path::Path,
    process::Command,
};

use everytab_commoncrawl::hostname_hash;
use everytab_testbed::{Behaviour, Mix};
use serde_json::Value;

use crate::{
    environment::{Database, Internet, Stores, internet},
    setup::{files, manifest, run},
};

type Asked = BTreeMap<String, Vec<String>>;

/// Long enough that no lease expires on a busy host. The archive's request tables lack the requests
/// of an expired lease.
const LEASE: &str = "10m";

/// Hosts that respond, reject requests, redirect to others, or send Retry-After.
fn kinds_of_hosts() -> Mix {
    Mix::none()
        .with(Behaviour::RedirectChain, 100_000)
        .with(Behaviour::RedirectOtherHost, 100_000)
        .with(Behaviour::NotFound, 50_000)
        .with(Behaviour::TooManyRequests, 50_000)
        .with(Behaviour::Unavailable, 50_000)
        .with(Behaviour::RobotsDisallow, 50_000)
        .with(Behaviour::Refused, 50_000)
        .with(Behaviour::TlsHandshakeFailure, 50_000)
        .with(Behaviour::Reset, 50_000)
        .with_missing_favicon(250_000)
}

fn told_of(database: &Database, host: &str) -> Value {
    let ended = run(database.owner(&["scan", "requests", host, "--json"])).expect_code(0);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn access_log(internet: &Internet) -> Asked {
    let mut asked = Asked::new();
    for (host, path) in internet.running.access_log() {
        asked.entry(host).or_default().push(path);
    }
    asked.values_mut().for_each(|paths| paths.sort());
    asked
}

fn path_of(request: &Value) -> String {
    let url = url::Url::parse(request["url"].as_str().unwrap()).unwrap();
    url.path().to_owned()
}

#[test]
fn scan_requests_lists_the_requests_that_each_server_logged() {
    let internet = internet(150, kinds_of_hosts());
    internet.running.keep_access_log();
    let out = internet.folder.path().join("out");
    let database = Database::new(&internet, Stores::folders(&internet, &out));
    database.start_scan_with_lease(internet.crawl(), LEASE, &[]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let logged = access_log(&internet);
    let hosts: BTreeSet<String> = internet.running.hosts().chain(logged.keys().cloned()).collect();
    let mut told_in_all = 0;
    let mut ends = BTreeSet::new();
    for host in &hosts {
        let told = told_of(&database, host);
        let requests = told["requests"].as_array().unwrap();
        let of_method = |method: &'static str| {
            requests.iter().filter(move |request| request["method"] == method)
        };
        let mut paths: Vec<String> = of_method("GET").map(path_of).collect();
        paths.sort();
        ends.extend(requests.iter().map(|request| request["outcome"].to_string()));
        assert!(of_method("-").all(|request| request["status"].is_null()), "{told}");
        // A server that resets connections immediately logs no requests.
        if internet.running.behaviour(host) != Behaviour::Reset {
            assert_eq!(paths, logged.get(host).cloned().unwrap_or_default(), "{host}: {told}");
        }
        assert!(requests.is_sorted_by_key(|request| request["asked_at"].as_str()), "{told}");
        assert_eq!(told["untold"]["shards_not_completed"], 0);
        told_in_all += paths.len();
    }
    assert!(told_in_all > 400, "{told_in_all} requests in all");
    for end in ["ok", "redirected", "http_404_410", "http_429", "connect_refused"] {
        assert!(ends.contains(&format!("\"{end}\"")), "{end} is not among {ends:?}");
    }
    let own = internet.running.hosts().next().unwrap();
    let text = run(database.owner(&["scan", "requests", &own])).expect_code(0);
    let lines: Vec<&str> = text.stdout.lines().collect();
    assert!(lines.iter().any(|line| line.contains(&format!("{own}/robots.txt\t"))), "{lines:?}");
    assert!(lines.iter().all(|line| line.split('\t').count() == 6), "{lines:?}");
    assert!(text.stderr.contains("EveryTabBot/") || text.stderr.contains("User-Agent"), "{text:?}");
}

#[test]
fn scan_requests_reports_what_it_cannot_list() {
    let internet = internet(150, Mix::none());
    let out = internet.folder.path().join("out");
    let database = Database::new(&internet, Stores::folders(&internet, &out));
    database.start_scan(internet.crawl(), &[]);
    run(database.owner(&["scan", "pause", "--kind", "icon"])).expect_code(0);
    let host = internet.running.hosts().next().unwrap();
    let not_yet = told_of(&database, &host);
    assert_eq!(not_yet["requests"], Value::Array(Vec::new()), "{not_yet}");
    run(database.owner(&["scan", "resume", "--kind", "icon"])).expect_code(0);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let whole = told_of(&database, &host);
    assert_eq!(whole["untold"]["shards_without_archive"], 0, "{whole}");
    // Simulates an attempt whose worker was killed.
    database.psql(
        "insert into everytab.job_events (job_id, run, event, lease_number)
         select job_id, run, 'expired', 1 from everytab.jobs where kind = 'icon'",
    );
    for (name, _) in files(&out.join("archive")) {
        if name.ends_with(".warc.gz") {
            std::fs::remove_file(out.join("archive").join(name)).unwrap();
        }
    }
    let gone = run(database.owner(&["scan", "requests", &host])).expect_code(0);
    assert_eq!(gone.stdout, "");
    assert!(gone.stderr.contains("archives are gone"), "{}", gone.stderr);
    assert!(gone.stderr.contains("(expired)"), "{}", gone.stderr);
    assert!(gone.stderr.contains("attempts at other shards"), "{}", gone.stderr);
    let none = run(database.owner(&["scan", "requests", "no host"])).expect_code(2);
    assert!(none.stderr.contains("no host"), "{}", none.stderr);
}

fn public_files(site: &Path) -> BTreeMap<String, Vec<u8>> {
    let prefix = manifest(site)["prefix"].as_str().unwrap().to_owned();
    let folder = site.join(prefix).join("requests");
    if folder.exists() { files(&folder) } else { BTreeMap::new() }
}

/// Returns a host's lines in the file for its hash, as a site owner finds them.
fn looked_up(public: &BTreeMap<String, Vec<u8>>, host: &str) -> Vec<String> {
    let file = format!("{:02x}.tsv.gz", hostname_hash(host) >> 56);
    let mut text = String::new();
    flate2::read::GzDecoder::new(&public[&file][..]).read_to_string(&mut text).unwrap();
    let is_his = |line: &&str| line.split('\t').next() == Some(host);
    text.lines().filter(is_his).map(str::to_owned).collect()
}

fn as_the_page_says(site: &Path, host: &str) -> Vec<String> {
    let page = std::fs::read_to_string(site.join("bot.html")).unwrap();
    let script = page.split("id=\"asked-lines\">").nth(1).unwrap().split("</code>").next().unwrap();
    let line = |line: &str| match line.split('=').next() {
        Some("host") => format!("host={host}\n"),
        Some("site") => format!("site=file://{}/\n", site.display()),
        _ => format!("{line}\n"),
    };
    let script: String = script.lines().map(line).collect();
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{script}{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_site_owner_finds_their_requests_in_the_public_files_until_a_takedown() {
    let internet = internet(150, kinds_of_hosts());
    internet.running.keep_access_log();
    let dir = internet.folder.path();
    let private = dir.join("private").display().to_string();
    let database = Database::new(&internet, Stores::folders(&internet, dir));
    let mut start = database.owner(&["scan", "start", "--crawl", internet.crawl()]);
    start.args(["--lease", LEASE, "--private", &private]).args(database.stores.arguments());
    run(start).expect_code(0);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let site = dir.join("site");
    assert!(public_files(&site).is_empty(), "request files were written without --request-log");
    let publish = || run(database.owner(&["publish", "--request-log"])).expect_code(0);
    let said = publish().stderr;
    assert!(said.contains("requests in 256 files of"), "{said}");
    let public = public_files(&site);
    assert_eq!(public.len(), 257);
    assert_eq!(public["index.json"], br#"{"digits":2}"#);
    let logged = access_log(&internet);
    for (host, paths) in &logged {
        let lines = looked_up(&public, host);
        let mut asked: Vec<String> = lines
            .iter()
            .filter(|line| line.contains("\tGET\t"))
            .map(|line| line.rsplit('\t').next().unwrap())
            .map(|url| url::Url::parse(url).unwrap().path().to_owned())
            .collect();
        asked.sort();
        assert_eq!(&asked, paths, "{host}: {lines:?}");
    }
    publish();
    assert!(public_files(&site) == public, "publishing again must give the same bytes");
    let (host, _) = logged.iter().max_by_key(|(_, paths)| paths.len()).unwrap();
    assert_eq!(as_the_page_says(&site, host), looked_up(&public, host));

    let host = internet.running.hosts().find(|host| !looked_up(&public, host).is_empty()).unwrap();
    let place = site.display().to_string();
    run(database.owner(&["takedown", &host, "--site", &place, "--private", &private]));
    let without = public_files(&site);
    assert!(looked_up(&without, &host).is_empty());
    let changed = public.iter().filter(|(name, bytes)| without[*name] != **bytes).count();
    assert_eq!((changed, without.len()), (1, 257));
    publish();
    assert!(public_files(&site) == without, "a takedown must write the same bytes as publishing");
    // Publishing removes a blocked host from the request files, even without `--request-log`.
    let other =
        internet.running.hosts().find(|host| !looked_up(&without, host).is_empty()).unwrap();
    run(database.owner(&["blocklist", "add", &other])).expect_code(0);
    run(database.owner(&["publish"])).expect_code(0);
    let now = public_files(&site);
    assert!(looked_up(&now, &other).is_empty() && now.len() == 257);
}
