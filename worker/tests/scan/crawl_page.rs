//! Tests the HTTP service's page in real browsers, with a worker that crawls a small internet.
//! `site/tests/crawl-page.mjs` contains the checks.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use everytab_testbed::{GraphSettings, Settings};
use serde_json::{Value, json};

use crate::{
    api_walkthrough::{answer, ask, key, service},
    environment::{Database, Stores, internet_with},
    live_crawls::{crawler, graph},
};

const STRANGE: [&str; 4] = [
    "<img src=x onerror=window.stolen=1><script>window.stolen=1</script>",
    "javascript:window.stolen=1",
    "\u{202e}dlrow eht fo yaw gnorw eht",
    "a-long-name-without-any-place-to-break-it",
];

/// Records fetches with untrusted titles and URLs, as a worker would.
fn record(database: &Database, crawl: &str, first: i64, amount: i64) {
    let title = STRANGE.map(|text| format!("'{text}'")).join(",");
    let last = first + amount - 1;
    database.psql(&format!(
        "insert into everytab.fetches (crawl, host_hash, url_hash, url, at, depth, outcome, slot,
                                       lease_number, epoch, status, bytes, duration_ms, title)
         select c.crawl, 7, n, 'https://strange.test/number ' || (n - {first}) || ' ' || t.title
                              || repeat('x', 1000),
                now(), 0, (array['ok', 'http_5xx', 'robots_disallowed', 'timeout'])[n % 4 + 1], 0,
                1, 0, 200, 12345, 678, repeat(t.title || ' ', 4)
           from generate_series({first}, {last}) n
          cross join everytab.crawls c
          cross join lateral (select (array[{title}])[n % 4 + 1] as title) t
          where c.id = '{crawl}'"
    ));
}

fn scan(database: &Database) {
    database.psql(
        "with new as (insert into everytab.runs (kind, lease_ms, started_at)
                      values ('scan', 60000, now() - interval '2 hours')
                      returning run),
              its as (insert into everytab.scans (scan, scan_id, crawl, settings)
                      select run, gen_random_uuid(), 'CC-MAIN-2026-04', '{}' from new)
         insert into everytab.stages (run, kind, outstanding, done, discarded, started_at,
                                      finished_at)
         select new.run, s.* from new cross join (values
             ('index'::everytab.job_kind, 0, 300, 0, now() - interval '2 hours',
              now() - interval '100 minutes'),
             ('warc', 61200, 28800, 3, now() - interval '100 minutes', null),
             ('icon', 5000, 0, 0, null, null)) s",
    );
}

fn start(address: &str, key: &str, body: &Value) -> (Value, Value) {
    let text = answer(ask(address, "POST", "/v1/crawls", key, &body.to_string()));
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    let mut started: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{text}"));
    (started["id"].take(), started["name"].take())
}

/// Returns what a browser needs: keys, a slow crawl, and an open crawl with records of untrusted
/// pages.
fn visitor(database: &Database, address: &str, seeds: &[String], name: &str) -> Value {
    let generous = ["--requests-per-second", "50", "--burst", "500"];
    let shown = key(database, name, &generous);
    let settings = json!({ "scope": "any", "depth": 9, "delay_ms": 500 });
    let (long, _) = start(address, &shown, &json!({ "urls": seeds, "settings": settings }));
    let (strange, strange_name) = start(address, &shown, &json!({ "urls": [], "more": true }));
    record(database, strange.as_str().unwrap(), 0, 300);
    let seldom = ["--requests-per-second", "0.5", "--burst", "2"];
    json!({
        "key": shown,
        "newKey": key(database, &format!("{name}, new"), &generous),
        "slowKey": key(database, &format!("{name}, slow"), &seldom),
        "long": long,
        "strange": strange,
        "strangeName": strange_name,
    })
}

#[test]
fn the_page_shows_a_crawl_in_chromium_and_firefox() {
    if Command::new("node").arg("--version").output().is_err() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "node is missing");
        println!("skipped: the page of the service in browsers: no node");
        return;
    }
    let internet = internet_with(|scratch| {
        let graph = GraphSettings {
            hosts: 24,
            sites: 24,
            pages: 20_000,
            unavailable: 0,
            crawl_delay: 250,
            crawl_delay_ms: (2_000, 4_000),
            ..GraphSettings::default()
        };
        Settings::graph(31, graph, scratch)
    });
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let store = internet.folder.path().join("crawls");
    let (service, address) = service(&database, &store, &[]);
    let worker = crawler(&internet, &database, &[]);
    scan(&database);
    let graph = graph(&internet);
    let seeds: Vec<String> = (0..12).map(|host| graph.url(graph.home(host))).collect();
    let visitors = ["Chromium", "Firefox"].map(|name| visitor(&database, &address, &seeds, name));

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../site/tests/crawl-page.mjs");
    let settings = json!({
        "service": format!("http://{address}"), "seed": seeds[0], "visitors": visitors,
    });
    let mut command = Command::new("node");
    command.arg(script).arg(settings.to_string());
    let mut node = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut replies = node.stdin.take().unwrap();
    for line in BufReader::new(node.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        println!("{line}");
        if let Some(crawl) = line.strip_prefix("please record a thousand for ") {
            record(&database, crawl, 1_000, 1_000);
            replies.write_all(b"done\n").unwrap();
        }
    }
    assert!(node.wait().unwrap().success(), "{}", service.stderr_text());
    drop((worker, service));
}
