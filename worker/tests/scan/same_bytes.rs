//! Tests that published files do not depend on the number of workers.

use std::{fs, thread};

use everytab_webpage::tab_title;
use serde_json::Value;

use crate::{
    outcomes,
    setup::{assert_same, corpus, folder, published, scan_locally, tabs},
};

#[test]
fn three_workers_and_one_write_the_same_bytes_of_the_recorded_sample() {
    let Some(corpus) = corpus() else { return };
    let sample = corpus.display().to_string();
    let (three, one) = scan_with_three_and_one(&["--sample", &sample]);
    every_home_page_with_a_title_is_a_tab(&corpus, one.path());
    outcomes::assert_totals(&one.path().join("site"));
    outcomes::assert_totals(&three.path().join("site"));
}

#[test]
fn three_workers_and_one_write_the_same_bytes_of_the_generated_sample() {
    let (three, one) = scan_with_three_and_one(&["--sample", "--sample-hosts", "400"]);
    outcomes::assert_totals(&one.path().join("site"));
    outcomes::assert_totals(&three.path().join("site"));
}

fn scan_with_three_and_one(sample: &[&str]) -> (tempfile::TempDir, tempfile::TempDir) {
    let (three, one) = (folder(), folder());
    thread::scope(|scope| {
        scope.spawn(|| scan_locally(three.path(), 3, sample));
        scan_locally(one.path(), 1, sample);
    });
    let left = published(&three.path().join("site"));
    assert_same(&left, &published(&one.path().join("site")), "3 workers and 1");
    (three, one)
}

/// Two HTML parsers agree on the expected titles; see the sample's README.
fn every_home_page_with_a_title_is_a_tab(corpus: &std::path::Path, dir: &std::path::Path) {
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(corpus.join("expected").join(name)).unwrap()).unwrap()
    };
    let (hosts, pages) = (read("home_hosts.json"), read("warc_pages.json"));
    let tabs = tabs(&dir.join("site"));
    let mut missing = Vec::new();
    let mut with_title = 0;
    for (host, records) in hosts.as_object().unwrap() {
        // The index chooses one of a host's captures, so each of their titles is right.
        let titles: Vec<String> = records
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|record| pages[record.as_str().unwrap()]["title"].as_str())
            .map(tab_title)
            .filter(|title| !title.is_empty())
            .collect();
        let tab = tabs.iter().find(|tab| {
            let url = tab["url"].as_str().unwrap();
            url.split_once("://").is_some_and(|(_, name)| name == host)
        });
        let shown = tab.and_then(|tab| tab["title"].as_str());
        with_title += usize::from(!titles.is_empty());
        let is_right = match shown {
            Some(shown) => titles.iter().any(|title| title == shown),
            None => titles.is_empty(),
        };
        if !is_right {
            missing.push(format!("{host}: {shown:?} instead of {titles:?}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(with_title > 100, "only {with_title} hosts have a title");
    assert_eq!(tabs.len(), with_title);
}
