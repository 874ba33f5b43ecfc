//! What `scan status` shows: a bar, a rate and an estimate a stage, and failures by outcome.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::scan_stats::duration_seconds;

const BAR_CELLS: usize = 24;

/// One stage as a line shows it.
#[derive(Debug, Clone, PartialEq)]
struct StageLine {
    kind: String,
    done: u64,
    discarded: u64,
    total: u64,
    leased: u64,
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
        paused: stage["paused"].as_bool().unwrap_or(false),
        items,
        per_second: rate(items),
        seconds,
        eta_seconds,
        kind,
    }
}

/// The whole picture, as lines for a terminal of `width` columns.
pub fn picture(status: &Value, width: usize) -> Vec<String> {
    let text = |key: &str| status[key].as_str().unwrap_or("-").to_owned();
    let mut lines =
        vec![format!("scan {}  {}  {}", text("scan"), text("crawl"), text("state")), String::new()];
    for stage in stage_lines(status) {
        lines.push(bar_line(&stage));
    }
    lines.push(String::new());
    lines.extend(outcome_lines(status));
    lines.extend(worker_lines(status));
    lines.extend(error_lines(status));
    lines.into_iter().map(|line| line.chars().take(width.max(40)).collect()).collect()
}

fn bar_line(stage: &StageLine) -> String {
    let ended = stage.done + stage.discarded;
    let filled = match stage.total {
        0 => 0,
        total => usize::try_from(ended * BAR_CELLS as u64 / total).unwrap_or(BAR_CELLS),
    };
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR_CELLS - filled.min(BAR_CELLS)));
    let mut line = format!("{:<13}{bar} {ended:>6}/{:<6}", stage.kind, stage.total);
    if stage.items > 0 {
        line.push_str(&format!(" {:>9} items", stage.items));
    }
    if let Some(rate) = stage.per_second.filter(|_| stage.items > 0) {
        line.push_str(&format!(" {rate:>8.0}/s"));
    }
    match (stage.eta_seconds, stage.seconds) {
        (Some(eta), _) => line.push_str(&format!("  eta {}", short_time(eta))),
        (None, Some(seconds)) if ended > 0 => {
            line.push_str(&format!("  {}", short_time(seconds)));
        }
        _ => {}
    }
    if stage.leased > 0 {
        line.push_str(&format!("  {} leased", stage.leased));
    }
    if stage.discarded > 0 {
        line.push_str(&format!("  {} discarded", stage.discarded));
    }
    if stage.paused {
        line.push_str("  paused");
    }
    line
}

fn outcome_lines(status: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for kind in ["warc", "icon", "bundle-shard"] {
        let Some(outcomes) = section(status, kind, "outcomes") else { continue };
        let inputs = sum(section(status, kind, "inputs"));
        let ended = sum(Some(outcomes));
        let mut by_amount: Vec<(&String, u64)> =
            outcomes.iter().map(|(name, amount)| (name, number(amount))).collect();
        by_amount.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let parts: Vec<String> =
            by_amount.iter().map(|(name, amount)| format!("{name} {amount}")).collect();
        let check = if inputs == ended { "" } else { "  (does not add up!)" };
        lines.push(format!("{kind:<13}{inputs} = {}{check}", parts.join(" + ")));
    }
    lines
}

fn worker_lines(status: &Value) -> Vec<String> {
    let now = time(&status["now"]);
    let workers = status["workers"].as_array().into_iter().flatten();
    workers
        .map(|worker| {
            let kinds: Vec<&str> = worker["kinds"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let oldest = now.zip(time(&worker["oldest_lease"])).map(|(now, at)| now - at);
            format!(
                "worker       {}  {} leases ({})  oldest {}",
                worker["holder"].as_str().unwrap_or("-"),
                number(&worker["leases"]),
                kinds.join(", "),
                oldest.map_or("-".into(), |age| short_time(age.as_seconds_f64()))
            )
        })
        .collect()
}

fn error_lines(status: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for drift in status["drift"].as_array().into_iter().flatten() {
        lines.push(format!(
            "DRIFT        {}: {} outstanding, {} rows unfinished; this is a bug, keep the database",
            drift["kind"].as_str().unwrap_or("-"),
            number(&drift["outstanding"]),
            number(&drift["unfinished"])
        ));
    }
    for error in status["errors"].as_array().into_iter().flatten().take(5) {
        lines.push(format!(
            "{:<12} job {} {} {}: {}",
            error["event"].as_str().unwrap_or("-"),
            number(&error["job_id"]),
            error["kind"].as_str().unwrap_or("-"),
            number(&error["part"]),
            error["message"].as_str().unwrap_or("-")
        ));
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

/// The end of a scan in numbers: hosts, pages, icons by outcome, bundles, seconds a stage.
pub fn summary(status: &Value) -> Vec<String> {
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
    lines.extend(outcome_lines(status).into_iter().filter(|line| line.starts_with("icon")));
    for stage in stage_lines(status).iter().filter(|stage| stage.total > 0) {
        lines.push(format!(
            "{:<13}{:>8.2} s {:>8} items {:>8.0}/s",
            stage.kind,
            stage.seconds.unwrap_or(0.0),
            stage.items,
            stage.per_second.unwrap_or(0.0)
        ));
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
