//! Formats `scan status`: a bar, a rate and an estimate per stage, and failures by outcome.

pub mod layout;
pub mod unlike;

use std::{collections::BTreeMap, time::Duration};

use chrono::{DateTime, Utc};
use everytab_bundler::stats_names::{CountFamily, CountName, OutcomeName};
use everytab_coordinator::{
    IsolatedJob, JobKind, ScanStatus, StageOutcomes, StageStatus, Timestamp, WorkerStatus,
};
use everytab_fetcher::Outcome;

use self::{
    layout::{LABEL_COLUMNS, Optional, counted, fitting, wrapped},
    unlike::unlike,
};

/// Interval at which the status on a terminal is updated.
pub const STATUS_INTERVAL: Duration = Duration::from_secs(2);
/// A program that watches a scan waits this many times as long as the last reply took, because
/// counting a large scan's results takes Postgres a second.
pub const STATUS_SHARE: u32 = 10;
/// Maximum columns in a bar, if the terminal has room.
const MAX_BAR_CELLS: usize = 24;
/// Minimum columns in a bar, which still show an eighth.
const MIN_BAR_CELLS: usize = 8;
const COUNT_COLUMNS: usize = 14;
const TITLE_COLUMNS: usize = 5;
const TOTALS_COLUMNS: usize = 9;

type Labelled = (String, String);

#[derive(Debug, Clone, PartialEq)]
struct StageLine {
    kind: JobKind,
    done: u64,
    discarded: u64,
    total: u64,
    leased: u64,
    delayed: u64,
    paused: bool,
    items: u64,
    per_second: Option<f64>,
    seconds: Option<f64>,
    eta_seconds: Option<f64>,
}

fn sum(amounts: &BTreeMap<String, i64>) -> u64 {
    amounts.values().map(|amount| amount.unsigned_abs()).sum()
}

fn amount(amounts: &BTreeMap<String, i64>, name: &str) -> u64 {
    amounts.get(name).map_or(0, |amount| amount.unsigned_abs())
}

fn stage_lines(status: &ScanStatus) -> Vec<StageLine> {
    status.stages.iter().map(|stage| stage_line(status, stage)).collect()
}

fn stage_line(status: &ScanStatus, stage: &StageStatus) -> StageLine {
    let StageStatus { kind, done, discarded, outstanding, .. } = *stage;
    let items = sum(&status.outcomes_of(kind).inputs);
    let running = || {
        let since = status.now.time()? - stage.started_at.as_ref()?.time()?;
        Some(since.as_seconds_f64().max(0.001))
    };
    let seconds = stage.duration_seconds().or_else(running);
    let rate = |amount: u64| seconds.filter(|s| *s > 0.0).map(|s| amount as f64 / s);
    let eta_seconds = rate(done + discarded)
        .filter(|rate| *rate > 0.0 && outstanding > 0)
        .map(|rate| outstanding as f64 / rate);
    StageLine {
        done,
        discarded,
        total: done + discarded + outstanding,
        leased: stage.leased,
        delayed: stage.delayed,
        paused: stage.paused,
        items,
        per_second: rate(items),
        seconds,
        eta_seconds,
        kind,
    }
}

/// Returns the whole status, as lines for a terminal with this many columns.
pub fn picture(status: &ScanStatus, columns: usize) -> Vec<String> {
    let title = format!("{}  {}  {}", status.scan_id, status.crawl, status.state);
    let mut lines = wrapped("scan", TITLE_COLUMNS, &title, columns);
    lines.push(String::new());
    for stage in stage_lines(status) {
        lines.push(bar_line(&stage, columns));
    }
    lines.push(String::new());
    lines.extend(outcome_lines(status, columns));
    let below = unlike_lines(status).into_iter().chain(left_out_line(status));
    let below = below.chain(fetching_line(status));
    let below = below.chain(worker_lines(status));
    for (label, text) in below.chain(error_lines(status)) {
        lines.extend(wrapped(&label, LABEL_COLUMNS, &text, columns));
    }
    lines
}

