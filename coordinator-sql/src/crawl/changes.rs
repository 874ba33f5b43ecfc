//! Finds crawls by a name or the start of an id, and changes its limits, rates and patterns.

use serde_json::Value;
use uuid::Uuid;

use crate::{
    bind::bind, coordinator::Coordinator, error::Error, row::from_row, sql_calls::sql_calls,
};

/// A crawl that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCrawl {
    /// The crawl's id.
    pub id: Uuid,
    /// The crawl's number in this database.
    pub crawl: i32,
    /// The crawl's name.
    pub name: String,
}

from_row!(FoundCrawl { id, crawl, name });

/// A new limit for an open crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrawlChange {
    /// Maximum pages, at least 1. Only for a crawl that was started with a limit.
    Limit(i64),
    /// Maximum duration in seconds, from the crawl's start. `None` removes the time limit.
    Duration(Option<i64>),
    /// Maximum bytes that the crawl may upload to its store. `None` removes the limit.
    MaxStoreBytes(Option<i64>),
}

/// A new limit on the request rate, for one crawl or for all an owner's crawls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateChange {
    /// Requests per second, for all workers together. `None` removes the limit.
    Rate(Option<f64>),
    /// Minimum delay between two requests to a host, in milliseconds. `None` uses the crawl's
    /// settings.
    MinDelay(Option<i32>),
}

impl RateChange {
    /// Returns the name of the limit in SQL, and its new value.
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
    /// The crawl was started without a limit, and cannot get one now.
    Unlimited,
    /// The new limit is lower than this number of captured and reserved pages.
    Used(i64),
}

/// New includes and excludes for an open crawl. The caller has validated them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternChange {
    /// The version that the change replaces.
    pub version: i32,
    /// An array of strings. If it is not empty, a URL must match at least one of these patterns.
    pub include: Value,
    /// An array of strings. A URL must not match any of these patterns.
    pub exclude: Value,
}

/// The result of a pattern change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternsChanged {
    /// The change is in effect.
    Changed,
    /// The patterns were already in effect.
    Unchanged,
    /// Another change has replaced the given version. The caller must read the settings again.
    Moved,
    /// The crawl has reached its limit for recorded changes.
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
    /// Returns the crawls whose name is `text` or whose id starts with it, newest first, at most
    /// five. `None` returns the newest crawl.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn find_crawls(text: Option<&str>) -> Result<Vec<FoundCrawl>, Error>
        = operator_rows("select * from coordinator.find_crawls($1)", text);

    /// Changes the request rate for an owner's crawl, or for all the owner's crawls if `id` is
    /// `None`. An operator (`owner` is `None`) can change any crawl's. Returns false if there is no
    /// such crawl, or if it has ended.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or rejects a number that is out of bounds.
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
    /// Changes a crawl's limits.
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
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
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
