//! `stats.json`: a scan's numbers, by stage and as totals.

use serde_json::{Map, Value, json};

use crate::{
    manifest::Manifest,
    stats_names::{CountFamily, CountName, InputName, OutcomeName, StageName},
};

/// The section of a [`StageCount`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountSection {
    /// The stage's inputs.
    Inputs,
    /// The inputs' outcomes.
    Outcomes,
    /// All other counts from the stage's jobs.
    Counts,
}

impl CountSection {
    /// Parses a section's name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "inputs" => Some(Self::Inputs),
            "outcomes" => Some(Self::Outcomes),
            "counts" => Some(Self::Counts),
            _ => None,
        }
    }
}

/// A number for a stage, summed over its jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageCount {
    /// The stage, by its [`StageName`].
    pub stage: String,
    /// This number's section.
    pub section: CountSection,
    /// The count's name.
    pub name: String,
    /// The count.
    pub amount: u64,
}

/// A stage's times, and its number of jobs by result.
#[derive(Debug, Clone, PartialEq)]
pub struct StageTimes {
    /// The stage, by its [`StageName`].
    pub stage: String,
    /// When the stage's first job was leased, in RFC 3339 format.
    pub started_at: Option<String>,
    /// When the stage's last job ended, in RFC 3339 format.
    pub finished_at: Option<String>,
    /// Seconds between start and end.
    pub duration_seconds: Option<f64>,
    /// Jobs that succeeded.
    pub done: i64,
    /// Discarded jobs.
    pub discarded: i64,
}

/// Icon candidate fetches by outcome. Every fetch is counted in exactly one of the first seven
/// fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FetchTotals {
    /// Fetches that returned an icon.
    pub completed: u64,
    /// Fetches whose name resolution failed.
    pub failed_dns: u64,
    /// Fetches that took too long.
    pub failed_timeout: u64,
    /// Fetches that got an error status from the server.
    pub failed_http_error: u64,
    /// Fetches whose body is not a usable image.
    pub failed_invalid_image: u64,
    /// Fetches whose body or image exceeds the limits.
    pub failed_too_large: u64,
    /// Fetches that failed in any other way.
    pub failed_other: u64,
    /// Fetches that robots.txt forbids. These are also counted above.
    pub robots_refusals: u64,
}

/// A scan's numbers for `stats.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanNumbers {
    /// All counts for all stages.
    pub counts: Vec<StageCount>,
    /// The stages, in any order.
    pub stages: Vec<StageTimes>,
    /// Icon candidate fetches.
    pub fetches: FetchTotals,
}

impl ScanNumbers {
    /// Returns the number of a stage's inputs with this outcome.
    #[must_use]
    pub fn outcome(&self, stage: StageName, name: OutcomeName) -> u64 {
        self.sum(stage, CountSection::Outcomes, name.as_str())
    }

    fn input(&self, stage: StageName, name: InputName) -> u64 {
        self.sum(stage, CountSection::Inputs, name.as_str())
    }

    /// Returns a count that is neither an input nor an outcome.
    #[must_use]
    pub fn count(&self, stage: StageName, name: CountName) -> u64 {
        self.sum(stage, CountSection::Counts, name.as_str())
    }

    fn sum(&self, stage: StageName, section: CountSection, name: &str) -> u64 {
        let named = self.of(stage.as_str(), section).filter(|count| count.name == name);
        named.map(|count| count.amount).sum()
    }

    fn of(&self, stage: &str, section: CountSection) -> impl Iterator<Item = &StageCount> {
        let fits = move |count: &&StageCount| count.stage == stage && count.section == section;
        self.counts.iter().filter(fits)
    }

    fn family(&self, stage: StageName, family: CountFamily) -> Map<String, Value> {
        self.of(stage.as_str(), CountSection::Counts)
            .filter_map(|count| Some((family.member(&count.name)?, count.amount)))
            .map(|(member, amount)| (member.to_owned(), amount.into()))
            .collect()
    }

    fn largest(&self, stage: StageName, family: CountFamily) -> Option<u64> {
        let counted =
            self.of(stage.as_str(), CountSection::Counts).filter(|count| count.amount > 0);
        counted.filter_map(|count| family.member(&count.name)?.parse().ok()).max()
    }
}

