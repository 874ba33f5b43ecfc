//! Converts a scan's counts in the database to the numbers in the stats document.

use everytab_bundler::{
    stats_document::{CountSection, FetchTotals, ScanNumbers, StageCount, StageTimes},
    stats_names::StageName,
};
use everytab_coordinator::{OutcomeCount, ScanStatus, StageStatus, Timestamp};
use everytab_fetcher::{Outcome, StatsCounter};

pub(crate) fn of(outcomes: &[OutcomeCount], status: &ScanStatus) -> ScanNumbers {
    let counts: Vec<StageCount> = outcomes.iter().filter_map(stage_count).collect();
    let stages = status.stages.iter().map(stage_times).collect();
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

fn stage_times(stage: &StageStatus) -> StageTimes {
    let text = |time: &Option<Timestamp>| time.as_ref().map(|time| time.as_str().to_owned());
    StageTimes {
        stage: stage.kind.as_str().to_owned(),
        started_at: text(&stage.started_at),
        finished_at: text(&stage.finished_at),
        duration_seconds: stage.duration_seconds(),
        done: i64::try_from(stage.done).unwrap_or(i64::MAX),
        discarded: i64::try_from(stage.discarded).unwrap_or(i64::MAX),
    }
}

/// An unknown outcome, which another version wrote, counts as `failed_other`.
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
