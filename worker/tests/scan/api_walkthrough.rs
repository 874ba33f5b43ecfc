//! Runs the commands in docs/api.md as printed, against the real service and a worker that crawls a
//! small internet.

use std::{
    collections::BTreeSet,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::Command,
};

use everytab_api::ProblemCode;
use everytab_crawl_settings::{
    CAPTURED_OUTCOMES, FAILED_OUTCOMES, LEFT_OUTCOMES, REFUSED_OUTCOMES,
};
use everytab_postgres::shared_for_tests;
use serde_json::{Value, json};

use crate::{
    environment::{Database, Internet, Stores},
    live_crawls::{crawler, graph, graph_of_sites},
    scrape::{address_of, documented, names, scrape, sum},
    setup::{LIMIT, Running, run, wait_for, worker},
};

pub(crate) fn service(database: &Database, store: &Path, more: &[&str]) -> (Running, String) {
    service_with(database, &store.display().to_string(), more, |_| ())
}

/// Like [`service`], for any store. `change` may change the command.
pub(crate) fn service_with(
    database: &Database,
    store: &str,
    more: &[&str],
    change: impl FnOnce(&mut Command),
) -> (Running, String) {
    let arguments = ["--role", "api", "--listen", "127.0.0.1:0", "--to", store];
    let mut command = worker([&["run"], &arguments[..], more].concat());
    change(&mut command);
    command.env("DATABASE_URL", shared_for_tests().url(&database.name, "everytab_api"));
    let running = Running::start(command);
    let address = wait_for("the service's address", || {
        let text = running.stderr_text();
        let (_, rest) = text.split_once("serving the HTTP service address=")?;
        rest.split_whitespace().next().filter(|_| rest.contains('\n')).map(str::to_owned)
    });
    (running, address)
}

pub(crate) fn key(database: &Database, name: &str, more: &[&str]) -> String {
    let made = run(database.owner(&[&["keys", "add", name], more].concat())).expect_code(0);
    made.stdout.trim().to_owned()
}

/// Returns the commands in docs/api.md, except those that set up a service.
fn commands() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/api.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let commands: Vec<_> = blocks.collect();
    assert_eq!(commands.len(), 14, "number of blocks in docs/api.md");
    commands.concat()
}

/// Returns the first two columns of the table with this header.
fn table(text: &str, header: &str) -> BTreeSet<(String, String)> {
    let rows = text.split_once(&format!("| {header} |")).unwrap().1.lines().skip(2);
    let rows = rows.take_while(|row| row.starts_with('|'));
    rows.flat_map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let names = cells[1].split(", ").map(|name| name.trim_matches('`').to_owned());
        names.map(|name| (name, cells[2].to_owned())).collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn the_page_lists_every_outcome_with_its_state_and_every_code_with_its_status() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/api.md");
    let text = std::fs::read_to_string(path).unwrap();
    let states = [
        (CAPTURED_OUTCOMES, "captured"),
        (FAILED_OUTCOMES, "failed"),
        (REFUSED_OUTCOMES, "refused"),
        (LEFT_OUTCOMES, "left"),
    ];
    let outcomes = states.into_iter().flat_map(|(outcomes, state)| {
        outcomes.iter().map(move |name| ((*name).to_owned(), state.to_owned()))
    });
    assert_eq!(table(&text, "outcome"), outcomes.collect());
    let codes = ProblemCode::ALL.iter();
    let codes = codes.map(|code| (code.as_str().to_owned(), code.status().as_u16().to_string()));
    assert_eq!(table(&text, "code"), codes.collect());
}

fn document(folder: &Path, name: &str) -> Value {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"))
}

