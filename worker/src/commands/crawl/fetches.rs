//! `crawl fetches`: shows fetches, optionally filtered by outcome, host or status.

use std::fmt::Display;

use clap::{Args, value_parser};
use everytab_coordinator::{CRAWL_ENDS, CrawlFetch, FetchFilter, FetchPosition};
use everytab_crawl_settings::every_outcome;
use everytab_frontier::{hostname, site_hash};

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{one_crawl::OneCrawl, stdout},
};

/// Maximum value of `--limit`.
const MAX_FETCHES: i64 = 1_000;

#[derive(Debug, Args)]
pub(super) struct FetchesArgs {
    #[command(flatten)]
    crawl: OneCrawl,
    /// Maximum number of fetches, up to 1000
    #[arg(long, env = "EVERYTAB_CRAWL_SHOW", value_name = "N", default_value_t = 100,
          value_parser = value_parser!(i32).range(1..=MAX_FETCHES))]
    limit: i32,
    /// Continue after the fetch at this position, which is the first column of each line
    #[arg(long, env = "EVERYTAB_CRAWL_AFTER", value_name = "POSITION")]
    after: Option<FetchPosition>,
    /// Only fetches with this outcome, such as http_404_410; `crawl report` lists a crawl's
    /// outcomes
    #[arg(long, env = "EVERYTAB_CRAWL_OUTCOME", value_name = "NAME", value_parser = outcome)]
    outcome: Option<String>,
    /// Only fetches from this host, in no particular order
    #[arg(long, env = "EVERYTAB_CRAWL_HOST", value_name = "HOST", value_parser = host)]
    host: Option<String>,
    /// Only fetches with this HTTP status
    #[arg(long, env = "EVERYTAB_CRAWL_STATUS", value_name = "N",
          value_parser = value_parser!(i16).range(100..=999))]
    status: Option<i16>,
    /// Print one JSON object per line
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
}

fn outcome(text: &str) -> Result<String, String> {
    let is_known = every_outcome().contains(&text) || CRAWL_ENDS.contains(&text);
    is_known.then(|| text.to_owned()).ok_or_else(|| {
        "unknown outcome; `crawl report` lists the outcomes in a crawl, such as http_404_410"
            .to_owned()
    })
}

/// Parses a hostname into the form that URLs contain.
fn host(text: &str) -> Result<String, String> {
    let expected = || "expected a hostname alone, such as www.example.com".to_owned();
    hostname(text).ok_or_else(expected)
}

/// Shows fetches.
///
/// # Errors
/// Returns an error if Postgres is unreachable, or if there is no such crawl.
pub(super) async fn fetches(args: FetchesArgs) -> CliResult {
    let (coordinator, crawl) = args.crawl.find().await?;
    let FetchesArgs { outcome, host, status, .. } = &args;
    let filter = FetchFilter {
        outcome: outcome.clone(),
        host_hash: host.as_deref().map(site_hash),
        status: *status,
    };
    let mut next = Some(args.after.unwrap_or_default());
    let mut missing = args.limit;
    while let Some(after) = next.filter(|_| missing > 0) {
        let page = coordinator.crawl_fetches(crawl.id, after, missing, &filter).await?;
        missing -= i32::try_from(page.fetches.len()).unwrap_or(missing);
        next = page.next;
        for fetch in &page.fetches {
            show(fetch, args.json)?;
        }
    }
    match next {
        Some(next) => eprintln!("there may be more fetches; continue with --after {next}"),
        None if missing < args.limit => {}
        None if filter == FetchFilter::default() => eprintln!("no fetches are recorded yet"),
        None => eprintln!("no fetch matches; `crawl report` lists the outcomes"),
    }
    Ok(Exit::Done)
}

fn show(fetch: &CrawlFetch, as_json: bool) -> Result<(), CliError> {
    if as_json {
        return stdout::line(serde_json::to_string(fetch)?);
    }
    let cut = fetch.truncated.as_ref().map(|reason| format!(" cut: {reason}"));
    let answer = format!(
        "{:>3} {:<16} {:>6} ms {:>9} B{}",
        or_dash(fetch.status),
        fetch.outcome,
        or_dash(fetch.duration_ms),
        or_dash(fetch.bytes),
        cut.unwrap_or_default()
    );
    let at = fetch.at.format("%Y-%m-%d %H:%M:%S").to_string();
    let mut parts = vec![&*fetch.position, &at, &answer, &fetch.url];
    // A success needs no explanation.
    let via = fetch.via.as_ref().filter(|_| fetch.outcome != "ok");
    let via = via.map(|via| format!("found at {via}"));
    parts.extend(via.as_deref());
    stdout::parts(&parts)
}

fn or_dash(value: Option<impl Display>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_a_name() {
        assert_eq!(outcome("http_404_410").as_deref(), Ok("http_404_410"));
        for text in ["", "HTTP", "a b", "a'b", &"a".repeat(41)] {
            assert!(outcome(text).is_err(), "{text}");
        }
    }
}
