//! Tests of `stats.json`.

use super::*;

fn numbers() -> ScanNumbers {
    let count = |stage: &str, section, name: &str, amount| StageCount {
        stage: stage.into(),
        section,
        name: name.into(),
        amount,
    };
    use CountSection::{Counts, Inputs, Outcomes};
    ScanNumbers {
        counts: vec![
            count("warc", Inputs, "hosts", 9),
            count("warc", Outcomes, "ok", 7),
            count("warc", Counts, "duplicate_captures", 1),
            count("index", Outcomes, "duplicate", 2),
            count("icon", Inputs, "candidates", 20),
            count("icon", Counts, "source_link_rel", 4),
            count("icon", Counts, "type_image/png", 3),
            count("icon", Counts, "with_validator", 3),
            count("icon", Counts, "fresh_for_30_days", 2),
            count("icon", Counts, "fresh_for_90_days", 1),
            count("publish", Counts, "icons_compared", 6),
            count("publish", Counts, "icons_unchanged", 5),
            count("icon", Counts, "lookups", 3),
            count("icon", Counts, "lookups_ms", 10),
            count("icon", Counts, "lookups_within_10_ms", 2),
            count("icon", Counts, "at_once_per_host_2", 3),
            count("icon", Counts, "at_once_per_host_10", 1),
            count("icon", Counts, "at_once_per_host_64", 0),
            count("bundle-shard", Counts, "bundles", 2),
            count("bundle-shard", Counts, "bundle_bytes", 901),
            count("search", Counts, "tld_org", 5),
        ],
        stages: vec![StageTimes {
            stage: "warc".into(),
            started_at: Some("2026-01-01T00:00:00+00:00".into()),
            finished_at: None,
            duration_seconds: None,
            done: 3,
            discarded: 1,
        }],
        fetches: FetchTotals { completed: 4, failed_dns: 16, ..FetchTotals::default() },
    }
}

fn manifest() -> Manifest {
    let json = r#"{"scan":"01900000-0000-7000-8000-000000000001","crawl":"c","bundles":2,
        "prefix":"p/","generated_at":"t","hosts":7,"with_icon":3}"#;
    Manifest::read(json.as_bytes()).unwrap()
}

#[test]
fn each_number_stands_under_the_name_that_readers_know() {
    let document = stats_document(&numbers(), &manifest());
    for (field, value) in [
        ("total_domains", json!(9)),
        ("titles_extracted", json!(7)),
        ("duplicates_removed", json!(3)),
        ("attempted", json!(20)),
        ("completed", json!(4)),
        ("failed_dns", json!(16)),
        ("icons_with_validator", json!(3)),
        ("icons_fresh_for_30_days", json!(2)),
        ("icons_fresh_for_90_days", json!(1)),
        ("icons_compared", json!(6)),
        ("icons_unchanged", json!(5)),
        ("icons_by_source", json!({"link_rel": 4})),
        ("icons_by_type", json!({"image/png": 3})),
        ("top_level_domains", json!({"org": 5})),
        ("common_icons", json!({})),
        ("avg_bundle_size_bytes", json!(450)),
        ("tabs", json!(7)),
        ("tabs_with_icon", json!(3)),
    ] {
        assert_eq!(document[field], value, "{field}");
    }
    let fetching = &document["fetching"];
    assert_eq!(fetching["lookups_mean_ms"], 3);
    assert_eq!(fetching["lookups_within_100_ms"], 2);
    assert_eq!(fetching["most_at_once_per_host"], 10);
    assert_eq!(fetching["most_at_once_per_address"], Value::Null);
}

#[test]
fn a_stage_shows_its_times_and_all_its_counts() {
    let document = stats_document(&numbers(), &manifest());
    let expected = json!({
        "started": "2026-01-01T00:00:00+00:00", "finished": null, "duration_seconds": null,
        "jobs": 3, "discarded": 1, "inputs": {"hosts": 9}, "outcomes": {"ok": 7},
        "counts": {"duplicate_captures": 1},
    });
    assert_eq!(document["stages"], json!({"warc": expected}));
}
