//! `stats.json`: what a scan did, stage by stage, and under the names that readers know.

use everytab_coordinator::OutcomeCount;
use everytab_fetcher::{Outcome, SeedName};
use serde_json::{Map, Value, json};

use crate::jobs::{Manifest, totals};

/// The document. Each icon outcome is counted under exactly one of the failed_ names or completed.
pub fn document(outcomes: &[OutcomeCount], status: &Value, manifest: &Manifest) -> Value {
    let sum = |kind: &str, key: &str, name: &str| totals(outcomes, kind, key, |n| n == name);
    let count = |kind: &str, name: &str| sum(kind, "counts", name);
    let seed = |wanted: SeedName| {
        totals(outcomes, "icon", "outcomes", |name| {
            Outcome::parse(name).map_or(SeedName::FailedOther, Outcome::seed_name) == wanted
        })
    };
    let by_prefix = |kind: &str, prefix: &str| -> Map<String, Value> {
        outcomes
            .iter()
            .filter(|count| count.kind == kind && count.key == "counts")
            .filter_map(|count| Some((count.name.strip_prefix(prefix)?, count.amount)))
            .map(|(name, amount)| (name.to_owned(), amount.into()))
            .collect()
    };
    let bundles = count("bundle-shard", "bundles").max(1);
    let mut document = json!({
        "scan": manifest.scan,
        "crawl": manifest.crawl,
        "generated_at": manifest.generated_at,
        "total_domains": sum("warc", "inputs", "hosts"),
        "https": count("warc", "https"),
        "http_only": count("warc", "http_only"),
        "duplicates_removed": sum("index", "outcomes", "duplicate")
            + count("warc", "duplicate_captures"),
        "titles_extracted": sum("warc", "outcomes", "ok"),
        "icons_found": count("warc", "candidates"),
        "iframe_restricted": count("warc", "iframe_restricted"),
        "attempted": sum("icon", "inputs", "candidates"),
        "completed": seed(SeedName::Completed),
        "failed_dns": seed(SeedName::FailedDns),
        "failed_timeout": seed(SeedName::FailedTimeout),
        "failed_http_error": seed(SeedName::FailedHttpError),
        "failed_invalid_image": seed(SeedName::FailedInvalidImage),
        "failed_too_large": seed(SeedName::FailedTooLarge),
        "failed_other": seed(SeedName::FailedOther),
        "unique_icons_stored": count("icon", "unique_icons_stored"),
        "dedup_hits": count("icon", "dedup_hits"),
        "bytes_downloaded": count("icon", "bytes_downloaded"),
        "icons_by_source": by_prefix("icon", "source_"),
        "icons_by_type": by_prefix("icon", "type_"),
        "certificates": by_prefix("icon", "certificate_"),
        "fetching": fetching(outcomes),
        "excluded_no_title": sum("bundle-shard", "outcomes", "excluded_no_title"),
        "opted_out": sum("bundle-shard", "outcomes", "opted_out"),
        "conversion_failures": by_prefix("bundle-shard", "conversion_failed_"),
        "selected_by_format": by_prefix("bundle-shard", "selected_"),
        "blank_icons": count("bundle-shard", "blank"),
        "common_icons": by_prefix("bundle-shard", "common_icon_"),
        "top_level_domains": by_prefix("search", "tld_"),
        "tabs": manifest.hosts,
        "tabs_with_icon": manifest.with_icon,
        "total_bundles": manifest.bundles,
        "avg_bundle_size_bytes": count("bundle-shard", "bundle_bytes") / bundles,
    });
    document["stages"] = stages(outcomes, status);
    document
}

/// How the icons were fetched: look-ups, connections, and the most at once that any shard saw.
fn fetching(outcomes: &[OutcomeCount]) -> Value {
    let counts = || outcomes.iter().filter(|one| one.kind == "icon" && one.key == "counts");
    let count = |name: &str| totals(outcomes, "icon", "counts", |n| n == name);
    // A shard counts one under the maximum that it saw.
    let most = |prefix: &str| {
        let seen = counts().filter(|one| one.amount > 0);
        seen.filter_map(|one| one.name.strip_prefix(prefix)?.parse::<u64>().ok()).max()
    };
    let within = |ms: &str| count(&format!("lookups_within_{ms}_ms"));
    let quick = within("1") + within("10") + within("100");
    json!({
        "lookups": count("lookups"),
        "lookups_mean_ms": count("lookups_ms") / count("lookups").max(1),
        "lookups_within_100_ms": quick,
        "connections_tried": count("connections_tried"),
        "connections_reused": count("connections_reused"),
        "robots_requests": count("robots_requests"),
        "robots_refusals": totals(outcomes, "icon", "outcomes", |n| n == "robots_disallowed"),
        "addresses_slowed_down": count("slowed_down"),
        "most_at_once_per_host": most("at_once_per_host_"),
        "most_at_once_per_address": most("at_once_per_address_"),
        "seconds_on_the_wire": count("on_the_wire_ms") / 1_000,
        "seconds_until_timeouts": count("timed_out_ms") / 1_000,
    })
}

fn stages(outcomes: &[OutcomeCount], status: &Value) -> Value {
    let mut stages = Map::new();
    for stage in status["stages"].as_array().into_iter().flatten() {
        let kind = stage["kind"].as_str().unwrap_or_default();
        let section = |key: &str| -> Map<String, Value> {
            outcomes
                .iter()
                .filter(|count| count.kind == kind && count.key == key)
                .map(|count| (count.name.clone(), count.amount.into()))
                .collect()
        };
        stages.insert(
            kind.to_owned(),
            json!({
                "started": stage["started_at"],
                "finished": stage["finished_at"],
                "duration_seconds": duration_seconds(stage),
                "jobs": stage["done"],
                "discarded": stage["discarded"],
                "inputs": section("inputs"),
                "outcomes": section("outcomes"),
                "counts": section("counts"),
            }),
        );
    }
    stages.into()
}

/// How long a stage took, or has taken by the time of the status document.
pub fn duration_seconds(stage: &Value) -> Option<f64> {
    let time = |value: &Value| value.as_str()?.parse::<chrono::DateTime<chrono::Utc>>().ok();
    let duration = time(&stage["finished_at"])? - time(&stage["started_at"])?;
    Some(duration.as_seconds_f64().max(0.0))
}
