//! Tests that every input to a scan is counted under exactly one outcome.

use std::{fs, path::Path};

use serde_json::Value;

use crate::setup::{manifest, tabs};

const FAILED: [&str; 6] = [
    "failed_dns",
    "failed_timeout",
    "failed_http_error",
    "failed_invalid_image",
    "failed_too_large",
    "failed_other",
];

/// Fails unless the counts in a site's stats.json add up and agree with the manifest and the tabs.
pub(crate) fn assert_totals(site: &Path) {
    let stats: Value = serde_json::from_slice(&fs::read(site.join("stats.json")).unwrap()).unwrap();
    let number = |name: &str| stats[name].as_u64().unwrap_or_else(|| panic!("{name}: {stats}"));
    let sum = |kind: &str, key: &str| -> u64 {
        let section = stats["stages"][kind][key].as_object().unwrap();
        section.values().map(|amount| amount.as_u64().unwrap()).sum()
    };
    for kind in ["index", "warc", "icon", "bundle-shard", "search", "map", "publish"] {
        let (inputs, outcomes) = (sum(kind, "inputs"), sum(kind, "outcomes"));
        assert_eq!(inputs, outcomes, "{kind}: {}", stats["stages"][kind]);
        // The publish job writes this document, so it has not ended yet.
        assert!(inputs > 0 || kind == "publish", "{kind} had no input");
    }
    let failed: u64 = FAILED.into_iter().map(number).sum();
    assert_eq!(number("attempted"), number("completed") + failed, "{stats}");
    let hosts = number("tabs") + number("excluded_no_title") + number("opted_out");
    assert_eq!(number("total_domains"), hosts, "{stats}");
    assert_eq!(number("total_domains"), number("https") + number("http_only"), "{stats}");
    assert_eq!(number("attempted"), number("icons_found"), "{stats}");
    let manifest = manifest(site);
    assert_eq!(stats["tabs"], manifest["hosts"]);
    assert_eq!(stats["total_bundles"], manifest["bundles"]);
    let tabs = tabs(site);
    assert_eq!(number("tabs"), tabs.len() as u64);
    let with_icon = tabs.iter().filter(|tab| tab["icon"] != "").count();
    assert_eq!(number("tabs_with_icon"), with_icon as u64);
}
