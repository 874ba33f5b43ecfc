//! `crawl status`: shows a crawl's status, once or until it ends.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use clap::Args;
use everytab_coordinator::{CrawlPace, CrawlStatus};
use everytab_operations::progress::{STATUS_INTERVAL, STATUS_SHARE, layout::wrapped, short_time};
use serde_json::{Value, json};

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{
        one_crawl::{self, OneCrawl},
        stdout,
    },
    display::frame::{self, Stream},
    options::Bytes,
    telemetry,
};

/// Column in which a line's text starts, after the longest label and a space.
const TEXT_COLUMN: usize = 14;

/// Period in which pages are counted for the rate. In a shorter one the rate would jump, because
/// workers record captures in batches.
const RATE_WINDOW: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    crawl: OneCrawl,
    /// Refresh the status until the crawl ends
    #[arg(long, env = "EVERYTAB_CRAWL_WATCH")]
    watch: bool,
    /// Print one JSON document, or one per line with --watch
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
    /// Serve the status as Prometheus metrics at http://ADDR/metrics
    // No environment variable, because EVERYTAB_METRICS is the address of this host's worker.
    #[arg(long, value_name = "ADDR:PORT", requires = "watch")]
    pub(super) metrics: Option<SocketAddr>,
}

/// Shows a crawl.
///
/// # Errors
/// Returns an error if Postgres is unreachable, or if there is no such crawl.
pub(super) async fn status(args: StatusArgs) -> CliResult {
    let (coordinator, crawl) = args.crawl.find().await?;
    if let Some(address) = args.metrics {
        telemetry::serve_metrics(address).await?;
    }
    let mut looks = VecDeque::new();
    loop {
        let asked_at = Instant::now();
        let status = one_crawl::status_of(&coordinator, &crawl).await?;
        let allowed = coordinator.crawl_pace(status.crawl).await?;
        let took = asked_at.elapsed();
        telemetry::crawl_status(&status);
        let rate = rate_of(&mut looks, (asked_at, status.captured));
        let is_over = status.state == "ended";
        if !show(&status, &Pace { rate, allowed }, &args)? || !args.watch || is_over {
            return Ok(Exit::Done);
        }
        tokio::time::sleep(STATUS_INTERVAL.max(took * STATUS_SHARE)).await;
    }
}

struct Pace {
    /// Pages per second, from [`rate_of`].
    rate: Option<f64>,
    /// The speed that politeness allows. `None` if the crawl has ended.
    allowed: Option<CrawlPace>,
}

/// Returns the pages per second in [`RATE_WINDOW`]. `None` for the first sample.
fn rate_of(looks: &mut VecDeque<(Instant, i64)>, now: (Instant, i64)) -> Option<f64> {
    while looks.len() > 1 && looks.get(1).is_some_and(|(at, _)| now.0 - *at >= RATE_WINDOW) {
        looks.pop_front();
    }
    let rate = looks.front().map(|(at, captured)| {
        let seconds = now.0.duration_since(*at).as_secs_f64().max(0.001);
        (now.1 - captured) as f64 / seconds
    });
    looks.push_back(now);
    rate
}

fn show(status: &CrawlStatus, pace: &Pace, args: &StatusArgs) -> Result<bool, CliError> {
    if args.json {
        let mut document = serde_json::to_value(status)?;
        if let Value::Object(fields) = &mut document {
            // These site hashes would take megabytes.
            if let Some(Value::Object(settings)) = fields.get_mut("settings") {
                settings.remove("list_sites");
            }
            fields.insert("pages_per_second".to_owned(), json!(pace.rate));
            fields.insert("seconds_left".to_owned(), json!(seconds_left(status, pace)));
            fields.insert("politeness".to_owned(), serde_json::to_value(&pace.allowed)?);
        }
        stdout::print(format_args!("{document}\n"))
    } else if args.watch && Stream::Stdout.is_terminal() {
        frame::paint(Stream::Stdout, |size| picture(status, pace, size.columns))
            .map(|()| true)
            .map_err(|error| CliError::new(format!("cannot write to the terminal: {error}")))
    } else if args.watch {
        stdout::print(line(status, pace) + "\n")
    } else {
        stdout::print(picture(status, pace, Stream::Stdout.columns()).join("\n") + "\n")
    }
}

/// Formats the state, such as `running, takes seeds` or `paused (quota_pages)`.
fn state(status: &CrawlStatus) -> String {
    let CrawlStatus { state, ended_by, paused_by, seeding, .. } = status;
    match ended_by.as_ref().or(paused_by.as_ref().filter(|why| *why != "operator")) {
        Some(why) => format!("{state} ({why})"),
        None if *seeding => format!("{state}, takes seeds"),
        None => state.clone(),
    }
}