fn have(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn made(seed: u64) -> (Internet, Database) {
    let internet = graph_of_sites(seed, 6, 120);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    (internet, database)
}

fn assert_contents(folder: &Path) {
    let contents = &document(folder, "contents.json")["contents"];
    assert!(contents["markdown"].is_string() && contents["links"].is_array(), "{contents}");
    let texts = document(folder, "texts.json");
    let mut texts = texts["fetches"].as_array().unwrap().iter();
    assert!(texts.any(|fetch| fetch["contents"]["text"].is_string()));
}

#[test]
fn the_walk_through_goes_from_a_key_to_a_captured_page_and_a_whole_crawl() {
    if !(have("curl") && have("jq")) {
        println!("skipped: docs/api.md: no curl or no jq");
        return;
    }
    let (internet, database) = made(21);
    let store = internet.folder.path().join("crawls");
    let (service, address) = service(&database, &store, &["--metrics", "127.0.0.1:0"]);
    let worker = crawler(&internet, &database, &[]);
    let folder = internet.folder.path().join("walk");
    std::fs::create_dir(&folder).unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", &commands()]).current_dir(&folder);
    let key = key(&database, "a person", &[]);
    let site = graph(&internet).url(graph(&internet).home(0));
    shell.env("API", format!("http://{address}")).env("KEY", &key).env("SITE", &site);
    for proxy in ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"] {
        shell.env_remove(proxy);
    }
    let walked = run(shell).expect_code(0);
    assert!(walked.stdout.contains("line 3: neither a URL nor a hostname"), "{}", walked.stdout);

    let page = document(&folder, "url.json");
    assert_eq!((&page["state"], &page["outcome"]), (&json!("captured"), &json!("ok")), "{page}");
    let record = &page["record"];
    let object = store.join(record["object"].as_str().unwrap());
    let end = record["offset"].as_u64().unwrap() + record["length"].as_u64().unwrap();
    assert!(std::fs::metadata(&object).unwrap().len() >= end, "{record}");
    let again = document(&folder, "again.json");
    assert_eq!((&again["id"], &again["record"]), (&page["id"], record));
    assert_contents(&folder);
    assert_eq!(document(&folder, "problem.json")["code"], "invalid_url");
    assert!(document(&folder, "schedule.json")["next_at"].as_str().unwrap().contains("T03:00:00"));
    assert!(
        walked.stdout.contains("drop https://example.com/shop/1 rules[0]"),
        "{}",
        walked.stdout
    );
    assert_eq!(document(&folder, "filter.json")["version"], 1);
    assert_eq!(document(&folder, "webhook.json")["enabled"], true);
    assert_eq!(document(&folder, "robots.json")["site"], "example.com");
    assert_eq!(document(&folder, "rate.json")["min_delay_ms"], 500);

    let crawl = document(&folder, "crawl.json");
    assert_eq!(crawl["state"], "ended", "{crawl}");
    let text = std::fs::read_to_string(folder.join("fetches.jsonl")).unwrap();
    let fetches: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut ids: Vec<&str> = fetches.iter().map(|fetch| fetch["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), fetches.len(), "a URL was returned twice");
    let number = "select number_of from (select count(*) as number_of from everytab.fetches f \
                  join everytab.crawls c using (crawl) where c.id = ";
    let id = crawl["id"].as_str().unwrap();
    let rows = database.psql(&format!("{number} '{id}') as counted"));
    assert_eq!(rows.trim(), fetches.len().to_string());
    let captured = fetches.iter().filter(|fetch| fetch["state"] == "captured").count();
    assert_eq!(json!(captured), crawl["captured"]);
    assert!((1..=20).contains(&captured), "{captured} pages");

    let series = scrape(&internet, &address_of(&service));
    let requests = |labels| sum(&series, "everytab_api_requests_total", labels);
    assert!(requests(&["route=\"/v1/url/{id}\"", "status=\"2xx\""]) >= 1.0, "{series:?}");
    assert_eq!(requests(&["route=\"/v1/url\"", "status=\"4xx\""]), 1.0, "{series:?}");
    assert_eq!(sum(&series, "everytab_api_submissions_total", &[]), 2.0);
    let of_api = |name: &String| name.starts_with("everytab_api_");
    let known = documented().into_values().filter(of_api).collect::<BTreeSet<_>>();
    assert_eq!(names(&series).into_iter().filter(of_api).collect::<BTreeSet<_>>(), known);

    worker.terminate();
    worker.finish().expect_code(4);
    service.terminate();
    service.finish().expect_code(4);
}

pub(crate) fn ask(address: &str, method: &str, path: &str, key: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    stream
}

pub(crate) fn answer(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_stopping_service_responds_to_waiting_clients_and_exits() {
    let (internet, database) = made(22);
    let store = internet.folder.path().join("crawls");
    let (service, address) = service(&database, &store, &[]);
    let key = key(&database, "a person", &["--urls-a-day", "5", "--min-delay", "1s"]);
    let started = answer(ask(&address, "POST", "/v1/crawls", &key, r#"{"urls": ["a.test"]}"#));
    assert!(started.starts_with("HTTP/1.1 201"), "{started}");
    let (_, id) = started.split_once("\"id\":\"").unwrap();
    let id = id.split('"').next().unwrap();
    let asked_at = || database.psql("select max(at) from everytab.api_usage");
    let before = asked_at();
    let waiting = ask(&address, "GET", &format!("/v1/crawls/{id}?wait=60"), &key, "");
    wait_for("the request that waits", || (asked_at() != before).then_some(()));
    service.terminate();
    let text = answer(waiting);
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("\"running\""), "{text}");
    service.finish().expect_code(4);
}

#[test]
fn keys_are_added_listed_and_revoked_and_the_api_role_needs_its_own_process() {
    let (_internet, database) = made(23);
    let key = key(&database, "a person", &["--crawls", "3", "--max-bytes", "1GiB"]);
    let id = &key[3..15];
    let listed = run(database.owner(&["keys", "list", "--json"])).expect_code(0).stdout;
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!((&listed["key"], &listed["name"]), (&json!(id), &json!("a person")));
    assert_eq!((&listed["max_crawls"], &listed["max_bytes"]), (&json!(3), &json!(1 << 30)));
    let shown = run(database.owner(&["keys", "list"])).expect_code(0).stdout;
    assert!(shown.contains("valid") && !shown.contains(&key[16..]), "{shown}");
    assert!(!database.psql("select * from everytab.api_keys").contains(&key[16..]));
    run(database.owner(&["keys", "revoke", id])).expect_code(0);
    let again = run(database.owner(&["keys", "revoke", id])).expect_code(1);
    assert!(again.stderr.contains("no valid key"), "{}", again.stderr);
    run(database.owner(&["keys", "add", " "])).expect_code(2);
    let mut command = worker(["keys", "add", "a worker"]);
    command.env("DATABASE_URL", &database.worker_url);
    run(command).expect_code(1);
    for wrong in [
        &["--role", "api"][..],
        &["--role", "api,crawl", "--to", "/tmp"],
        &["--role", "api,index", "--to", "/tmp"],
        &["--role", "all,api", "--to", "/tmp"],
    ] {
        run(database.worker(wrong)).expect_code(2);
    }
}
