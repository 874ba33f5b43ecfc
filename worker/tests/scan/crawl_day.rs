//! What a worker logs while it crawls, and what becomes of hostnames without a scheme.

use serde_json::Value;

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
    let id = started.stdout.split(' ').next().unwrap().to_owned();
    let worker = crawler(&internet, &database, &["--exit-when-done"]).finish().expect_code(0);

    let (crawling, _) = worker.stderr.split_once("stopped crawling").unwrap();
    assert!(!crawling.contains("no work now"), "{crawling}");
    let line = crawling.lines().rfind(|line| line.contains("crawled")).unwrap();
    for part in ["pages", "pages_per_second", "bound", "paused_origins"] {
        assert!(line.contains(part), "{line}");
    }

    let fetches = run(database.owner(&["crawl", "fetches", &id, "--json", "--limit", "1000"]));
    let fetches: Vec<Value> = fetches
        .expect_code(0)
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |url: String| fetches.iter().find(|fetch| fetch["url"] == url);
    let mut http = 0;
    for (name, host) in names.iter().zip(0..) {
        let home = format!("https://{name}/");
        let over_https = of(home.clone()).unwrap_or_else(|| panic!("{home}: {fetches:?}"));
        if graph.has_https(host) {
            assert_eq!(over_https["status"], 200, "{over_https}");
            assert!(of(format!("http://{name}/")).is_none());
            continue;
        }
        http += 1;
        assert_eq!(over_https["status"], Value::Null, "{over_https}");
        let over_http = of(format!("http://{name}/")).unwrap();
        assert_eq!(
            (&over_http["status"], &over_http["via"]),
            (&Value::from(200), &Value::from(home))
        );
    }
    assert!(http > 0 && http < names.len(), "{http}");
}