fn bar_line(stage: &StageLine, columns: usize) -> String {
    let ended = stage.done + stage.discarded;
    let room = columns.saturating_sub(LABEL_COLUMNS + COUNT_COLUMNS);
    let cells = room.clamp(MIN_BAR_CELLS, MAX_BAR_CELLS);
    let filled = match stage.total {
        0 => 0,
        total => usize::try_from(ended * cells as u64 / total).unwrap_or(cells).min(cells),
    };
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(cells - filled));
    let kind = stage.kind.as_str();
    let first = format!("{kind:<LABEL_COLUMNS$}{bar} {ended:>6}/{:<6}", stage.total);
    let mut optional = Vec::new();
    let mut add = |rank, text| optional.push(Optional { rank, text });
    if stage.items > 0 {
        add(5, format!(" {:>9} items", stage.items));
    }
    if let Some(rate) = stage.per_second.filter(|_| stage.items > 0) {
        add(4, format!(" {rate:>8.0}/s"));
    }
    match (stage.eta_seconds, stage.seconds) {
        (Some(eta), _) => add(3, format!("  eta {}", short_time(eta))),
        (None, Some(seconds)) if ended > 0 => add(3, format!("  {}", short_time(seconds))),
        _ => {}
    }
    if stage.leased > 0 {
        add(7, format!("  {} leased", stage.leased));
    }
    if stage.delayed > 0 {
        add(6, format!("  {} backed off", stage.delayed));
    }
    if stage.discarded > 0 {
        add(2, format!("  {} discarded", stage.discarded));
    }
    if stage.paused {
        add(1, "  paused".to_owned());
    }
    fitting(&first, &optional, columns)
}

fn outcome_lines(status: &ScanStatus, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for kind in JobKind::ALL.into_iter().filter(|kind| kind.works_on_a_shard()) {
        let Some(StageOutcomes { inputs, outcomes, .. }) = status.outcomes.get(&kind) else {
            continue;
        };
        if outcomes.is_empty() {
            continue;
        }
        let (inputs, ended) = (sum(inputs), sum(outcomes));
        let check = if inputs == ended { "" } else { "  (does not add up!)" };
        let head = format!("{:<LABEL_COLUMNS$}{inputs} = ", kind.as_str());
        lines.push(counted(&head, &by_amount(outcomes), check, columns));
        let before = status.before.as_ref().and_then(|before| before.outcomes.get(&kind));
        if let Some(before) = before.filter(|before| !before.is_empty()) {
            let head = format!("{:<LABEL_COLUMNS$}{} = ", "  before", sum(before));
            lines.push(counted(&head, &by_amount(before), "", columns));
        }
    }
    lines
}

fn by_amount(outcomes: &BTreeMap<String, i64>) -> Vec<(String, u64)> {
    let mut by_amount: Vec<(String, u64)> =
        outcomes.iter().map(|(name, amount)| (name.clone(), amount.unsigned_abs())).collect();
    by_amount.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    by_amount
}

fn unlike_lines(status: &ScanStatus) -> Vec<Labelled> {
    let lines = unlike(status).into_iter();
    lines.map(|unlike| ("! unlike".to_owned(), unlike.to_string())).collect()
}

fn left_out_line(status: &ScanStatus) -> Option<Labelled> {
    let counts = &status.outcomes.get(&JobKind::Index)?.counts;
    let of = |family: CountFamily| {
        let members =
            counts.iter().filter_map(|(name, amount)| Some((family.member(name)?, amount)));
        let members: Vec<String> =
            members.map(|(name, amount)| format!("{amount} {name}")).collect();
        members.join(", ")
    };
    let parts =
        [("", of(CountFamily::LeftOut)), ("hostnames refused: ", of(CountFamily::HostnameRefused))];
    let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
    let parts: Vec<String> = parts.map(|(head, text)| format!("{head}{text}")).collect();
    (!parts.is_empty()).then(|| ("left out".to_owned(), parts.join("; ")))
}

