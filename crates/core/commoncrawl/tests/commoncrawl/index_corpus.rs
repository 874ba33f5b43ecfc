//! Schema versions, counts and records in every index file in the corpus.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use everytab_commoncrawl::{
    index::{Capture, IndexCounts},
    warc::{Limits, RecordType, read_record},
};

use crate::support::{corpus, files_below, read_all, read_limited};

fn index_files(corpus: &std::path::Path, part: &str) -> Vec<(String, Bytes)> {
    let files = files_below(&corpus.join("index"));
    files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "parquet"))
        .map(|path| (path.display().to_string(), path))
        .filter(|(name, _)| name.contains(part))
        .map(|(name, path)| (name, Bytes::from(std::fs::read(path).unwrap())))
        .collect()
}

fn crawl(corpus: &std::path::Path, part: &str) -> (BTreeMap<String, Capture>, Vec<IndexCounts>) {
    let mut hosts = BTreeMap::<String, Capture>::new();
    let mut all_counts = Vec::new();
    for (name, file) in index_files(corpus, part) {
        let (captures, counts) = read_all(&file);
        assert_eq!(counts.malformed, 0, "{name}");
        all_counts.push(counts);
        for capture in captures {
            let best = hosts.entry(capture.hostname.clone()).or_insert(capture.clone());
            if capture.preference(best).is_lt() {
                *best = capture;
            }
        }
    }
    (hosts, all_counts)
}

#[test]
fn every_index_file_is_read_and_accounted_for() {
    let Some(corpus) = corpus() else { return };
    let files = index_files(&corpus, "");
    assert!(files.len() >= 20, "{}", files.len());
    for (name, file) in files {
        let (captures, counts) = read_all(&file);
        assert!(counts.rows > 0, "{name}: {counts:?}");
        assert_eq!(counts.malformed, 0, "{name}: {counts:?}");
        let hostnames: BTreeSet<_> = captures.iter().map(|c| &c.hostname).collect();
        assert_eq!(hostnames.len(), captures.len(), "{name}: a sorted file gives a host once");
        let (limited, counts) = read_limited(&file, 3);
        assert_eq!(limited.len(), captures.len().min(3), "{name}: {counts:?}");
    }
}

#[test]
fn the_old_and_the_new_schema_of_the_same_rows_give_the_same_hosts() {
    let Some(corpus) = corpus() else { return };
    let (old, old_counts) = crawl(&corpus, "crawl=CC-MAIN-2099-01/subset=warc");
    let (new, new_counts) = crawl(&corpus, "crawl=CC-MAIN-2099-11/subset=warc");
    assert_eq!(old, new);
    let rows = |counts: &[IndexCounts]| counts.iter().map(|c| c.rows).sum::<u64>();
    assert_eq!((rows(&old_counts), rows(&new_counts)), (1_384, 1_384));
    assert!(old_counts.iter().any(|counts| counts.row_groups > 1));
}

#[test]
fn the_hosts_equal_the_expected_results() {
    let Some(corpus) = corpus() else { return };
    let (hosts, _) = crawl(&corpus, "crawl=CC-MAIN-2099-11/subset=warc");
    let answers = std::fs::read(corpus.join("expected/home_hosts.json")).unwrap();
    let answers: BTreeMap<String, Vec<String>> = serde_json::from_slice(&answers).unwrap();
    for (hostname, capture) in &hosts {
        let place = format!("{}@{}", capture.warc_filename, capture.warc_record_offset);
        let places = answers.get(hostname).unwrap_or_else(|| panic!("{hostname} is not expected"));
        let ends_alike = |known: &String| known == &place || place.ends_with(known.as_str());
        assert!(places.iter().any(ends_alike), "{hostname}: {place} is not in {places:?}");
    }
    let missing: Vec<_> = answers.keys().filter(|name| !hosts.contains_key(*name)).collect();
    println!("answers without a row that passes the filter: {missing:?}");
}

#[test]
fn every_row_points_to_one_record_of_its_host() {
    let Some(corpus) = corpus() else { return };
    let mut checked = 0;
    for part in ["cc-index/table/cc-main/warc/crawl=CC-MAIN-2099-01", "crawl=CC-MAIN-2099-11"] {
        for (_, file) in index_files(&corpus, part) {
            for capture in read_all(&file).0 {
                let warc = std::fs::read(corpus.join(&capture.warc_filename))
                    .or_else(|_| std::fs::read(corpus.join("index").join(&capture.warc_filename)));
                let warc = warc.unwrap_or_else(|error| panic!("{capture:?}: {error}"));
                let start = capture.warc_record_offset as usize;
                let member = &warc[start..start + capture.warc_record_length as usize];
                let record = read_record(member, Limits::default()).unwrap();
                assert_eq!(record.record_type, RecordType::Response);
                let uri = record.target_uri().unwrap();
                let prefix = format!("{}://{}/", capture.protocol.as_str(), capture.hostname);
                assert!(format!("{uri}/").starts_with(&prefix), "{uri} is not {prefix}");
                assert_eq!(record.http_response().unwrap().status, 200);
                checked += 1;
            }
        }
    }
    assert!(checked > 200, "{checked}");
}
