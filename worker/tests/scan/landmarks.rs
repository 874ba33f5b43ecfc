//! Tests the map's landmarks of a whole scan: the best-ranked tabs with icons, without hosts that
//! were taken down.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use crate::setup::{files, folder, manifest, published, run, scan_locally, tabs, worker};

/// A fifth of the generated hosts have a rank.
const SAMPLE: [&str; 5] = ["--sample", "--sample-hosts", "400", "--entries-per-bundle", "5"];

/// A line's hostname, bundle, slot, rank, and remaining fields.
type Line = (String, u64, u64, u64, String);

fn lines(bytes: &[u8]) -> Vec<Line> {
    let text = std::str::from_utf8(bytes).unwrap();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let rest = fields.get(4).map(|rest| (*rest).to_owned()).unwrap_or_default();
        Some((fields[0].to_owned(), number(1)?, number(2)?, number(3)?, rest))
    };
    text.lines().filter_map(line).collect()
}

/// Checks that a site's landmarks are exactly the ranked tabs with icons, each with its host's tab.
/// Returns them.
fn assert_landmarks(site: &Path) -> Vec<Line> {
    let manifest = manifest(site);
    let prefix = site.join(manifest["prefix"].as_str().unwrap());
    let landmarks = lines(&fs::read(prefix.join("map/landmarks.tsv")).unwrap());
    assert!(landmarks.is_sorted_by(|one, other| one.3 < other.3), "{landmarks:?}");
    let entry = |bundle: u64, slot: u64| -> Value {
        let original = format!("tabs/{bundle}.json");
        let path = manifest["overrides"][bundle.to_string()].as_str().unwrap_or(&original);
        let bundle: Value = serde_json::from_slice(&fs::read(prefix.join(path)).unwrap()).unwrap();
        bundle["entries"][usize::try_from(slot).unwrap()].clone()
    };
    // The names without "www.", by rank.
    let mut expected = BTreeMap::new();
    for (name, bytes) in published(site) {
        let is_names = name.starts_with("search/") && name.split('/').count() == 3;
        if is_names && !name.ends_with("index.tsv") && name.ends_with(".tsv") {
            for (host, bundle, slot, rank, _) in lines(&bytes) {
                if entry(bundle, slot)["icon"] != "" {
                    expected.insert(rank, host.trim_start_matches("www.").to_owned());
                }
            }
        }
    }
    let found = landmarks
        .iter()
        .map(|(host, _, _, rank, _)| (*rank, host.trim_start_matches("www.").to_owned()));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
    for (host, bundle, slot, _, icon) in &landmarks {
        let entry = entry(*bundle, *slot);
        assert!(entry["url"].as_str().unwrap().ends_with(&format!("//{host}")), "{host}: {entry}");
        assert_eq!(entry["icon"], icon.as_str(), "{host}");
    }
    landmarks
}

#[test]
fn landmarks_are_the_ranked_tabs_with_their_icons_and_takedowns_remove_them() {
    let folder = folder();
    scan_locally(folder.path(), 2, &SAMPLE);
    let site = folder.path().join("site");
    assert_eq!(manifest(&site)["map"]["landmarks"], true);
    let before = assert_landmarks(&site);
    assert!(before.len() > 20, "{before:?}");
    let bytes: usize = before.iter().map(|line| line.4.len() + 40).sum();
    println!("{} landmarks of {} tabs, {bytes} bytes", before.len(), tabs(&site).len());
    // The best landmark, and one that moves because its bundle's last tab is a landmark, too.
    let best = &before[0];
    let is_before = |(_, bundle, slot, ..): &&Line| {
        before.iter().any(|(_, other, last, ..)| other == bundle && last > slot)
    };
    let moving = before.iter().skip(1).find(is_before).expect("no bundle has two landmarks");
    let store = site.display().to_string();
    run(worker(["takedown", &best.0, &moving.0, "--site", &store])).expect_code(0);
    let after = assert_landmarks(&site);
    assert_eq!(after.len(), before.len() - 2);
    for (name, bytes) in files(&site.join("scans")) {
        let text = format!("\n{}", String::from_utf8_lossy(&bytes));
        for host in [&best.0, &moving.0] {
            assert!(!text.contains(&format!("\n{host}\t")), "{name} names {host}");
        }
    }
}

#[test]
fn a_scan_without_ranks_has_no_landmarks_and_its_manifest_names_none() {
    let folder = folder();
    let sample = ["--sample", "--sample-hosts", "40", "--host-ranks", "none"];
    scan_locally(folder.path(), 1, &sample);
    let site = folder.path().join("site");
    let manifest = manifest(&site);
    assert!(manifest["map"]["side"].is_u64(), "{manifest}");
    assert_eq!(manifest["map"]["landmarks"], Value::Null);
    assert_eq!(published(&site)["map/landmarks.tsv"], b"");
}
