//! Finding a crawl by what a person typed, and changing when it ends and what it follows.

use serde_json::Value;
use uuid::Uuid;

use crate::{bind::bind, coordinator::Coordinator, error::Error, row::from_row};

/// A crawl that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCrawl {
    /// Its id.
    pub id: Uuid,
    /// Its number in this database.
    pub crawl: i32,
    /// Its name.
    pub name: String,
}

from_row!(FoundCrawl { id, crawl, name });

/// Another end of a crawl that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrawlChange {
    /// Pages in all, at least 1; only of a crawl that was started with a limit.
    Limit(i64),
    /// Seconds from its start; none: it ends by itself.
    Duration(Option<i64>),
    /// Bytes in the store; none: as many as there are.
    MaxStoreBytes(Option<i64>),
}

/// Another limit of how often hosts are asked for a crawl, or for all crawls of an owner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateChange {
    /// Requests a second, of all workers together; none: any number.
    Rate(Option<f64>),
    /// The least delay between two requests to a host, in milliseconds; none: that of the settings.
    MinDelay(Option<i32>),
}

impl RateChange {
    /// Its name, and its value.
    pub(crate) fn parts(self) -> (&'static str, Option<f64>) {
        match self {
            Self::Rate(rate) => ("rate", rate),
            Self::MinDelay(delay_ms) => ("min_delay_ms", delay_ms.map(f64::from)),
        }
    }
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrawlChanged {
    /// It holds from now on.
    Changed,
    /// There is no such crawl.
    Unknown,
    /// The crawl has ended.
    Ended,
    /// The crawl was started without a limit, and cannot have one now.
    Unlimited,
    /// So many pages are captured or reserved, and the limit is below that.
    Used(i64),
}

/// Other includes and excludes of a crawl that runs, which the caller has checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternChange {
    /// The version that they replace.
    pub version: i32,
    /// Patterns of which one must match, if there is any: an array of texts.
    pub include: Value,
    /// Patterns of which none may match: an array of texts.
    pub exclude: Value,
}

/// What became of other includes and excludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternsChanged {
    /// They hold from now on.
    Changed,
    /// They held already.
    Unchanged,
    /// Another change came first: the caller reads the settings again.
    Moved,
    /// The crawl has had so many changes that no more are recorded.
    Full,
    /// The crawl has ended.
    Ended,
    /// There is no such crawl.
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

impl Coordinator {
    /// The crawls whose name is `text` or whose id begins with it, newest first, at most five; for
    /// none, the newest crawl.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn find_crawls(&self, text: Option<&str>) -> Result<Vec<FoundCrawl>, Error> {
        self.operator_rows("select * from coordinator.find_crawls($1)", &[bind(&text)]).await
    }

    /// Changes when a crawl ends.
    ///
    /// # Errors
    /// When Postgres cannot be asked, or refuses a number that is not positive.
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

    /// Changes the includes and excludes of a crawl.
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

    /// Changes how often hosts are asked for a crawl of an owner, or for all of them where `id` is
    /// none; an operator (`owner` is none) changes that of any crawl. False: there is no such
    /// crawl, or it has ended.
    ///
    /// # Errors
    /// When Postgres cannot be asked, or refuses a number that is out of its bounds.
    pub async fn set_crawl_rate(
        &self,
        owner: Option<&str>,
        id: Option<Uuid>,
        change: RateChange,
    ) -> Result<bool, Error> {
        let (name, value) = change.parts();
        let sql = "select coordinator.set_crawl_rate($1, $2, $3, $4)";
        self.operator_value(sql, &[bind(&owner), bind(&id), bind(&name), bind(&value)]).await
    }
}
