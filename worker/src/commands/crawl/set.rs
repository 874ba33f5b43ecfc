//! `crawl set`: changes a crawl's limits, rates and patterns.

use std::str::FromStr;

use clap::Args;
use everytab_coordinator::{CrawlChange, CrawlChanged, RateChange};
use everytab_crawl_settings::MAX_DURATION_S;

use super::patterns::PatternChangeArgs;
use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{one_crawl, stdout},
    options::{DatabaseArgs, parse_bytes, parse_time, whole_seconds},
};

#[derive(Debug, Args)]
pub(super) struct SetArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The crawl's id, a prefix of the id, or its name
    #[arg(value_name = "ID")]
    crawl: String,
    /// Settings as NAME=VALUE: limit is the maximum number of pages, if the crawl was started with
    /// a limit; for is the maximum time since its start; max-store is the maximum number of stored
    /// bytes; rate is the maximum number of requests per second of the whole fleet; min-delay is
    /// the minimum pause between two requests to a host. The value off removes any of these but
    /// limit
    #[arg(required_unless_present_any = PatternChangeArgs::NAMES)]
    settings: Vec<Setting>,
    #[command(flatten)]
    patterns: PatternChangeArgs,
}

/// Maximum rate, as in Postgres.
const MAX_RATE: f64 = 100_000.0;
/// Maximum of min-delay in milliseconds, as in Postgres.
const MAX_MIN_DELAY_MS: u128 = 3_600_000;

#[derive(Debug, Clone, PartialEq)]
struct Setting {
    change: Change,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    End(CrawlChange),
    Rate(RateChange),
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let signed = |number: u64| i64::try_from(number).ok().filter(|number| *number > 0);
        let change = match text.split_once('=') {
            Some(("limit", pages)) => {
                let pages = pages.parse().ok().and_then(signed);
                let pages = pages.ok_or_else(|| format!("{text}: expected a number of pages"))?;
                Change::End(CrawlChange::Limit(pages))
            }
            Some(("for", "off")) => Change::End(CrawlChange::Duration(None)),
            Some(("for", time)) => {
                let seconds = whole_seconds(parse_time(time)?);
                let seconds = signed(seconds).filter(|_| seconds <= MAX_DURATION_S);
                let seconds = seconds.ok_or_else(|| {
                    format!(
                        "{text}: expected a time from 1s to {}d, or off",
                        MAX_DURATION_S / 86_400
                    )
                })?;
                Change::End(CrawlChange::Duration(Some(seconds)))
            }
            Some(("max-store", "off")) => Change::End(CrawlChange::MaxStoreBytes(None)),
            Some(("max-store", bytes)) => {
                let bytes = signed(parse_bytes(bytes)?.0);
                let bytes =
                    bytes.ok_or_else(|| format!("{text}: expected at least 1 byte, or off"))?;
                Change::End(CrawlChange::MaxStoreBytes(Some(bytes)))
            }
            Some(("rate", "off")) => Change::Rate(RateChange::Rate(None)),
            Some(("rate", rate)) => {
                let rate = rate.parse().ok().filter(|rate| *rate > 0.0 && *rate <= MAX_RATE);
                Change::Rate(RateChange::Rate(Some(rate.ok_or_else(|| {
                    format!(
                        "{text}: expected requests per second, at most {MAX_RATE}, such as 0.5, or \
                         off"
                    )
                })?)))
            }
            Some(("min-delay", "off")) => Change::Rate(RateChange::MinDelay(None)),
            Some(("min-delay", time)) => {
                let delay_ms = parse_time(time)?.as_millis();
                let delay_ms =
                    i32::try_from(delay_ms).ok().filter(|_| delay_ms <= MAX_MIN_DELAY_MS);
                Change::Rate(RateChange::MinDelay(Some(
                    delay_ms.ok_or_else(|| format!("{text}: expected a time up to 1h, or off"))?,
                )))
            }
            _ => {
                return Err("unknown setting; expected limit=NUMBER, for=DURATION|off, \
                            max-store=BYTES|off, rate=NUMBER|off, min-delay=DURATION|off"
                    .to_owned());
            }
        };
        Ok(Self { change, text: text.to_owned() })
    }
}

/// Changes the patterns, and then each setting.
///
/// # Errors
/// Returns an error for the first change that the crawl rejects. Earlier changes remain.
pub(super) async fn set(args: SetArgs) -> CliResult {
    args.patterns.check()?;
    let (coordinator, crawl) = one_crawl::find(&args.database, Some(&args.crawl)).await?;
    if !args.patterns.is_empty() {
        args.patterns.apply(&coordinator, &crawl).await?;
    }
    for Setting { change, text } in args.settings {
        let change = match change {
            Change::End(change) => change,
            Change::Rate(change) => {
                if !coordinator.set_crawl_rate(None, Some(crawl.id), change).await? {
                    return Err(one_crawl::has_ended(&crawl));
                }
                stdout::line(text)?;
                continue;
            }
        };
        match coordinator.set_crawl(crawl.id, change).await? {
            CrawlChanged::Changed => stdout::line(text)?,
            CrawlChanged::Unknown => return Err(one_crawl::unknown(&args.crawl)),
            CrawlChanged::Ended => return Err(one_crawl::has_ended(&crawl)),
            CrawlChanged::Unlimited => {
                return Err(CliError::new(format!(
                    "{text}: the crawl was started without --limit, so no limit can be set"
                )));
            }
            CrawlChanged::Used(pages) => {
                return Err(CliError::new(format!(
                    "{text}: {pages} pages are already captured or being fetched"
                )));
            }
        }
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_parsed_or_rejected() {
        for (text, change) in [
            ("limit=5", Change::End(CrawlChange::Limit(5))),
            ("for=2h", Change::End(CrawlChange::Duration(Some(7_200)))),
            ("for=off", Change::End(CrawlChange::Duration(None))),
            ("max-store=1KiB", Change::End(CrawlChange::MaxStoreBytes(Some(1_024)))),
            ("max-store=off", Change::End(CrawlChange::MaxStoreBytes(None))),
            ("rate=0.5", Change::Rate(RateChange::Rate(Some(0.5)))),
            ("rate=off", Change::Rate(RateChange::Rate(None))),
            ("min-delay=2s", Change::Rate(RateChange::MinDelay(Some(2_000)))),
            ("min-delay=off", Change::Rate(RateChange::MinDelay(None))),
        ] {
            assert_eq!(text.parse::<Setting>().map(|setting| setting.change), Ok(change), "{text}");
        }
        for bad in [
            "limit",
            "limit=off",
            "limit=0",
            "limit=-1",
            "limit=99999999999999999999",
            "for=0",
            "for=366d",
            "for=x",
            "max-store=0",
            "max-store=1MB",
            "delay=1s",
            "rate=0",
            "rate=NaN",
            "rate=inf",
            "rate=-1",
            "rate=100001",
            "min-delay=61m",
            "min-delay=x",
            "",
            "=",
        ] {
            assert!(bad.parse::<Setting>().is_err(), "{bad}");
        }
    }
}