fn fetching_line(status: &ScanStatus) -> Option<Labelled> {
    let StageOutcomes { outcomes, counts, .. } = status.outcomes.get(&JobKind::Icon)?;
    if counts.is_empty() {
        return None;
    }
    let count = |name: CountName| amount(counts, name.as_str());
    let lookups = count(CountName::Lookups).max(1);
    let quick =
        [CountName::LookupsWithin1Ms, CountName::LookupsWithin10Ms, CountName::LookupsWithin100Ms]
            .map(count);
    let refused = amount(outcomes, Outcome::RobotsDisallowed.as_str());
    let text = format!(
        "{} look-ups, {} ms on average, {} % within 100 ms; {} connections, {} \
         requests over open ones; {} robots.txt requests, {refused} icons disallowed",
        count(CountName::Lookups),
        count(CountName::LookupsMs) / lookups,
        quick.iter().sum::<u64>() * 100 / lookups,
        count(CountName::ConnectionsTried),
        count(CountName::ConnectionsReused),
        count(CountName::RobotsRequests),
    );
    Some(("fetching".to_owned(), text))
}

fn worker_lines(status: &ScanStatus) -> Vec<Labelled> {
    let now = status.now.time();
    let workers = status.workers.iter();
    let mut lines: Vec<Labelled> =
        workers.map(|worker| ("worker".to_owned(), worker_line(worker, now))).collect();
    if let Some(rate) = status.rate {
        lines.push(("rate".to_owned(), format!("{rate} requests/s for all workers together")));
    }
    if let Some(rate) = status.archive_rate {
        let text = format!("{rate} requests/s to the source for all workers together");
        lines.push(("archive".to_owned(), text));
    }
    for job in &status.isolated_jobs {
        lines.push(("isolated".to_owned(), isolated_line(job)));
    }
    lines
}

fn worker_line(worker: &WorkerStatus, now: Option<DateTime<Utc>>) -> String {
    let kinds: Vec<&str> = worker.kinds.iter().map(|kind| kind.as_str()).collect();
    let mut line = format!("{}  {} leases", worker.worker_id, worker.leases);
    if !kinds.is_empty() {
        line.push_str(&format!(" ({})", kinds.join(", ")));
    }
    let oldest = worker.oldest_lease.as_ref().and_then(Timestamp::time);
    if let Some(age) = now.zip(oldest).map(|(now, at)| now - at) {
        line.push_str(&format!("  oldest {}", short_time(age.as_seconds_f64())));
    }
    if let Some(rate) = worker.items_per_second.as_f64().filter(|_| worker.jobs > 0) {
        line.push_str(&format!("  {} jobs, {rate:.1} items/s lately", worker.jobs));
    }
    if worker.errors > 0 {
        let last = worker.last_error.as_deref().unwrap_or("-");
        line.push_str(&format!("  {} errors: {last}", worker.errors));
    }
    line
}

fn isolated_line(job: &IsolatedJob) -> String {
    let mut line = format!(
        "job {} {} {}: {} crashes, {}",
        job.job_id, job.kind, job.part, job.crashes, job.state
    );
    if let Some(item) = job.current_item {
        line.push_str(&format!(", current item {item}"));
    }
    if let Some(worker_id) = &job.worker_id {
        line.push_str(&format!(", {worker_id}"));
    }
    if let Some(at) = &job.not_before {
        line.push_str(&format!(", not before {}", at.as_str()));
    }
    line
}

fn error_lines(status: &ScanStatus) -> Vec<Labelled> {
    let mut lines = Vec::new();
    for drift in &status.drift {
        let text = format!(
            "{}: {} outstanding, {} rows unfinished; this is a bug, keep the database",
            drift.kind, drift.outstanding, drift.unfinished
        );
        lines.push(("DRIFT".to_owned(), text));
    }
    for trouble in &status.troubles {
        let message = trouble.message.as_deref().unwrap_or("-");
        let worker_id = trouble.worker_id.as_deref().unwrap_or("-");
        let text = format!("{} ({worker_id}): {message}", trouble.kind);
        lines.push(("WAITING".to_owned(), text));
    }
    for error in status.errors.iter().take(5) {
        let text = format!(
            "job {} {} {} ({}): {}",
            error.job_id,
            error.kind,
            error.part,
            error.worker_id.as_deref().unwrap_or("-"),
            error.message.as_deref().unwrap_or("-")
        );
        lines.push((error.event.clone(), text));
    }
    lines
}

