//! What `scan status` shows: a bar, a rate and an estimate a stage, and failures by outcome.

pub mod layout;

use std::time::Duration;

use chrono::{DateTime, Utc};
use everytab_jobs::duration_seconds;
use serde_json::{Map, Value};

use self::layout::{LABEL_COLUMNS, Optional, counted, fitting, wrapped};

/// How often a person who watches sees where a scan stands.
pub const STATUS_INTERVAL: Duration = Duration::from_secs(2);
/// Counting all results of a large scan takes a second of Postgres; a program that watches waits
/// this many times as long as the last answer took, so that watching costs at most a tenth of a
/// core.
pub const STATUS_SHARE: u32 = 10;
/// The longest bar, in columns, where the terminal has room for it.
const MAX_BAR_CELLS: usize = 24;
/// The shortest bar that still shows an eighth.
const MIN_BAR_CELLS: usize = 8;
/// The columns of what stands behind a bar: a space and `123456/123456`.
const COUNT_COLUMNS: usize = 14;
/// The column at which the text of the first line begins, behind `scan`.
const TITLE_COLUMNS: usize = 5;

/// A label and the text that stands behind it.
type Labelled = (String, String);

/// One stage as a line shows it.
#[derive(Debug, Clone, PartialEq)]
struct StageLine {
    kind: String,
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

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn time(value: &Value) -> Option<DateTime<Utc>> {
    value.as_str()?.parse().ok()
}

fn section<'a>(status: &'a Value, kind: &str, key: &str) -> Option<&'a Map<String, Value>> {
    status["outcomes"][kind][key].as_object()
}

fn sum(section: Option<&Map<String, Value>>) -> u64 {
    section.map_or(0, |names| names.values().map(number).sum())
}

fn stage_lines(status: &Value) -> Vec<StageLine> {
    let now = time(&status["now"]);
    let stages = status["stages"].as_array().into_iter().flatten();
    stages.map(|stage| stage_line(status, stage, now)).collect()
}

fn stage_line(status: &Value, stage: &Value, now: Option<DateTime<Utc>>) -> StageLine {
    let kind = stage["kind"].as_str().unwrap_or_default().to_owned();
    let (done, discarded) = (number(&stage["done"]), number(&stage["discarded"]));
    let outstanding = number(&stage["outstanding"]);
    let items = sum(section(status, &kind, "inputs"));
    let running = || {
        let since = now? - time(&stage["started_at"])?;
        Some(since.as_seconds_f64().max(0.001))
    };
    let seconds = duration_seconds(stage).or_else(running);
    let rate = |amount: u64| seconds.filter(|s| *s > 0.0).map(|s| amount as f64 / s);
    let eta_seconds = rate(done + discarded)
        .filter(|rate| *rate > 0.0 && outstanding > 0)
        .map(|rate| outstanding as f64 / rate);
    StageLine {
        done,
        discarded,
        total: done + discarded + outstanding,
        leased: number(&stage["leased"]),
        delayed: number(&stage["delayed"]),
        paused: stage["paused"].as_bool().unwrap_or(false),
        items,
        per_second: rate(items),
        seconds,
        eta_seconds,
        kind,
    }
}

