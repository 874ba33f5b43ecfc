//! Tests what an operator sees about a crawl's failures.

use std::{
    collections::BTreeMap,
    io::Write as _,
    process::{Command, Stdio},
};

use everytab_testbed::{Behaviour, GraphSettings, Settings};
use serde_json::Value;

use crate::{
    environment::{Database, Stores, internet_with},
    live_crawls::{crawler, graph, sites, status},
    setup::{Ended, run},
};

/// Converts CSV into a JSON array per line.
const READ_CSV: &str = "import csv, json, sys
for row in csv.reader(sys.stdin, strict=True): print(json.dumps(row))";

fn rows_of_csv(text: &str) -> Option<Vec<Vec<String>>> {
    let python = std::env::var("EVERYTAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let started = Command::new(python)
        .args(["-c", READ_CSV])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut python) = started else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "python3 is missing");
        eprintln!("skipped: the CSV of `crawl report` is not read by Python: there is no python3");
        return None;
    };
    python.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    Some(lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn counts(object: &Value) -> BTreeMap<String, i64> {
    let counts = object.as_object().unwrap().iter();
    counts.map(|(name, count)| (name.clone(), count.as_i64().unwrap())).collect()
}

fn sum(object: &Value) -> i64 {
    counts(object).values().sum()
}

#[test]
fn an_operator_learns_which_urls_failed_and_why() {
    let settings = GraphSettings {
        dead: 250,
        dead_as: vec![Behaviour::DnsNxdomain, Behaviour::Reset],
        ..sites(24, 480)
    };
    let internet = internet_with(|scratch| Settings::graph(9, settings.clone(), scratch));
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let store = internet.folder.path().join("crawls").display().to_string();
    let seed = graph(&internet).url(graph(&internet).home(0));
    let arguments = ["crawl", "start", "--to", &store, "--delay", "20ms", "--scope", "any"];
    let patience = ["--depth", "1000", "--host-patience", "1s", "--retries", "0", &seed];
    let started = run(database.owner(&[&arguments[..], &patience].concat())).expect_code(0);
    let id = started.stdout.split(' ').next().unwrap();
    let crawl = |arguments: &[&str]| -> Ended {
        let mut command = database.owner(&["crawl", arguments[0], id]);
        command.args(&arguments[1..]);
        run(command)
    };

    let nothing = crawl(&["fetches"]).expect_code(0);
    assert_eq!((&*nothing.stdout, &*nothing.stderr), ("", "no fetches are recorded yet\n"));
    let empty = crawl(&["report"]).expect_code(0);
    assert!(empty.stdout.contains("0 known") && !empty.stdout.contains("by "), "{}", empty.stdout);
    assert_eq!(empty.stderr, "no fetches are recorded yet\n");
    let header = "by,value,captured,failed,refused,left,reasons\n";
    assert_eq!(crawl(&["report", "--csv"]).expect_code(0).stdout, header);

    crawler(&internet, &database, &["--exit-when-done"]).finish().expect_code(0);
    let ended = status(&database, id);
    let failures = counts(&ended["failures"]);
    assert_eq!(failures.values().sum::<i64>(), ended["failed"].as_i64().unwrap());
    assert!(failures.len() > 1 && failures.contains_key("http_404_410"), "{failures:?}");
    let shown = crawl(&["status"]).expect_code(0).stdout;
    let line = shown.lines().find(|line| line.starts_with("failed        ")).unwrap();
    assert!(line.contains(&format!("http_404_410 {}", failures["http_404_410"])), "{shown}");

    assert_fetches(&crawl, &failures);
    assert_report(&crawl, &ended, &failures);
}

type Crawl<'a> = &'a dyn Fn(&[&str]) -> Ended;

fn fetches_of(crawl: Crawl<'_>, filter: &[&str]) -> Vec<Value> {
    let found = crawl(&[&["fetches", "--json", "--limit", "1000"], filter].concat());
    let found = found.expect_code(0).stdout;
    found.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn assert_fetches(crawl: Crawl<'_>, failures: &BTreeMap<String, i64>) {
    let fetches = |filter: &[&str]| fetches_of(crawl, filter);
    let all = fetches(&[]);
    for (outcome, count) in failures {
        let found = fetches(&["--outcome", outcome]);
        assert_eq!(found.len(), usize::try_from(*count).unwrap(), "{outcome}");
        assert!(found.iter().all(|fetch| fetch["outcome"] == **outcome && !fetch["via"].is_null()));
    }
    let missing = fetches(&["--status", "404"]);
    let expected: Vec<&Value> = all.iter().filter(|fetch| fetch["status"] == 404).collect();
    assert_eq!(missing.iter().collect::<Vec<_>>(), expected);
    let url = missing[0]["url"].as_str().unwrap();
    let host = url.split('/').nth(2).unwrap().split(':').next().unwrap();
    let of_host = fetches(&["--host", &host.to_uppercase()]);
    let is_of_host = |fetch: &&Value| fetch["url"].as_str().unwrap().contains(&format!("//{host}"));
    assert_eq!(of_host.len(), all.iter().filter(is_of_host).count());
    let both = fetches(&["--host", host, "--outcome", "http_404_410"]);
    assert!(!both.is_empty() && both.len() < of_host.len());
    let first = crawl(&["fetches", "--outcome", "http_404_410", "--limit", "1"]).expect_code(0);
    let via = missing[0]["via"].as_str().unwrap();
    assert!(first.stdout.contains(&format!("found at {via}")), "{}", first.stdout);
    let after = first
        .stderr
        .trim()
        .strip_prefix("there may be more fetches; continue with --after ")
        .unwrap();
    let rest = fetches(&["--outcome", "http_404_410", "--after", after]);
    assert_eq!(rest.len() + 1, usize::try_from(failures["http_404_410"]).unwrap());
    let none = crawl(&["fetches", "--outcome", "tls_handshake"]).expect_code(0);
    assert_eq!(none.stdout, "");
    assert!(none.stderr.contains("no fetch matches; `crawl report`"), "{}", none.stderr);
    for wrong in [["--status", "99"], ["--host", "a/b"], ["--outcome", "no such"]] {
        let refused = crawl(&["fetches", wrong[0], wrong[1]]).expect_code(2);
        assert!(refused.stderr.contains(wrong[0]), "{}", refused.stderr);
    }
}

fn assert_report(crawl: Crawl<'_>, ended: &Value, failures: &BTreeMap<String, i64>) {
    let header = "by,value,captured,failed,refused,left,reasons\n";
    let report = crawl(&["report"]).expect_code(0).stdout;
    for part in ["by outcome", "by status", "by type", "by depth", "by hour", "the worst hosts"] {
        assert!(report.contains(part), "{part}\n{report}");
    }
    let Some(rows) = rows_of_csv(&crawl(&["report", "--csv"]).expect_code(0).stdout) else {
        return;
    };
    assert_eq!(rows[0].join(",") + "\n", header);
    assert!(rows.iter().all(|row| row.len() == 7), "{rows:?}");
    let total = |by: &str, column: usize| -> i64 {
        rows.iter().filter(|row| row[0] == by).map(|row| row[column].parse::<i64>().unwrap()).sum()
    };
    for by in ["outcome", "status", "type", "depth", "hour"] {
        assert_eq!(total(by, 2), ended["captured"].as_i64().unwrap(), "{by}");
        assert_eq!(total(by, 3), ended["failed"].as_i64().unwrap(), "{by}");
        assert_eq!(total(by, 4), sum(&ended["refused"]), "{by}");
        assert_eq!(total(by, 5), sum(&ended["left"]), "{by}");
    }
    // Fewer than a hundred hosts failed, so all are listed.
    assert_eq!(total("host", 3) + total("host", 5), total("outcome", 3) + total("outcome", 5));
    let worst = rows.iter().find(|row| row[0] == "host").unwrap();
    let of_worst = fetches_of(crawl, &["--host", &worst[1]]);
    let bad =
        of_worst.iter().filter(|fetch| failures.contains_key(fetch["outcome"].as_str().unwrap()));
    assert_eq!(bad.count(), worst[3].parse::<usize>().unwrap());
}
