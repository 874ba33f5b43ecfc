//! What a worker logs while it crawls, and what becomes of hostnames without a scheme.

use std::collections::BTreeMap;

use crate::{
    environment::{Database, Stores},
    live_crawls::{crawler, graph, graph_of_sites},
    setup::run,
};

/// Workers said "no work now" in the middle of a crawl, and nothing of what they fetched.
#[test]
fn a_worker_logs_what_it_crawls_and_hostnames_of_plain_http_are_crawled() {
    let internet = graph_of_sites(35, 6, 60);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let graph = graph(&internet);
    let names: Vec<String> = (0..graph.hosts()).map(|host| graph.host_name(host)).collect();
    let store = internet.folder.path().join("crawls").display().to_string();
    let arguments = ["crawl", "start", "--to", &store, "--delay", "20ms", "--scope", "list"];
    let seeds: Vec<&str> = names.iter().map(String::as_str).collect();
    let started = run(database.owner(&[&arguments[..], &seeds].concat())).expect_code(0);
    assert!(started.stderr.contains(", 0 refused"), "{}", started.stderr);
    let worker = crawler(&internet, &database, &["--exit-when-done"]).finish().expect_code(0);

    let (crawling, _) = worker.stderr.split_once("stopped crawling").unwrap();
    assert!(!crawling.contains("no work now"), "{crawling}");
    let line = crawling.lines().rfind(|line| line.contains("crawled")).unwrap();
    for part in ["pages", "pages_per_second", "bound", "paused_origins"] {
        assert!(line.contains(part), "{line}");
    }

    let sql = "select f.url, f.status, coordinator.via_of(f) from everytab.fetches f";
    let fetches: BTreeMap<String, String> = database
        .psql(sql)
        .lines()
        .filter_map(|line| line.split_once('|'))
        .map(|(url, rest)| (url.to_owned(), rest.to_owned()))
        .collect();
    let mut http = 0;
    for (name, host) in names.iter().zip(0..) {
        let home = format!("https://{name}/");
        let over_https = fetches.get(&home).unwrap_or_else(|| panic!("{home}: {fetches:?}"));
        let over_http = fetches.get(&format!("http://{name}/"));
        if graph.has_https(host) {
            assert_eq!((over_https.as_str(), over_http), ("200|", None), "{home}");
            continue;
        }
        http += 1;
        assert_eq!(over_https, "|", "{home} has no status");
        assert_eq!(over_http, Some(&format!("200|{home}")));
    }
    assert!(http > 0 && http < names.len(), "{http}");
}
