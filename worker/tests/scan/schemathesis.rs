//! Runs Schemathesis, which sends valid and invalid requests generated from the OpenAPI
//! description, against a live service. The random requests take minutes, so only
//! scripts/stress/schemathesis.sh runs this test.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    api_client::Client,
    api_walkthrough::{key, service},
    environment::{Database, Stores},
    live_crawls::{crawler, graph, graph_of_sites},
    setup::run,
};

/// The only check that may fail, because the service rejects some requests that the schema allows.
/// The schema cannot express that a string is a URL, a pattern, a cursor or a hostname, that fields
/// exclude each other, or that an integer must not be written as 6.0.
const NO_FAULTS: [&str; 1] = ["ST202"];
/// Timeout for a response in seconds: the maximum wait of a request, and some margin.
const ANSWER_S: &str = "90";

/// Sends requests for a while, and returns those with a response in HAR form. With `id`, every path
/// uses this id.
fn answered(address: &str, key: &str, har: &Path, id: Option<&str>) -> Vec<Value> {
    let program = std::env::var("SCHEMATHESIS").unwrap_or("schemathesis".to_owned());
    let seconds = std::env::var("SECONDS_A_KEY").unwrap_or("120".to_owned());
    let config = har.with_extension("toml");
    let ids = id.map(|id| format!("[parameters]\n\"path.id\" = \"{id}\"\n"));
    std::fs::write(&config, ids.unwrap_or_default()).unwrap();
    let mut command = Command::new(program);
    command.arg("--config-file").arg(config).arg("run");
    command.arg(format!("http://{address}/openapi.json"));
    command.arg("--header").arg(format!("Authorization: Bearer {key}"));
    command.args(["--checks", "all", "--max-time", &seconds, "--continue-on-failure"]);
    command.args(["--max-response-time", ANSWER_S, "--request-timeout", ANSWER_S]);
    command.args(["--suppress-health-check", "all", "--generation-database", "none"]);
    if id.is_some() {
        // Resources that the run creates are not found, because every path uses another id.
        command.args(["--exclude-checks", "ensure_resource_availability"]);
    }
    command.arg("--report-har-path").arg(har).arg("--no-color");
    let ended = run(command);
    println!("{}", ended.stdout);
    let (_, summary) = ended.stdout.split_once("= SUMMARY =").unwrap_or_default();
    let numbers = summary.lines().filter_map(|line| line.trim().strip_prefix('\u{274c}'));
    let numbers = numbers.filter_map(|line| line.split_whitespace().next());
    let faults: Vec<&str> =
        numbers.filter(|word| word.starts_with("ST") && !NO_FAULTS.contains(word)).collect();
    assert_eq!(faults, Vec::<&str>::new(), "Schemathesis reports faults");
    let text = std::fs::read_to_string(har).unwrap();
    let har: Value = serde_json::from_str(&text).unwrap();
    har["log"]["entries"].as_array().unwrap().clone()
}

fn expect(entries: &[Value], is_meant: impl Fn(&str) -> bool, is_right: impl Fn(u64) -> bool) {
    assert!(!entries.is_empty(), "no request was answered");
    // OPTIONS needs no key, because it only lists a path's methods.
    for entry in entries.iter().filter(|entry| entry["request"]["method"] != "OPTIONS") {
        let url = entry["request"]["url"].as_str().unwrap();
        let status = entry["response"]["status"].as_u64().unwrap();
        assert!(!is_meant(url) || is_right(status), "{status}: {entry}");
    }
}

#[test]
#[ignore = "it takes minutes: make schemathesis"]
fn no_key_gets_what_is_not_its_own_and_nothing_fails() {
    let internet = graph_of_sites(25, 6, 120);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let folder = internet.folder.path();
    let store = internet.folder.path().join("crawls");
    let (service, address) = service(&database, &store, &[]);
    let worker = crawler(&internet, &database, &[]);
    let fast = ["--requests-per-second", "1000", "--burst", "10000"];
    let [own, revoked, foreign] =
        ["valid", "revoked", "foreign"].map(|name| key(&database, name, &fast));
    run(database.owner(&["keys", "revoke", &revoked[3..15]])).expect_code(0);
    let client = Client { address: address.clone(), key: own.clone() };
    let site = graph(&internet).url(graph(&internet).home(0));
    let crawl = client.post("/v1/crawls", &json!({ "urls": [site], "settings": { "depth": 1 } }));
    let id = crawl["id"].as_str().unwrap();
    let har = |name: &str| -> PathBuf { folder.join(name) };

    let entries = answered(&address, &own, &har("valid.har"), None);
    expect(&entries, |_| true, |status| status < 500);
    let entries = answered(&address, &revoked, &har("revoked.har"), None);
    let needs_key = |url: &str| !url.ends_with("/healthz") && !url.ends_with("/readyz");
    expect(&entries, needs_key, |status| (400..500).contains(&status));
    let entries = answered(&address, &foreign, &har("foreign.har"), Some(id));
    assert!(entries.iter().any(|entry| entry["request"]["url"].as_str().unwrap().contains(id)));
    expect(&entries, |url| url.contains(id), |status| (400..500).contains(&status));
    worker.terminate();
    worker.finish().expect_code(4);
    service.terminate();
    service.finish().expect_code(4);
}
