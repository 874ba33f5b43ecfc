//! `crawl status`: where a crawl stands, once or until it ends.

use std::{net::SocketAddr, time::Instant};

use clap::Args;
use everytab_coordinator::CrawlStatus;
use everytab_operations::progress::{STATUS_INTERVAL, STATUS_SHARE, layout::wrapped};
use serde_json::{Value, json};

use super::{
    one_crawl::{self, OneCrawl},
    option_args::Bytes,
};
use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::stdout,
    display::frame::{self, Stream},
    telemetry,
};

/// The column at which the text of a line begins: the longest label, `links refused`, and a space.
const TEXT_COLUMN: usize = 14;

/// Options of `crawl status`.
#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    crawl: OneCrawl,
    /// Keep showing it until the crawl ends
    #[arg(long, env = "EVERYTAB_CRAWL_WATCH")]
    watch: bool,
    /// One JSON document; with --watch, one a line
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
    /// Serve what is shown as metrics for Prometheus, at http://ADDR/metrics
    #[arg(long, env = "EVERYTAB_METRICS", value_name = "ADDR:PORT", requires = "watch")]
    pub(super) metrics: Option<SocketAddr>,
}

/// Shows a crawl.
///
/// # Errors
/// When the database cannot be asked, or has no such crawl.
pub(super) async fn status(args: StatusArgs) -> CliResult {
    let (coordinator, crawl) = args.crawl.find().await?;
    if let Some(address) = args.metrics {
        telemetry::serve_metrics(address).await?;
    }
    let mut before: Option<(Instant, i64)> = None;
    loop {
        let asked_at = Instant::now();
        let status = one_crawl::status_of(&coordinator, &crawl).await?;
        let took = asked_at.elapsed();
        telemetry::crawl_status(&status);
        let rate = before.map(|(at, captured)| {
            let seconds = asked_at.duration_since(at).as_secs_f64().max(0.001);
            (status.captured - captured) as f64 / seconds
        });
        before = Some((asked_at, status.captured));
        if !show(&status, rate, &args)? || !args.watch || status.state == "ended" {
            return Ok(Exit::Done);
        }
        tokio::time::sleep(STATUS_INTERVAL.max(took * STATUS_SHARE)).await;
    }
}

/// Prints a status. False: the reader has closed the pipe.
fn show(status: &CrawlStatus, rate: Option<f64>, args: &StatusArgs) -> Result<bool, CliError> {
    if args.json {
        let mut document = serde_json::to_value(status)?;
        if let Value::Object(fields) = &mut document {
            // The hashes of a list would be megabytes.
            if let Some(Value::Object(settings)) = fields.get_mut("settings") {
                settings.remove("list_sites");
            }
            fields.insert("pages_per_second".to_owned(), json!(rate));
        }
        stdout::print(format_args!("{document}\n"))
    } else if args.watch && Stream::Stdout.is_terminal() {
        frame::paint(Stream::Stdout, |size| picture(status, rate, size.columns))
            .map(|()| true)
            .map_err(|error| CliError::new(format!("cannot write to the terminal: {error}")))
    } else if args.watch {
        stdout::print(line(status, rate) + "\n")
    } else {
        stdout::print(picture(status, rate, Stream::Stdout.columns()).join("\n") + "\n")
    }
}

/// The state in words: `running, takes seeds` or `ended (limit)`.
fn state(status: &CrawlStatus) -> String {
    let CrawlStatus { state, ended_by, seeding, .. } = status;
    match ended_by {
        Some(why) => format!("{state} ({why})"),
        None if *seeding => format!("{state}, takes seeds"),
        None => state.clone(),
    }
}

/// One line for a log.
fn line(status: &CrawlStatus, rate: Option<f64>) -> String {
    let CrawlStatus { known, pending, captured, failed, .. } = status;
    let (refused, left) = (sum(&status.refused), sum(&status.left));
    let rate = rate.map(|rate| format!(", {rate:.1} pages/s")).unwrap_or_default();
    format!(
        "{}: {known} known, {pending} pending, {captured} captured, {failed} failed, {refused} \
         refused, {left} left{rate}",
        state(status)
    )
}