pub(super) fn known(status: &CrawlStatus) -> String {
    let CrawlStatus { known, pending, captured, failed, .. } = status;
    let (refused, left) = (sum(&status.refused), sum(&status.left));
    format!(
        "{}: {known} known, {pending} pending, {captured} captured, {failed} failed, {refused} \
         refused, {left} left",
        state(status)
    )
}

fn line(status: &CrawlStatus, pace: &Pace) -> String {
    let rate = pace.rate.map(|rate| format!(", {rate:.1} pages/s")).unwrap_or_default();
    let allowed = pace.allowed.as_ref().map(|pace| format!(" of {} allowed", allowed(pace)));
    let allowed = allowed.filter(|_| !rate.is_empty()).unwrap_or_default();
    let left = seconds_left(status, pace).map(|left| format!(", {} left", short_time(left)));
    format!("{}{rate}{allowed}{}", known(status), left.unwrap_or_default())
}

/// Estimates the seconds until all pending URLs are fetched or the page limit is reached: the
/// longest of the times that the slowest host's delays, the rate limit and the current speed need.
/// `None` if the crawl is not running, or if none of these is known.
fn seconds_left(status: &CrawlStatus, pace: &Pace) -> Option<f64> {
    let pages = status
        .budget_left
        .map_or(status.pending, |left| status.pending.min(left.saturating_add(status.reserved)));
    if status.state != "running" || pages <= 0 {
        return None;
    }
    let allowed = pace.allowed.as_ref();
    // If the page limit ends the crawl earlier, the slowest host may not be fetched completely.
    let is_whole = pages == status.pending;
    let by_delays = allowed.filter(|_| is_whole).and_then(|pace| pace.seconds_left);
    let speeds = [pace.rate, allowed.and_then(|pace| pace.rate)].into_iter().flatten();
    let by_speed = speeds.filter(|speed| *speed > 0.0).map(|speed| pages as f64 / speed);
    by_speed.chain(by_delays).reduce(f64::max)
}

fn time_left(status: &CrawlStatus, pace: &Pace) -> Option<String> {
    let left = seconds_left(status, pace)?;
    let allowed = pace.allowed.as_ref();
    let least = if allowed.is_some_and(|pace| pace.is_least) { "at least " } else { "about " };
    let slowest = allowed.filter(|pace| pace.seconds_left == Some(left));
    let why = match slowest.and_then(|pace| pace.slowest_host.as_deref()) {
        Some(host) => format!("by the delays of {host}, which takes longest"),
        None => "at the present rate".to_owned(),
    };
    Some(format!("{least}{} {why}, if no more is found", short_time(left)))
}

fn picture(status: &CrawlStatus, pace: &Pace, columns: usize) -> Vec<String> {
    let CrawlStatus { known, pending, captured, failed, .. } = status;
    let time = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%M:%S").to_string();
    let mut rows = vec![
        ("crawl", format!("{}  {}  {}", status.id, status.name, state(status))),
        ("store", format!("{}  {}", status.store, stored(status.stored_bytes))),
    ];
    let ended = status.finished_at.map(|at| format!(", ended {}", time(at))).unwrap_or_default();
    rows.push(("started", time(status.started_at) + &ended));
    let indexes = status.indexes.as_deref().filter(|_| !status.state.starts_with("drop"));
    if let Some(text) = indexes.and_then(about_indexes) {
        rows.push(("indexes", text.to_owned()));
    }
    rows.extend(patterns(status).map(|text| ("patterns", text)));
    rows.push((
        "known",
        format!(
            "{known} = {pending} pending + {captured} captured + {failed} failed + {} refused + \
             {} left",
            sum(&status.refused),
            sum(&status.left)
        ),
    ));
    let unread = match status.state.as_str() {
        "ended" => String::new(),
        _ => format!(", {} links not read yet", (status.seeds + status.sent - status.read).max(0)),
    };
    rows.push(("links", format!("{} seeds{unread}", status.seeds)));
    if let Some((limit, left)) = status.page_limit.zip(status.budget_left) {
        let reserved = status.reserved;
        rows.push(("limit", format!("{limit} pages: {left} left, {reserved} reserved")));
    }
    for (label, reasons) in [
        ("failed", &status.failures),
        ("refused", &status.refused),
        ("left", &status.left),
        ("links refused", &status.links_refused),
    ] {
        if let Some(text) = by_reason(reasons) {
            rows.push((label, text));
        }
    }
    if let Some(left) = time_left(status, pace) {
        rows.push(("time left", left));
    }
    if let Some(rate) = pace.rate {
        rows.push(("rate", format!("{rate:.1} pages/s")));
    }
    if let Some(pace) = &pace.allowed {
        let rate = pace.rate.map(|rate| format!(", by rate {rate:.1}")).unwrap_or_default();
        let (hosts, resting) = (pace.hosts, pace.resting_hosts);
        let text = format!(
            "{} pages/s by the delays of {hosts} hosts{rate}; {resting} hosts rest",
            allowed(pace)
        );
        rows.push(("allowed", text));
        if let Some(reasons) = by_reason(&pace.paused_origins) {
            let text = format!("{} origins: {reasons}", sum(&pace.paused_origins));
            rows.push(("paused", text + "; `crawl hosts` shows them"));
        }
    }
    rows.into_iter().flat_map(|(label, text)| wrapped(label, TEXT_COLUMN, &text, columns)).collect()
}