/// Returns the document.
#[must_use]
pub fn stats_document(numbers: &ScanNumbers, manifest: &Manifest) -> Value {
    let warc = |name| numbers.count(StageName::Warc, name);
    let icon = |name| numbers.count(StageName::Icon, name);
    let bundled = |name| numbers.count(StageName::BundleShard, name);
    let published = |name| numbers.count(StageName::Publish, name);
    let fetches = numbers.fetches;
    let mut document = json!({
        "scan": manifest.scan,
        "crawl": manifest.crawl,
        "generated_at": manifest.generated_at,
        "total_domains": numbers.input(StageName::Warc, InputName::Hosts),
        "https": warc(CountName::Https),
        "http_only": warc(CountName::HttpOnly),
        "duplicates_removed": numbers.outcome(StageName::Index, OutcomeName::Duplicate)
            + warc(CountName::DuplicateCaptures),
        "titles_extracted": numbers.outcome(StageName::Warc, OutcomeName::Ok),
        "icons_found": warc(CountName::Candidates),
        "iframe_restricted": warc(CountName::IframeRestricted),
        "attempted": numbers.input(StageName::Icon, InputName::Candidates),
        "completed": fetches.completed,
        "failed_dns": fetches.failed_dns,
        "failed_timeout": fetches.failed_timeout,
        "failed_http_error": fetches.failed_http_error,
        "failed_invalid_image": fetches.failed_invalid_image,
        "failed_too_large": fetches.failed_too_large,
        "failed_other": fetches.failed_other,
        "unique_icons_stored": icon(CountName::UniqueIconsStored),
        "dedup_hits": icon(CountName::DedupHits),
        "bytes_downloaded": icon(CountName::BytesDownloaded),
        "icons_with_validator": icon(CountName::WithValidator),
        "icons_fresh_for_30_days": icon(CountName::FreshFor30Days),
        "icons_fresh_for_90_days": icon(CountName::FreshFor90Days),
        "icons_compared": published(CountName::IconsCompared),
        "icons_unchanged": published(CountName::IconsUnchanged),
        "excluded_no_title":
            numbers.outcome(StageName::BundleShard, OutcomeName::ExcludedNoTitle),
        "opted_out": numbers.outcome(StageName::BundleShard, OutcomeName::OptedOut),
        "blank_icons": bundled(CountName::Blank),
        "tabs": manifest.hosts,
        "tabs_with_icon": manifest.with_icon,
        "total_bundles": manifest.bundles,
        "avg_bundle_size_bytes":
            bundled(CountName::BundleBytes) / bundled(CountName::Bundles).max(1),
    });
    for (field, stage, family) in [
        ("index_left_out", StageName::Index, CountFamily::LeftOut),
        ("hostnames_refused", StageName::Index, CountFamily::HostnameRefused),
        ("icons_by_source", StageName::Icon, CountFamily::Source),
        ("icons_by_type", StageName::Icon, CountFamily::Type),
        ("certificates", StageName::Icon, CountFamily::Certificate),
        ("conversion_failures", StageName::BundleShard, CountFamily::ConversionFailed),
        ("selected_by_format", StageName::BundleShard, CountFamily::Selected),
        ("common_icons", StageName::BundleShard, CountFamily::CommonIcon),
        ("top_level_domains", StageName::Search, CountFamily::TopLevelDomain),
    ] {
        document[field] = numbers.family(stage, family).into();
    }
    document["fetching"] = fetching(numbers);
    document["stages"] = stages(numbers);
    document
}

fn fetching(numbers: &ScanNumbers) -> Value {
    let count = |name| numbers.count(StageName::Icon, name);
    // Each shard adds 1 to its maximum's count, so the largest member is the maximum over all
    // shards.
    let most = |family| numbers.largest(StageName::Icon, family);
    json!({
        "lookups": count(CountName::Lookups),
        "lookups_mean_ms": count(CountName::LookupsMs) / count(CountName::Lookups).max(1),
        "lookups_within_100_ms": count(CountName::LookupsWithin1Ms)
            + count(CountName::LookupsWithin10Ms)
            + count(CountName::LookupsWithin100Ms),
        "connections_tried": count(CountName::ConnectionsTried),
        "connections_reused": count(CountName::ConnectionsReused),
        "robots_requests": count(CountName::RobotsRequests),
        "robots_refusals": numbers.fetches.robots_refusals,
        "addresses_slowed_down": count(CountName::SlowedDown),
        "most_at_once_per_host": most(CountFamily::MostPerHost),
        "most_at_once_per_address": most(CountFamily::MostPerAddress),
        "seconds_on_the_wire": count(CountName::OnTheWireMs) / 1_000,
        "seconds_until_timeouts": count(CountName::TimedOutMs) / 1_000,
    })
}

fn stages(numbers: &ScanNumbers) -> Value {
    let mut stages = Map::new();
    for times in &numbers.stages {
        let section = |section| -> Map<String, Value> {
            let counts = numbers.of(&times.stage, section);
            counts.map(|count| (count.name.clone(), count.amount.into())).collect()
        };
        let stage = json!({
            "started": times.started_at,
            "finished": times.finished_at,
            "duration_seconds": times.duration_seconds,
            "jobs": times.done,
            "discarded": times.discarded,
            "inputs": section(CountSection::Inputs),
            "outcomes": section(CountSection::Outcomes),
            "counts": section(CountSection::Counts),
        });
        stages.insert(times.stage.clone(), stage);
    }
    stages.into()
}

#[cfg(test)]
mod tests;
