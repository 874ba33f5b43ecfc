//! `crawl set`: changes when a crawl ends.

use std::str::FromStr;

use clap::Args;
use everytab_coordinator::{CrawlChange, CrawlChanged};
use everytab_crawler::MAX_DURATION_S;

use super::{
    one_crawl,
    option_args::{parse_bytes, parse_time, whole_seconds},
};
use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::stdout,
    options::DatabaseArgs,
};

/// Options of `crawl set`.
#[derive(Debug, Args)]
pub(super) struct SetArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The crawl's id, the beginning of it, or its name
    #[arg(value_name = "ID")]
    crawl: String,
    /// NAME=VALUE; limit is the pages in all, of a crawl that was started with a limit; for is the
    /// time from its start, and max-store the bytes that it stores (off: neither ends it)
    #[arg(required = true)]
    settings: Vec<Setting>,
}

/// A change of a running crawl, and the text that asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    change: CrawlChange,
    text: String,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let signed = |number: u64| i64::try_from(number).ok().filter(|number| *number > 0);
        let change = match text.split_once('=') {
            Some(("limit", pages)) => {
                let pages = pages.parse().ok().and_then(signed);
                CrawlChange::Limit(pages.ok_or_else(|| format!("{text}: give a number of pages"))?)
            }
            Some(("for", "off")) => CrawlChange::Duration(None),
            Some(("for", time)) => {
                let seconds = whole_seconds(parse_time(time)?);
                let seconds = signed(seconds).filter(|_| seconds <= MAX_DURATION_S);
                CrawlChange::Duration(Some(seconds.ok_or_else(|| {
                    format!("{text}: give a time from 1s to {}d, or off", MAX_DURATION_S / 86_400)
                })?))
            }
            Some(("max-store", "off")) => CrawlChange::MaxStoreBytes(None),
            Some(("max-store", bytes)) => {
                let bytes = signed(parse_bytes(bytes)?.0);
                let bytes = bytes.ok_or_else(|| format!("{text}: give at least a byte, or off"))?;
                CrawlChange::MaxStoreBytes(Some(bytes))
            }
            _ => {
                return Err(
                    "it is none of limit=NUMBER, for=DURATION|off, max-store=BYTES|off".to_owned()
                );
            }
        };
        Ok(Self { change, text: text.to_owned() })
    }
}

/// Changes one end after the other.
///
/// # Errors
/// The first change that the crawl cannot have.
pub(super) async fn set(args: SetArgs) -> CliResult {
    let (coordinator, crawl) = one_crawl::find(&args.database, Some(&args.crawl)).await?;
    for Setting { change, text } in args.settings {
        match coordinator.set_crawl(crawl.id, change).await? {
            CrawlChanged::Changed => stdout::line(text)?,
            CrawlChanged::Unknown => return Err(one_crawl::unknown(&args.crawl)),
            CrawlChanged::Ended => return Err(one_crawl::has_ended(&crawl)),
            CrawlChanged::Unlimited => {
                return Err(CliError::new(format!(
                    "{text}: the crawl was started without --limit, and cannot get one"
                )));
            }
            CrawlChanged::Used(pages) => {
                return Err(CliError::new(format!(
                    "{text}: {pages} pages are captured or being asked for already"
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
    fn changes_are_read_or_refused() {
        for (text, change) in [
            ("limit=5", CrawlChange::Limit(5)),
            ("for=2h", CrawlChange::Duration(Some(7_200))),
            ("for=off", CrawlChange::Duration(None)),
            ("max-store=1KiB", CrawlChange::MaxStoreBytes(Some(1_024))),
            ("max-store=off", CrawlChange::MaxStoreBytes(None)),
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
            "",
            "=",
        ] {
            assert!(bad.parse::<Setting>().is_err(), "{bad}");
        }
    }
}