/// Describes the patterns' version. `None` if they never changed.
fn patterns(status: &CrawlStatus) -> Option<String> {
    let newest = status.patterns.as_ref()?.as_array()?.last()?;
    let number = |name: &str| newest.get(name).and_then(Value::as_array).map(Vec::len);
    let changed_at = newest.get("changed_at")?.as_str()?.parse::<DateTime<Utc>>().ok()?;
    Some(format!(
        "version {} since {}: {} includes, {} excludes",
        status.patterns_version(),
        changed_at.format("%Y-%m-%d %H:%M:%S"),
        number("include")?,
        number("exclude")?
    ))
}

/// Describes a crawl's indexes. `None` if there is nothing to report.
fn about_indexes(word: &str) -> Option<&'static str> {
    match word {
        "written" => Some("written; `scan start --from-crawl` turns the crawl into tabs"),
        "pending" => Some("being written by workers of --role crawl or all"),
        "incomplete" => Some("incomplete: jobs were discarded; `crawl index` runs them again"),
        "none" => Some("none; `crawl index` starts the jobs that write them"),
        "cancelled" => Some("cancelled; `crawl index` starts the jobs that write them"),
        _ => None,
    }
}

/// Formats a pace such as `7.5`, or `at least 7.5` if not all hosts were counted.
fn allowed(pace: &CrawlPace) -> String {
    let least = if pace.is_least { "at least " } else { "" };
    format!("{least}{:.1}", pace.pages_per_second)
}

/// Formats bytes in the largest unit that fits, with one decimal.
fn stored(bytes: i64) -> String {
    let bytes = bytes.unsigned_abs();
    let unit = [1_u64 << 40, 1 << 30, 1 << 20, 1 << 10].into_iter().find(|unit| bytes >= *unit);
    match unit {
        None => format!("{bytes} B"),
        Some(unit) => {
            let name = Bytes(unit).to_string();
            format!("{:.1} {}", bytes as f64 / unit as f64, name.trim_start_matches('1'))
        }
    }
}

fn sum(reasons: &Value) -> i64 {
    counts(reasons).iter().map(|(_, count)| count).sum()
}

/// Formats reasons such as `robots 12 + too_long 3`, most frequent first. `None` if there are none.
fn by_reason(reasons: &Value) -> Option<String> {
    let mut counts = counts(reasons);
    counts.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    let texts: Vec<String> =
        counts.into_iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    (!texts.is_empty()).then(|| texts.join(" + "))
}