/// The whole picture, as lines for a terminal of `columns`.
fn picture(status: &CrawlStatus, rate: Option<f64>, columns: usize) -> Vec<String> {
    let CrawlStatus { known, pending, captured, failed, .. } = status;
    let time = |at: chrono::DateTime<chrono::Utc>| at.format("%Y-%m-%d %H:%M:%S").to_string();
    let mut rows = vec![
        ("crawl", format!("{}  {}  {}", status.id, status.name, state(status))),
        ("store", format!("{}  {}", status.store, stored(status.stored_bytes))),
    ];
    let ended = status.finished_at.map(|at| format!(", ended {}", time(at))).unwrap_or_default();
    rows.push(("started", time(status.started_at) + &ended));
    rows.push((
        "known",
        format!(
            "{known} = {pending} pending + {captured} captured + {failed} failed + {} refused + \
             {} left",
            sum(&status.refused),
            sum(&status.left)
        ),
    ));
    let unread = (status.seeds + status.sent - status.read).max(0);
    rows.push(("links", format!("{} seeds, {unread} links not read yet", status.seeds)));
    if let Some((limit, left)) = status.page_limit.zip(status.budget_left) {
        let reserved = status.reserved;
        rows.push(("limit", format!("{limit} pages: {left} left, {reserved} reserved")));
    }
    for (label, reasons) in [
        ("refused", &status.refused),
        ("left", &status.left),
        ("links refused", &status.links_refused),
    ] {
        if let Some(text) = by_reason(reasons) {
            rows.push((label, text));
        }
    }
    if let Some(rate) = rate {
        rows.push(("rate", format!("{rate:.1} pages/s")));
    }
    rows.into_iter().flat_map(|(label, text)| wrapped(label, TEXT_COLUMN, &text, columns)).collect()
}

/// Bytes in the largest unit of which there is one, with a digit after the point.
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

/// The sum of all reasons.
fn sum(reasons: &Value) -> i64 {
    counts(reasons).iter().map(|(_, count)| count).sum()
}

/// `robots 12 + too_long 3`, the most frequent first; none if there is none.
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
mod tests {
    use chrono::DateTime;

    use super::*;

    fn crawl() -> CrawlStatus {
        CrawlStatus {
            crawl: 1,
            id: uuid::Uuid::nil(),
            name: "LIVE-20251231235959-00000000".into(),
            owner: "operator".into(),
            state: "running".into(),
            ended_by: None,
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
            refused: json!({ "robots": 2 }),
            left: json!({ "host_dead": 2 }),
            links_refused: json!({ "depth": 3, "scope": 40, "excluded": 3 }),
        }
    }

    #[test]
    fn the_picture_shows_what_is_known_and_what_became_of_it() {
        let expected = "\
crawl         00000000-0000-0000-0000-000000000000  LIVE-20251231235959-00000000  running
store         file:///store  1.5 MiB
started       2025-12-31 23:59:59
known         30 = 10 pending + 15 captured + 1 failed + 2 refused + 2 left
links         5 seeds, 3 links not read yet
limit         100 pages: 80 left, 4 reserved
refused       robots 2
left          host_dead 2
links refused scope 40 + depth 3 + excluded 3
rate          2.5 pages/s";
        assert_eq!(picture(&crawl(), Some(2.5), 100).join("\n"), expected);
        let ended = CrawlStatus {
            state: "ended".into(),
            ended_by: Some("limit".into()),
            page_limit: None,
            ..crawl()
        };
        assert_eq!(
            line(&ended, None),
            "ended (limit): 30 known, 10 pending, 15 captured, 1 failed, 2 refused, 2 left"
        );
        let seeding = CrawlStatus { seeding: true, ..crawl() };
        assert!(line(&seeding, Some(0.0)).starts_with("running, takes seeds: 30 known"));
    }
}