/// The whole picture, as lines for a terminal of `columns`.
pub fn picture(status: &Value, columns: usize) -> Vec<String> {
    let text = |key: &str| status[key].as_str().unwrap_or("-").to_owned();
    let title = format!("{}  {}  {}", text("scan"), text("crawl"), text("state"));
    let mut lines = wrapped("scan", TITLE_COLUMNS, &title, columns);
    lines.push(String::new());
    for stage in stage_lines(status) {
        lines.push(bar_line(&stage, columns));
    }
    lines.push(String::new());
    lines.extend(outcome_lines(status, columns));
    let below = fetching_line(status).into_iter().chain(worker_lines(status));
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
    let first = format!("{:<LABEL_COLUMNS$}{bar} {ended:>6}/{:<6}", stage.kind, stage.total);
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

fn outcome_lines(status: &Value, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for kind in ["warc", "icon", "bundle-shard"] {
        let Some(outcomes) = section(status, kind, "outcomes") else { continue };
        let inputs = sum(section(status, kind, "inputs"));
        let ended = sum(Some(outcomes));
        let mut by_amount: Vec<(String, u64)> =
            outcomes.iter().map(|(name, amount)| (name.clone(), number(amount))).collect();
        by_amount.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let check = if inputs == ended { "" } else { "  (does not add up!)" };
        let head = format!("{kind:<LABEL_COLUMNS$}{inputs} = ");
        lines.push(counted(&head, &by_amount, check, columns));
    }
    lines
}

/// What fetching the icons took so far: names, connections, permissions.
fn fetching_line(status: &Value) -> Option<Labelled> {
    let counts = section(status, "icon", "counts")?;
    let count = |name: &str| counts.get(name).map_or(0, number);
    let lookups = count("lookups").max(1);
    let quick = ["1", "10", "100"].map(|ms| count(&format!("lookups_within_{ms}_ms")));
    let refused = section(status, "icon", "outcomes")
        .and_then(|outcomes| outcomes.get("robots_disallowed"))
        .map_or(0, number);
    let text = format!(
        "{} look-ups, {} ms in the mean, {} % within 100 ms; {} connections, {} \
         requests over open ones; {} robots.txt asked for, {refused} icons refused",
        count("lookups"),
        count("lookups_ms") / lookups,
        quick.iter().sum::<u64>() * 100 / lookups,
        count("connections_tried"),
        count("connections_reused"),
        count("robots_requests"),
    );
    Some(("fetching".to_owned(), text))
}

fn worker_lines(status: &Value) -> Vec<Labelled> {
    let now = time(&status["now"]);
    let workers = status["workers"].as_array().into_iter().flatten();
    let mut lines: Vec<Labelled> =
        workers.map(|worker| ("worker".to_owned(), worker_line(worker, now))).collect();
    if let Some(rate) = status["rate"].as_u64() {
        lines.push(("rate".to_owned(), format!("{rate} requests/s for all workers together")));
    }
    for job in status["careful"].as_array().into_iter().flatten() {
        lines.push(("careful".to_owned(), careful_line(job)));
    }
    lines
}

fn worker_line(worker: &Value, now: Option<DateTime<Utc>>) -> String {
    let text = |name: &str| worker[name].as_str().unwrap_or("-").to_owned();
    let kinds = worker["kinds"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let kinds: Vec<&str> = kinds.collect();
    let mut line = format!("{}  {} leases", text("holder"), number(&worker["leases"]));
    if !kinds.is_empty() {
        line.push_str(&format!(" ({})", kinds.join(", ")));
    }
    if let Some(age) = now.zip(time(&worker["oldest_lease"])).map(|(now, at)| now - at) {
        line.push_str(&format!("  oldest {}", short_time(age.as_seconds_f64())));
    }
    let (jobs, rate) = (number(&worker["jobs"]), worker["items_per_second"].as_f64());
    if let Some(rate) = rate.filter(|_| jobs > 0) {
        line.push_str(&format!("  {jobs} jobs, {rate:.1} items/s lately"));
    }
    if number(&worker["errors"]) > 0 {
        line.push_str(&format!("  {} errors: {}", number(&worker["errors"]), text("last_error")));
    }
    line
}

/// A job that has killed workers: it goes one item at a time.
fn careful_line(job: &Value) -> String {
    let mut line = format!(
        "job {} {} {}: {} crashes, {}",
        number(&job["job_id"]),
        job["kind"].as_str().unwrap_or("-"),
        number(&job["part"]),
        number(&job["crashes"]),
        job["state"].as_str().unwrap_or("-")
    );
    if let Some(item) = job["in_hand"].as_i64() {
        line.push_str(&format!(", item {item} in hand"));
    }
    if let Some(holder) = job["holder"].as_str() {
        line.push_str(&format!(", {holder}"));
    }
    if let Some(at) = job["not_before"].as_str() {
        line.push_str(&format!(", not before {at}"));
    }
    line
}

fn error_lines(status: &Value) -> Vec<Labelled> {
    let mut lines = Vec::new();
    for drift in status["drift"].as_array().into_iter().flatten() {
        let text = format!(
            "{}: {} outstanding, {} rows unfinished; this is a bug, keep the database",
            drift["kind"].as_str().unwrap_or("-"),
            number(&drift["outstanding"]),
            number(&drift["unfinished"])
        );
        lines.push(("DRIFT".to_owned(), text));
    }
    for error in status["errors"].as_array().into_iter().flatten().take(5) {
        let text = format!(
            "job {} {} {} ({}): {}",
            number(&error["job_id"]),
            error["kind"].as_str().unwrap_or("-"),
            number(&error["part"]),
            error["holder"].as_str().unwrap_or("-"),
            error["message"].as_str().unwrap_or("-")
        );
        lines.push((error["event"].as_str().unwrap_or("-").to_owned(), text));
    }
    lines
}

/// One line of the whole, for a log.
pub fn line(status: &Value) -> String {
    let parts: Vec<String> = stage_lines(status)
        .iter()
        .filter(|stage| stage.total > 0)
        .map(|stage| format!("{} {}/{}", stage.kind, stage.done + stage.discarded, stage.total))
        .collect();
    format!("{}: {}", status["state"].as_str().unwrap_or("-"), parts.join("  "))
}

/// The end of a scan in numbers, as lines of at most `columns`: hosts, pages, icons by outcome,
/// bundles, seconds a stage.
pub fn summary(status: &Value, columns: usize) -> Vec<String> {
    let outcome = |kind: &str, name: &str| {
        section(status, kind, "outcomes").map_or(0, |names| names.get(name).map_or(0, number))
    };
    let with_icon = outcome("bundle-shard", "tab_with_icon");
    let tabs = with_icon + outcome("bundle-shard", "tab_without_icon");
    let bundles = section(status, "bundle-shard", "counts")
        .and_then(|counts| counts.get("bundles"))
        .map_or(0, number);
    let mut lines = vec![
        format!("hosts    {}", sum(section(status, "warc", "inputs"))),
        format!("pages    {} with a title", outcome("warc", "ok")),
        format!("tabs     {tabs}, {with_icon} with an icon, in {bundles} bundles"),
    ];
    lines
        .extend(outcome_lines(status, columns).into_iter().filter(|line| line.starts_with("icon")));
    for stage in stage_lines(status).iter().filter(|stage| stage.total > 0) {
        let first =
            format!("{:<LABEL_COLUMNS$}{:>8.2} s", stage.kind, stage.seconds.unwrap_or(0.0));
        let rate = format!(" {:>8.0}/s", stage.per_second.unwrap_or(0.0));
        let items = format!(" {:>8} items", stage.items);
        let optional = [(2, items), (1, rate)].map(|(rank, text)| Optional { rank, text });
        lines.push(fitting(&first, &optional, columns));
    }
    lines
}

fn short_time(seconds: f64) -> String {
    // Rounded for people; never negative, since all durations are clamped.
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
    use serde_json::json;

    use super::*;

    #[test]
    fn look_ups_connections_and_robots_are_shown_once_icons_were_fetched() {
        let status = json!({"outcomes": {"icon": {
            "inputs": {"candidates": 50},
            "outcomes": {"ok": 43, "robots_disallowed": 7},
            "counts": {"lookups": 20, "lookups_ms": 250, "lookups_within_1_ms": 3,
                       "lookups_within_10_ms": 5, "lookups_within_100_ms": 6,
                       "lookups_within_1000_ms": 6, "connections_tried": 21,
                       "connections_reused": 22, "robots_requests": 19},
        }}});
        let line = "fetching     20 look-ups, 12 ms in the mean, 70 % within 100 ms; 21 \
                    connections, 22 requests over open ones; 19 robots.txt asked for, 7 icons \
                    refused";
        assert!(picture(&status, usize::MAX).contains(&line.to_owned()));
        assert_eq!(fetching_line(&json!({"outcomes": {}})), None);
    }

    #[test]
    fn a_worker_is_shown_with_what_it_holds_does_and_fails_at() {
        let status = json!({
            "now": "2026-01-01T00:01:00Z", "rate": 500,
            "workers": [
                {"holder": "a:1:x", "leases": 2, "kinds": ["warc", "icon"], "jobs": 3,
                 "oldest_lease": "2026-01-01T00:00:00Z", "items": 900, "items_per_second": 12.34,
                 "errors": 1, "last_error": "the resolver does not answer"},
                {"holder": "b:2:y", "leases": 0, "kinds": [], "oldest_lease": null, "jobs": 0,
                 "items": 0, "items_per_second": 0.0, "errors": 0, "last_error": null},
            ],
            "careful": [{"job_id": 7, "kind": "icon", "part": 3, "state": "pending", "crashes": 4,
                         "holder": null, "in_hand": 5, "not_before": "2026-01-01T00:02:00Z"}],
        });
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
                (
                    "careful",
                    "job 7 icon 3: 4 crashes, pending, item 5 in hand, not before \
                     2026-01-01T00:02:00Z"
                ),
            ]
        );
    }
}