fn counts(reasons: &Value) -> Vec<(&str, i64)> {
    let found = reasons.as_object().into_iter().flatten();
    found.filter_map(|(reason, count)| Some((reason.as_str(), count.as_i64()?))).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const NONE: Pace = Pace { rate: None, allowed: None };

    pub(in super::super) fn crawl() -> CrawlStatus {
        CrawlStatus {
            crawl: 1,
            id: uuid::Uuid::nil(),
            name: "LIVE-20251231235959-00000000".into(),
            owner: "operator".into(),
            state: "running".into(),
            ended_by: None,
            paused_by: None,
            seeding: false,
            store: "file:///store".into(),
            settings: json!({}),
            started_at: DateTime::from_timestamp(1_767_225_599, 0).unwrap(),
            finished_at: None,
            page_limit: Some(100),
            budget_left: Some(80),
            seeds: 5,
            sent: 10,
            read: 12,
            known: 30,
            pending: 10,
            reserved: 4,
            captured: 15,
            failed: 1,
            stored_bytes: 1_572_864,
            failures: json!({ "dns_timeout": 1 }),
            refused: json!({ "robots": 2 }),
            left: json!({ "host_dead": 2 }),
            links_refused: json!({ "depth": 3, "scope": 40, "excluded": 3 }),
            indexes: None,
            patterns: None,
        }
    }

    #[test]
    fn the_rate_is_that_of_the_last_minute() {
        let mut looks = VecDeque::new();
        let begun = Instant::now();
        let mut rate = |seconds, captured| {
            rate_of(&mut looks, (begun + Duration::from_secs(seconds), captured))
        };
        assert_eq!(rate(0, 100), None);
        assert_eq!(rate(10, 100), Some(0.0));
        // Workers record half a minute's captures together.
        assert_eq!(rate(30, 400), Some(10.0));
        assert_eq!(rate(32, 400), Some(9.375));
        assert_eq!(rate(90, 1_000), Some(10.0));
        assert_eq!(rate(200, 1_000), Some(0.0));
    }

    #[test]
    fn the_status_shows_known_urls_and_their_results() {
        let expected = "\
crawl         00000000-0000-0000-0000-000000000000  LIVE-20251231235959-00000000  running
store         file:///store  1.5 MiB
started       2025-12-31 23:59:59
known         30 = 10 pending + 15 captured + 1 failed + 2 refused + 2 left
links         5 seeds, 3 links not read yet
limit         100 pages: 80 left, 4 reserved
failed        dns_timeout 1
refused       robots 2
left          host_dead 2
links refused scope 40 + depth 3 + excluded 3
time left     at least 1h02m by the delays of a.example, which takes longest, if no more is found
rate          2.5 pages/s
allowed       at least 7.5 pages/s by the delays of 8 hosts, by rate 5.0; 2 hosts rest
paused        3 origins: connect_refused 2 + http_5xx 1; `crawl hosts` shows them";
        let allowed = CrawlPace {
            hosts: 8,
            resting_hosts: 2,
            pages_per_second: 7.5,
            is_least: true,
            rate: Some(5.0),
            paused_origins: json!({ "http_5xx": 1, "connect_refused": 2 }),
            seconds_left: Some(3_720.0),
            slowest_host: Some("a.example".into()),
        };
        let pace = Pace { rate: Some(2.5), allowed: Some(allowed.clone()) };
        assert_eq!(picture(&crawl(), &pace, 100).join("\n"), expected);
        assert!(
            line(&crawl(), &pace).ends_with(", 2.5 pages/s of at least 7.5 allowed, 1h02m left")
        );
        let quick = CrawlPace { seconds_left: Some(1.0), is_least: false, ..allowed.clone() };
        let quick = Pace { rate: Some(2.0), allowed: Some(quick) };
        let left = Some("about 5.0s at the present rate, if no more is found".to_owned());
        assert_eq!(time_left(&crawl(), &quick), left);
        let limited = CrawlStatus { budget_left: Some(0), ..crawl() };
        assert_eq!(seconds_left(&limited, &pace), Some(1.6), "the 4 that are reserved");
        let paused = CrawlStatus { state: "paused".into(), ..crawl() };
        assert_eq!(seconds_left(&paused, &pace), None);
        let ended = CrawlStatus {
            state: "ended".into(),
            ended_by: Some("limit".into()),
            page_limit: None,
            ..crawl()
        };
        assert!(picture(&ended, &NONE, 100).contains(&"links         5 seeds".to_owned()));
        for word in ["none", "pending", "written", "incomplete", "cancelled"] {
            let ended = CrawlStatus { indexes: Some(word.into()), ..ended.clone() };
            let lines = picture(&ended, &NONE, 80);
            let line = lines.iter().find(|line| line.starts_with("indexes"));
            assert!(line.is_some_and(|line| line.len() <= 80), "{lines:?}");
        }
        assert_eq!(
            line(&ended, &NONE),
            "ended (limit): 30 known, 10 pending, 15 captured, 1 failed, 2 refused, 2 left"
        );
        let paused = |by: &str| CrawlStatus {
            state: "paused".into(),
            paused_by: Some(by.into()),
            ..crawl()
        };
        assert!(line(&paused("quota_pages"), &NONE).starts_with("paused (quota_pages): 30 known"));
        assert!(line(&paused("operator"), &NONE).starts_with("paused: 30 known"));
        let seeding = CrawlStatus { seeding: true, ..crawl() };
        let pace = Pace { rate: Some(0.0), allowed: None };
        assert!(line(&seeding, &pace).starts_with("running, takes seeds: 30 known"));
    }
}