/// Returns the status in one line, for a log.
pub fn line(status: &ScanStatus) -> String {
    let parts: Vec<String> = stage_lines(status)
        .iter()
        .filter(|stage| stage.total > 0)
        .map(|stage| format!("{} {}/{}", stage.kind, stage.done + stage.discarded, stage.total))
        .collect();
    format!("{}: {}", status.state, parts.join("  "))
}

/// Returns a scan's results, as lines with at most `columns`.
pub fn summary(status: &ScanStatus, columns: usize) -> Vec<String> {
    let [warc, bundles] =
        [JobKind::Warc, JobKind::BundleShard].map(|kind| status.outcomes_of(kind));
    let with_icon = amount(&bundles.outcomes, OutcomeName::TabWithIcon.as_str());
    let without_icon = amount(&bundles.outcomes, OutcomeName::TabWithoutIcon.as_str());
    let (tabs, titles) =
        (with_icon + without_icon, amount(&warc.outcomes, OutcomeName::Ok.as_str()));
    let bundles = amount(&bundles.counts, CountName::Bundles.as_str());
    let totals = [
        ("hosts", sum(&warc.inputs).to_string()),
        ("pages", format!("{titles} with a title")),
        ("tabs", format!("{tabs}, {with_icon} with an icon, in {bundles} bundles")),
    ];
    let mut lines: Vec<String> = totals
        .iter()
        .flat_map(|(label, text)| wrapped(label, TOTALS_COLUMNS, text, columns))
        .collect();
    lines
        .extend(outcome_lines(status, columns).into_iter().filter(|line| line.starts_with("icon")));
    for stage in stage_lines(status).iter().filter(|stage| stage.total > 0) {
        let kind = stage.kind.as_str();
        let seconds = stage.seconds.unwrap_or(0.0);
        let first = format!("{kind:<LABEL_COLUMNS$}{seconds:>8.2} s");
        let rate = format!(" {:>8.0}/s", stage.per_second.unwrap_or(0.0));
        let items = format!(" {:>8} items", stage.items);
        let optional = [(2, items), (1, rate)].map(|(rank, text)| Optional { rank, text });
        lines.push(fitting(&first, &optional, columns));
    }
    lines
}

