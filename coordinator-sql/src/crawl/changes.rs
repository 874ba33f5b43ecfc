//! Finds crawls, and changes their limits, rates and patterns.

use serde_json::Value;
use uuid::Uuid;

use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{bind::bind, row::from_row},
    error::Error,
};

/// A crawl that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCrawl {
    /// The crawl's id.
    pub id: Uuid,
    /// The crawl's number.
    pub crawl: i32,
    /// The crawl's name.
    pub name: String,
}

from_row!(FoundCrawl { id, crawl, name });

/// A new limit for an open crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrawlChange {
    /// Maximum pages, at least 1, for a crawl that was started with a limit.
    Limit(i64),
    /// Maximum duration in seconds since the crawl's start. `None` removes the limit.
    Duration(Option<i64>),
    /// Maximum bytes that the crawl may upload to its store. `None` removes the limit.
    MaxStoreBytes(Option<i64>),
}

/// A new rate limit for one crawl, or for all of an owner's crawls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateChange {
    /// Maximum requests per second, by all workers together. `None` removes the limit.
    Rate(Option<f64>),
    /// Minimum delay between two requests to a host, in milliseconds. `None` removes it.
    MinDelay(Option<i32>),
}

impl RateChange {
    pub(crate) fn parts(self) -> (&'static str, Option<f64>) {
        match self {
            Self::Rate(rate) => ("rate", rate),
            Self::MinDelay(delay_ms) => ("min_delay_ms", delay_ms.map(f64::from)),
        }
    }
}

/// The result of a limit change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrawlChanged {
    /// The change is in effect.
    Changed,
    /// The crawl was not found.
    Unknown,
    /// The crawl has ended.
    Ended,
    /// The crawl was started without a page limit, so it cannot get one.
    Unlimited,
    /// The new limit is less than this number of pages in use.
    Used(i64),
}

/// New includes and excludes for an open crawl, validated by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternChange {
    /// The version that this change replaces.
    pub version: i32,
    /// An array of patterns. Unless it is empty, a URL must match one.
    pub include: Value,
    /// An array of patterns that a URL must not match.
    pub exclude: Value,
}

/// The result of a pattern change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternsChanged {
    /// The change is in effect.
    Changed,
    /// The crawl already has these patterns.
    Unchanged,
    /// The patterns were changed since the given version.
    Moved,
    /// The recorded versions have reached their maximum size.
    Full,
    /// The crawl has ended.
    Ended,
    /// The crawl was not found.
    Unknown,
}

impl PatternsChanged {
    pub(crate) fn parse(word: &str) -> Self {
        match word {
            "changed" => Self::Changed,
            "unchanged" => Self::Unchanged,
            "moved" => Self::Moved,
            "full" => Self::Full,
            "ended" => Self::Ended,
            _ => Self::Unknown,
        }
    }
}

struct Answer {
    word: String,
    used: Option<i64>,
}

from_row!(Answer { word, used });

sql_calls! {
    /// Returns up to five crawls whose name is `text` or whose id starts with it. If `text` is
    /// `None`, returns the newest crawl.
    pub async fn find_crawls(text: Option<&str>) -> Result<Vec<FoundCrawl>, Error>
        = operator_rows("select * from coordinator.find_crawls($1)", text);

    /// Changes the rate limit for an owner's crawl, or for all of them if `id` is `None`. An
    /// operator (`owner` is `None`) can change any crawl. Returns false if the crawl does not exist
    /// or has ended.
    ///
    /// # Errors
    /// Returns an error if Postgres rejects a number that is out of bounds.
    pub async fn set_crawl_rate(
        owner: Option<&str>,
        id: Option<Uuid>,
        change: RateChange,
    ) -> Result<bool, Error>
        = operator_value(
            "select coordinator.set_crawl_rate($1, $2, $3, $4)",
            owner, id, change.parts().0, change.parts().1,
        );
}

impl Coordinator {
    /// Changes one of a crawl's limits.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or rejects a number that is not positive.
    pub async fn set_crawl(&self, id: Uuid, change: CrawlChange) -> Result<CrawlChanged, Error> {
        let (name, value) = match change {
            CrawlChange::Limit(pages) => ("limit", Some(pages)),
            CrawlChange::Duration(seconds) => ("duration_s", seconds),
            CrawlChange::MaxStoreBytes(bytes) => ("max_store_bytes", bytes),
        };
        let sql = "select * from coordinator.set_crawl($1, $2, $3)";
        let parameters = [bind(&id), bind(&name), bind(&value)];
        let answers: Vec<Answer> = self.operator_rows(sql, &parameters).await?;
        let answer = answers.first().map(|answer| (answer.word.as_str(), answer.used));
        Ok(match answer {
            Some(("changed", _)) => CrawlChanged::Changed,
            Some(("ended", _)) => CrawlChanged::Ended,
            Some(("unlimited", _)) => CrawlChanged::Unlimited,
            Some(("used", used)) => CrawlChanged::Used(used.unwrap_or_default()),
            _ => CrawlChanged::Unknown,
        })
    }

    /// Changes a crawl's includes and excludes.
    pub async fn change_patterns(
        &self,
        id: Uuid,
        change: &PatternChange,
    ) -> Result<PatternsChanged, Error> {
        let sql = "select word from coordinator.change_patterns($1, $2, $3, $4)";
        let PatternChange { version, include, exclude } = change;
        let parameters = [bind(&id), bind(version), bind(include), bind(exclude)];
        let word: String = self.operator_value(sql, &parameters).await?;
        Ok(PatternsChanged::parse(&word))
    }
}
