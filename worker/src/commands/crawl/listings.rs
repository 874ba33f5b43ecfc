//! `crawl list` and `crawl hosts`: tables, or one JSON object per line.

use chrono::{DateTime, Utc};
use clap::{Args, value_parser};
use everytab_coordinator::CrawlHost;
use everytab_crawl_settings::CrawlSettings;
use everytab_crawler::RequestSettings as _;
use everytab_fetcher::{DelaySettings, HostDelay, SavedDelay};
use serde_json::{Value, json};

use crate::{
    cli_error::{CliResult, Exit},
    commands::{database, one_crawl::OneCrawl, stdout},
    options::DatabaseArgs,
};

/// Maximum value of `--limit`. Postgres sorts this many hosts.
const MAX_HOSTS: i64 = 10_000;

#[derive(Debug, Args)]
pub(super) struct HostsArgs {
    #[command(flatten)]
    crawl: OneCrawl,
    /// Maximum number of hosts, up to 10000
    #[arg(long, env = "EVERYTAB_CRAWL_SHOW", value_name = "N", default_value_t = 100,
          value_parser = value_parser!(i32).range(1..=MAX_HOSTS))]
    limit: i32,
    /// Print one JSON object per line
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
}

/// Lists all crawls.
///
/// # Errors
/// Returns an error if Postgres is unreachable.
pub(super) async fn list(args: &DatabaseArgs, as_json: bool) -> CliResult {
    let coordinator = database::connect(args).await?;
    for crawl in coordinator.crawl_status(None).await? {
        if as_json {
            stdout::line(json!({
                "id": crawl.id, "name": crawl.name, "state": crawl.state,
                "ended_by": crawl.ended_by, "paused_by": crawl.paused_by, "known": crawl.known,
                "pending": crawl.pending,
                "captured": crawl.captured, "store": crawl.store,
                "started_at": crawl.started_at, "finished_at": crawl.finished_at,
            }))?;
        } else {
            let ended_by = crawl.ended_by.map(|why| format!(" ({why})")).unwrap_or_default();
            let numbers = format!(
                "{:<16} {:>9} known {:>9} pending {:>9} captured",
                crawl.state + &ended_by,
                crawl.known,
                crawl.pending,
                crawl.captured
            );
            stdout::parts(&[&crawl.id.to_string(), &crawl.name, &numbers])?;
        }
    }
    Ok(Exit::Done)
}

/// Shows the hosts with pending URLs.
///
/// # Errors
/// Returns an error if Postgres is unreachable, or if there is no such crawl.
pub(super) async fn hosts(args: HostsArgs) -> CliResult {
    let (coordinator, crawl) = args.crawl.find().await?;
    let found = coordinator.crawl_hosts(crawl.id, args.limit).await?;
    // Another version's settings may be unreadable for this program.
    let settings = coordinator.crawl_settings(crawl.crawl).await?.unwrap_or_default();
    let settings: CrawlSettings = serde_json::from_value(settings).unwrap_or_default();
    let delays = settings.delays();
    if !args.json && !found.is_empty() {
        stdout::line(format_args!(
            "{:<19}  {:>7} {:>7}  {:>7} {:>8} {:>8}  host",
            "due", "pending", "known", "delay", "answer", "failures"
        ))?;
    }
    for host in &found {
        if args.json {
            stdout::line(serde_json::to_string(host)?)?;
        } else {
            stdout::line(format_args!(
                "{}  {:>7} {:>7}  {:>5}ms {:>6}ms {:>8}  {}",
                host.next_due.max(host.free_at).format("%Y-%m-%d %H:%M:%S"),
                host.pending,
                host.known,
                delay_of(host, &delays),
                host.response_ms,
                host.failures,
                host.hostname
            ))?;
            for origin in paused_origins(host, Utc::now()) {
                stdout::line(origin)?;
            }
        }
    }
    if found.len() >= usize::try_from(args.limit).unwrap_or_default() {
        eprintln!("there may be more hosts; increase --limit to show them");
    }
    Ok(Exit::Done)
}

fn paused_origins(host: &CrawlHost, now: DateTime<Utc>) -> Vec<String> {
    let origins = host.origins.iter().filter_map(Value::as_array).flatten();
    let lines = origins.filter_map(|origin| {
        let text = |name: &str| origin.get(name)?.as_str();
        let time = |name: &str| Some(DateTime::parse_from_rfc3339(text(name)?).ok()?.to_utc());
        let (since, until) = (time("since")?, time("until")?);
        let format = "%Y-%m-%d %H:%M:%S";
        (until > now).then(|| {
            format!(
                "{}  paused since {}: {}  {}",
                until.format(format),
                since.format(format),
                text("outcome").unwrap_or_default(),
                text("origin").unwrap_or_default()
            )
        })
    });
    lines.collect()
}

/// Returns a host's delay in milliseconds, assuming that it is not in a worker's `--own`.
fn delay_of(host: &CrawlHost, delays: &DelaySettings) -> u128 {
    let saved = SavedDelay {
        delay_ms: host.delay_ms.unsigned_abs(),
        response_ms: host.response_ms.unsigned_abs(),
        crawl_delay_ms: host.crawl_delay_ms.unwrap_or_default().unsigned_abs(),
        ..SavedDelay::default()
    };
    HostDelay::restore(saved, tokio::time::Instant::now()).delay(delays).as_millis()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_origin_is_shown_with_its_times_and_reason() {
        let origins = json!([
            {"origin": "http://a.com:8080", "since": "2026-01-01T00:00:00Z",
             "until": "2026-01-01T00:01:00.5Z", "outcome": "connect_refused"},
            {"origin": "http://a.com", "since": "2026-01-01T00:00:00Z",
             "until": "2026-01-01T00:00:30Z", "outcome": "http_5xx"},
            {"origin": 3},
        ]);
        let host = CrawlHost { origins: Some(origins), ..host() };
        let now = DateTime::from_timestamp(1_767_225_650, 0).unwrap();
        let shown = paused_origins(&host, now);
        let expected = "2026-01-01 00:01:00  paused since 2026-01-01 00:00:00: connect_refused  \
                        http://a.com:8080";
        assert_eq!(shown, [expected]);
    }

    fn host() -> CrawlHost {
        CrawlHost {
            hostname: "a.com".into(),
            slot: 1,
            known: 1,
            pending: 1,
            next_due: DateTime::UNIX_EPOCH,
            free_at: DateTime::UNIX_EPOCH,
            delay_ms: 0,
            response_ms: 100,
            crawl_delay_ms: None,
            failures: 0,
            origins: None,
        }
    }

    #[test]
    fn the_delay_of_a_host_is_the_maximum_of_all_delays() {
        let host = host();
        let delays = CrawlSettings::default().delays();
        assert_eq!(delay_of(&host, &delays), 1_000);
        assert_eq!(delay_of(&CrawlHost { response_ms: 900, ..host.clone() }, &delays), 1_800);
        let slow = CrawlHost { crawl_delay_ms: Some(5_000), ..host.clone() };
        assert_eq!(delay_of(&slow, &delays), 5_000);
        assert_eq!(delay_of(&CrawlHost { delay_ms: 9_000, ..host }, &delays), 9_000);
    }
}