/// Formats a duration for people: `5.0s`, `2m05s` or `1h02m`.
pub fn short_time(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, _) if seconds < 10.0 => format!("{seconds:.1}s"),
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s:02}s"),
        (h, m, _) => format!("{h}h{m:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn status(members: Value) -> ScanStatus {
        let mut status = json!({
            "scan": "00000000-0000-0000-0000-000000000000", "crawl": "c", "state": "running",
            "settings": {}, "rate": null, "shards": null, "bundles_per_shard": null,
            "started_at": "2026-01-01T00:00:00Z", "finished_at": null,
            "now": "2026-01-01T00:01:00Z", "outstanding": 0, "stages": [], "outcomes": {},
            "workers": [], "careful": [], "errors": [], "events": {}, "drift": [],
        });
        for (name, value) in members.as_object().unwrap() {
            status[name] = value.clone();
        }
        serde_json::from_value(status).unwrap()
    }

    #[test]
    fn look_ups_connections_and_robots_are_shown_once_icons_were_fetched() {
        let status = status(json!({"outcomes": {"icon": {
            "inputs": {"candidates": 50},
            "outcomes": {"ok": 43, "robots_disallowed": 7},
            "counts": {"lookups": 20, "lookups_ms": 250, "lookups_within_1_ms": 3,
                       "lookups_within_10_ms": 5, "lookups_within_100_ms": 6,
                       "lookups_within_1000_ms": 6, "connections_tried": 21,
                       "connections_reused": 22, "robots_requests": 19},
        }}}));
        let line = "fetching     20 look-ups, 12 ms on average, 70 % within 100 ms; 21 \
                    connections, 22 requests over open ones; 19 robots.txt requests, 7 icons \
                    disallowed";
        assert!(picture(&status, usize::MAX).contains(&line.to_owned()));
        assert_eq!(fetching_line(&super::tests::status(json!({}))), None);
    }

    #[test]
    fn outcomes_stand_next_to_those_before_and_what_is_out_of_line_is_marked() {
        let icons = json!({"icon": {"inputs": {"candidates": 469},
                                    "outcomes": {"dns_nxdomain": 467, "ok": 2}}});
        let members = |scan_before: Value| json!({"outcomes": icons, "before": scan_before});
        let before = |ok: i64, nxdomain: i64| {
            json!({"scan": "00000000-0000-0000-0000-000000000001",
                   "outcomes": {"icon": {"ok": ok, "dns_nxdomain": nxdomain}}})
        };
        let lines = picture(&status(members(before(465, 15))), usize::MAX);
        for line in [
            "icon         469 = dns_nxdomain 467 + ok 2",
            "  before     480 = ok 465 + dns_nxdomain 15",
            "! unlike     icon dns_nxdomain: 99.6 %, 3.1 % before",
            "! unlike     icon ok: 0.4 %, 96.9 % before",
        ] {
            assert!(lines.contains(&line.to_owned()), "{line}: {lines:#?}");
        }
        for unmarked in [before(4, 476), before(96, 3), Value::Null] {
            assert_eq!(unlike_lines(&status(members(unmarked))), []);
        }
    }

    #[test]
    fn what_the_index_leaves_out_is_shown_by_reason() {
        let status = status(json!({"outcomes": {"index": {
            "inputs": {"rows": 50}, "outcomes": {"not_home_page": 40, "capture": 10},
            "counts": {"left_out_xhtml": 2, "left_out_empty_query": 3, "hosts": 10,
                       "hostname_refused_wildcard": 1},
        }}}));
        let line = "left out     3 empty_query, 2 xhtml; hostnames refused: 1 wildcard";
        assert!(picture(&status, usize::MAX).contains(&line.to_owned()));
        assert_eq!(left_out_line(&super::tests::status(json!({}))), None);
    }

    #[test]
    fn a_worker_is_shown_with_what_it_holds_does_and_fails_at() {
        let status = status(json!({
            "now": "2026-01-01T00:01:00Z", "rate": 500, "archive_rate": 900,
            "workers": [
                {"holder": "a:1:x", "leases": 2, "kinds": ["warc", "icon"], "jobs": 3,
                 "oldest_lease": "2026-01-01T00:00:00Z", "items": 900, "items_per_second": 12.34,
                 "errors": 1, "last_error": "the resolver does not answer"},
                {"holder": "b:2:y", "leases": 0, "kinds": [], "oldest_lease": null, "jobs": 0,
                 "items": 0, "items_per_second": 0.0, "errors": 0, "last_error": null},
            ],
            "careful": [{"job_id": 7, "kind": "icon", "part": 3, "state": "pending", "crashes": 4,
                         "holder": null, "in_hand": 5, "not_before": "2026-01-01T00:02:00Z"}],
        }));
        let lines = worker_lines(&status);
        let lines: Vec<(&str, &str)> =
            lines.iter().map(|(label, text)| (label.as_str(), text.as_str())).collect();
        assert_eq!(
            lines,
            [
                (
                    "worker",
                    "a:1:x  2 leases (warc, icon)  oldest 1m00s  3 jobs, 12.3 items/s lately  1 \
                     errors: the resolver does not answer"
                ),
                ("worker", "b:2:y  0 leases"),
                ("rate", "500 requests/s for all workers together"),
                ("archive", "900 requests/s to the source for all workers together"),
                (
                    "isolated",
                    "job 7 icon 3: 4 crashes, pending, current item 5, not before \
                     2026-01-01T00:02:00Z"
                ),
            ]
        );
    }
}
