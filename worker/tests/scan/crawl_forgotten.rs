//! Tests that forgotten captures are no longer served, and are removed from archives and indexes.

use std::{collections::BTreeMap, fs, path::Path};

use everytab_commoncrawl::warc::{Limits, Records};
use everytab_frontier::{CanonicalUrl, DEFAULT_SUFFIX_LIST, ParameterList, SuffixList};
use everytab_testbed::{GraphSettings, Settings};

use crate::{
    crawled_tabs::{bucket_of, cdxj_lines, crawled, repeat},
    environment::{Database, Stores, internet_with},
    live_crawls::{crawler, graph, graph_of_sites, key_of, recorded, sites, status},
    setup::{files, run},
};

fn records(folder: &Path) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for (name, bytes) in files(folder) {
        if !name.ends_with(".warc.gz") {
            continue;
        }
        for (_, record) in Records::new(&bytes, Limits::default()) {
            if let Some(url) = record.unwrap().target_uri() {
                *found.entry(key_of(&url)).or_default() += 1;
            }
        }
    }
    found
}

/// A site's file is stored once, even under many URLs. Forgetting the URL of this record forgets
/// the file for all of them.
#[test]
fn fetches_that_refer_to_a_forgotten_record_are_forgotten_too() {
    let settings = GraphSettings { media: 500, copies: 1_000, ..sites(8, 300) };
    let internet = internet_with(|scratch| Settings::graph(27, settings, scratch));
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let (_, name) = crawled(&internet, &database);
    let query = |sql: &str| database.psql(sql).trim().to_owned();
    let url = query(
        "select body_url from everytab.fetches where body_url is not null
          group by body_url order by count(*) desc, body_url limit 1",
    );
    let named = format!("from everytab.fetches where body_url = '{url}'");
    let number: usize = query(&format!("select count(*) {named}")).parse().unwrap();
    assert!(number > 3, "{number}");
    let lines = || cdxj_lines(&bucket_of(&internet), &name).len();
    let segments = bucket_of(&internet).join(format!("crawl-data/{name}/segments"));
    let copies = query(&format!("select url {named}"));
    let is_forgotten =
        |key: &str| key == key_of(&url) || copies.lines().any(|copy| key == key_of(copy));
    let (before, records_before) = (lines(), records(&segments));
    let forgotten = ["crawl", "forget", "--url", &url];
    let said = run(database.owner(&forgotten)).expect_code(0).stdout;
    let all = number + 1;
    assert_eq!(said.trim(), format!("{all} captures of the url {url} are forgotten"));
    run(database.owner(&["crawl", "gc"])).expect_code(0);
    let kept = records_before.into_iter().filter(|(key, _)| !is_forgotten(key));
    assert_eq!(records(&segments), kept.collect());
    assert_eq!(query(&format!("select count(*) {named} and sha256 is not null")), "0");
    crawler(&internet, &database, &["--exit-when-done"]).finish().expect_code(0);
    assert_eq!(lines(), before - all);
    let again = run(database.owner(&["crawl", "gc"])).expect_code(0).stderr;
    assert!(again.contains("0 records removed from 0 archives"), "{again}");
}

#[test]
fn only_forgotten_captures_are_removed_from_archives_and_indexes() {
    let internet = graph_of_sites(23, 12, 300);
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let (_, name) = crawled(&internet, &database);
    let bucket = bucket_of(&internet);
    let segments = bucket.join(format!("crawl-data/{name}/segments"));
    let before = records(&segments);
    let sizes = |folder: &Path| {
        let all = files(folder).into_iter();
        all.map(|(name, bytes)| (name, bytes.len())).collect::<BTreeMap<_, _>>()
    };
    let sizes_before = sizes(&segments);
    let world = graph(&internet);
    let suffixes = SuffixList::parse(DEFAULT_SUFFIX_LIST, &[]).unwrap();
    let site_of = |url: &str| {
        let url = CanonicalUrl::parse(url, &ParameterList::default()).unwrap();
        suffixes.site_of(url.host()).to_owned()
    };
    let outcomes = recorded(&database, &name);
    let captured = |url: &String| outcomes.get(url).is_some_and(|outcome| outcome == "ok");
    let site = site_of(&world.url(world.home(world.hosts() - 1)));
    let url = before.keys().find(|url| captured(url) && site_of(url) != site).unwrap().clone();
    let is_forgotten = |key: &str| key == url || site_of(key) == site;
    assert!(before.keys().filter(|key| is_forgotten(key)).count() > 2);

    let refused = |arguments: &[&str]| {
        let all = [&["crawl", "forget"], arguments].concat();
        run(database.owner(&all)).expect_code(2).stderr
    };
    assert!(refused(&["--site", &format!("www.{site}")]).contains(&format!("of the site {site}")));
    assert!(refused(&["--url", "mailto:a@b"]).contains("neither http nor https"));
    assert!(refused(&[]).contains("--site <SITE>"));
    let nothing = run(database.owner(&["crawl", "gc"])).expect_code(0).stderr;
    assert!(nothing.contains("0 records removed from 0 archives"), "{nothing}");

    run(database.owner(&["crawl", "forget", "--site", &site])).expect_code(0);
    let said = run(database.owner(&["crawl", "forget", "--url", &url])).expect_code(0).stdout;
    assert_eq!(said.trim(), format!("1 captures of the url {url} are forgotten"));
    run(database.owner(&["crawl", "gc", "--dry-run"])).expect_code(0);
    assert_eq!(records(&segments), before, "a dry run changes nothing");
    run(database.owner(&["crawl", "gc"])).expect_code(0);
    let kept = before.iter().filter(|(key, _)| !is_forgotten(key));
    assert_eq!(records(&segments), kept.map(|(key, count)| (key.clone(), *count)).collect());
    assert_eq!(sizes(&segments), sizes_before, "all other records must remain where they are");
    let says = "select count(*) from everytab.fetches where title is not null and url = ";
    assert_eq!(database.psql(&format!("{says}'{url}'")).trim(), "0");

    assert_eq!(status(&database, &name)["indexes"], "pending");
    crawler(&internet, &database, &["--exit-when-done"]).finish().expect_code(0);
    let listed = cdxj_lines(&bucket, &name);
    assert!(listed.len() > 100);
    for (_, line) in &listed {
        assert!(!is_forgotten(&key_of(line["url"].as_str().unwrap())), "{line}");
    }
    let again = run(database.owner(&["crawl", "gc"])).expect_code(0).stderr;
    assert!(again.contains("0 records removed from 0 archives"), "{again}");

    // A repetition stores a forgotten URL as new, because it has no earlier capture.
    let started = run(repeat(&internet, &database, &name)).expect_code(0).stdout;
    let second = started.split(' ').next().unwrap().to_owned();
    crawler(&internet, &database, &["--exit-when-done"]).finish().expect_code(0);
    let outcomes = recorded(&database, &second);
    assert_eq!(outcomes.get(&url).map(String::as_str), Some("ok"));
    let unchanged = outcomes.iter().filter(|(_, outcome)| *outcome == "not_modified");
    assert!(unchanged.clone().count() > 50);
    assert!(unchanged.into_iter().all(|(url, _)| !is_forgotten(url)));
    fs::metadata(bucket.join("collinfo.json")).unwrap();
}
