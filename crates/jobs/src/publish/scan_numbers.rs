//! From what the database counted of a scan to the numbers that the stats document is made of.

use everytab_bundler::{
    stats_document::{CountSection, FetchTotals, ScanNumbers, StageCount, StageTimes},
    stats_names::StageName,
};
use everytab_coordinator::OutcomeCount;
use everytab_fetcher::{Outcome, StatsCounter};
use serde_json::Value;

/// The numbers of a scan, from its counts and the document of `scan status`.
pub(crate) fn of(outcomes: &[OutcomeCount], status: &Value) -> ScanNumbers {
    let counts: Vec<StageCount> = outcomes.iter().filter_map(stage_count).collect();
    let stages = status["stages"].as_array().into_iter().flatten().map(stage_times).collect();
    let fetches = fetch_totals(&counts);
    ScanNumbers { counts, stages, fetches }
}

fn stage_count(count: &OutcomeCount) -> Option<StageCount> {
    Some(StageCount {
        stage: count.kind.clone(),
        section: CountSection::parse(&count.key)?,
        name: count.name.clone(),
        amount: count.amount.unsigned_abs(),
    })
}

fn stage_times(stage: &Value) -> StageTimes {
    StageTimes {
        stage: stage["kind"].as_str().unwrap_or_default().to_owned(),
        started_at: stage["started_at"].as_str().map(str::to_owned),
        finished_at: stage["finished_at"].as_str().map(str::to_owned),
        duration_seconds: duration_seconds(stage),
        done: stage["done"].as_i64().unwrap_or_default(),
        discarded: stage["discarded"].as_i64().unwrap_or_default(),
    }
}

/// Sums the outcomes of icon fetches; an outcome of another version counts as `failed_other`.
fn fetch_totals(counts: &[StageCount]) -> FetchTotals {
    let mut totals = FetchTotals::default();
    for count in counts {
        if count.stage != StageName::Icon.as_str() || count.section != CountSection::Outcomes {
            continue;
        }
        let outcome = Outcome::parse(&count.name);
        let total = match outcome.map_or(StatsCounter::FailedOther, Outcome::stats_counter) {
            StatsCounter::Completed => &mut totals.completed,
            StatsCounter::FailedDns => &mut totals.failed_dns,
            StatsCounter::FailedTimeout => &mut totals.failed_timeout,
            StatsCounter::FailedHttpError => &mut totals.failed_http_error,
            StatsCounter::FailedInvalidImage => &mut totals.failed_invalid_image,
            StatsCounter::FailedTooLarge => &mut totals.failed_too_large,
            StatsCounter::FailedOther => &mut totals.failed_other,
        };
        *total += count.amount;
        if outcome == Some(Outcome::RobotsDisallowed) {
            totals.robots_refusals += count.amount;
        }
    }
    totals
}

/// Seconds between the first lease and the end of a stage; `None` while one of them is missing.
pub fn duration_seconds(stage: &Value) -> Option<f64> {
    let time = |value: &Value| value.as_str()?.parse::<chrono::DateTime<chrono::Utc>>().ok();
    let duration = time(&stage["finished_at"])? - time(&stage["started_at"])?;
    Some(duration.as_seconds_f64().max(0.0))
}
