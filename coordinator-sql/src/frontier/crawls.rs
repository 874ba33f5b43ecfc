//! Crawls: what a submission asked for, how far it has come, how it ended.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    row::{from_row, values},
};

/// A crawl to start.
#[derive(Debug, Clone)]
pub struct NewCrawl {
    /// The crawl's id, unique over all databases.
    pub id: Uuid,
    /// Its name, which names its objects.
    pub name: String,
    /// Whose it is.
    pub owner: String,
    /// Where its records go.
    pub store: String,
    /// Settings that every worker obeys until the crawl ends.
    pub settings: Value,
    /// Pages in all; none without a limit.
    pub page_limit: Option<i64>,
    /// When it ends at the latest.
    pub ends_at: Option<DateTime<Utc>>,
    /// Bytes after which it ends.
    pub max_store_bytes: Option<i64>,
}

/// A crawl that has not ended, as the holders of slots see it.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCrawl {
    /// Its number in this database.
    pub crawl: i32,
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub owner: String,
    /// running or paused.
    pub state: String,
    /// Pages that may still be reserved; none without a limit.
    pub budget_left: Option<i64>,
    /// Where its records go.
    pub store: String,
    /// Requests a second for it, of all workers together; none: any number.
    pub rate: Option<f64>,
    /// The workers among which this rate is shared.
    pub holders: i32,
    /// The least delay between two requests to a host for it, in milliseconds.
    pub min_delay_ms: Option<i32>,
    /// Requests a second for all crawls of its owner, of all workers together; none: any number.
    pub owner_rate: Option<f64>,
    /// The workers among which the owner's rate is shared.
    pub owner_holders: i32,
    /// The least delay between two requests to a host for its owner, in milliseconds.
    pub owner_min_delay_ms: Option<i32>,
    /// When something was forgotten last, in whatever crawl.
    pub forgotten_at: Option<DateTime<Utc>>,
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// Version of its includes and excludes, from 1: they are read again when it changes.
    pub patterns_version: i32,
}

/// Every state of a crawl.
pub const CRAWL_STATES: [&str; 3] = ["running", "paused", "ended"];

/// Everything that ends a crawl; the URLs that are pending then are left for this reason.
pub const CRAWL_ENDS: [&str; 5] = ["empty", "limit", "cancel", "time", "store"];

/// A crawl and its sums over all slots.
/// known = pending + captured + failed + refused + left.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrawlStatus {
    /// Its number in this database.
    pub crawl: i32,
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub owner: String,
    /// running, paused or ended.
    pub state: String,
    /// What ended it: empty, limit, cancel, time or store.
    pub ended_by: Option<String>,
    /// Who paused it, while it is paused: operator, key_revoked, quota_pages or quota_bytes.
    pub paused_by: Option<String>,
    /// Whether more seeds are to come.
    pub seeding: bool,
    /// Where its records go.
    pub store: String,
    /// Its settings.
    pub settings: Value,
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Pages in all, if limited.
    pub page_limit: Option<i64>,
    /// Pages that are neither captured nor reserved, if limited.
    pub budget_left: Option<i64>,
    /// Links submitted.
    pub seeds: i64,
    /// Links recorded for slots.
    pub sent: i64,
    /// Links that slots have merged, of both.
    pub read: i64,
    /// Known URLs.
    pub known: i64,
    /// Those that are not answered.
    pub pending: i64,
    /// Pages reserved for slots.
    pub reserved: i64,
    /// URLs whose record was kept.
    pub captured: i64,
    /// URLs that failed.
    pub failed: i64,
    /// Bytes put to the store.
    pub stored_bytes: i64,
    /// URLs that were refused, by reason.
    pub refused: Value,
    /// URLs that were given up, by reason.
    pub left: Value,
    /// Links that never became known, by reason.
    pub links_refused: Value,
    /// URLs that failed, by outcome; less than `failed` where some failed before this was counted.
    pub failures: Value,
    /// Once it has ended, what became of its indexes: none, pending, written, incomplete or
    /// cancelled.
    pub indexes: Option<String>,
    /// The versions of its includes and excludes, oldest first, as `pattern_versions.sql` describes
    /// them. `None` if they have never changed, or if many crawls are listed.
    pub patterns: Option<Value>,
}

impl CrawlStatus {
    /// Returns the version of the includes and excludes of a crawl that was asked for alone, from
    /// 1.
    #[must_use]
    pub fn patterns_version(&self) -> i32 {
        let newest = self.patterns.as_ref().and_then(Value::as_array).and_then(|all| all.last());
        let version = newest.and_then(|newest| newest.get("version")?.as_i64());
        version.and_then(|version| version.try_into().ok()).unwrap_or(1)
    }
}

/// A host of a crawl that has something due, with what was learnt of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CrawlHost {
    /// The hostname.
    pub hostname: String,
    /// Its slot.
    pub slot: i16,
    /// Known URLs.
    pub known: i32,
    /// Pending URLs.
    pub pending: i32,
    /// When the next one is due.
    pub next_due: DateTime<Utc>,
    /// When the host may be asked again.
    pub free_at: DateTime<Utc>,
    /// The delay that answers of 429 and 503 have led to, in milliseconds; 0: none but those of
    /// the crawl's settings and of robots.txt.
    pub delay_ms: i32,
    /// Its smoothed response time, in milliseconds.
    pub response_ms: i32,
    /// Crawl-delay of its robots.txt, in milliseconds.
    pub crawl_delay_ms: Option<i32>,
    /// Failures in a row, of the origin that has most.
    pub failures: i32,
    /// The origins that are paused, or that have not answered since their pause: for each `origin`,
    /// `since`, `until`, `pause_s`, `failures` and `outcome`, as `put_hosts.sql` describes them.
    /// `None` if there are none.
    pub origins: Option<Value>,
}

/// How fast politeness lets a crawl go at present, as `functions/crawl_pace.sql` counts it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrawlPace {
    /// Hosts that may be asked.
    pub hosts: i32,
    /// Hosts that have something due later, or rest.
    pub resting_hosts: i32,
    /// Pages a second that the hosts' delays and response times allow.
    pub pages_per_second: f64,
    /// Whether there are more hosts than were counted, so that more is allowed.
    pub is_least: bool,
    /// Requests a second that the operator or the crawl's owner allows besides.
    pub rate: Option<f64>,
    /// How many origins of these hosts are paused, by the outcome of their last request.
    pub paused_origins: Value,
    /// Seconds that the delays of one host take for its pending URLs, of all hosts the longest.
    /// `None` if no host has any.
    pub seconds_left: Option<f64>,
    /// That host.
    pub slowest_host: Option<String>,
}

from_row!(OpenCrawl {
    crawl,
    id,
    name,
    owner,
    state,
    budget_left,
    store,
    rate,
    holders,
    min_delay_ms,
    owner_rate,
    owner_holders,
    owner_min_delay_ms,
    forgotten_at,
    started_at,
    patterns_version
});
from_row!(CrawlStatus {
    crawl,
    id,
    name,
    owner,
    state,
    ended_by,
    paused_by,
    seeding,
    store,
    settings,
    started_at,
    finished_at,
    page_limit,
    budget_left,
    seeds,
    sent,
    read,
    known,
    pending,
    reserved,
    captured,
    failed,
    stored_bytes,
    refused,
    left,
    links_refused,
    failures,
    indexes,
    patterns
});
from_row!(CrawlPace {
    hosts,
    resting_hosts,
    pages_per_second,
    is_least,
    rate,
    paused_origins,
    seconds_left,
    slowest_host
});
from_row!(CrawlHost {
    hostname,
    slot,
    known,
    pending,
    next_due,
    free_at,
    delay_ms,
    response_ms,
    crawl_delay_ms,
    failures,
    origins
});
/// Where a crawl stands after it was to be paused, resumed or cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedCrawl {
    /// running, paused or ended.
    pub state: String,
    /// What ended it.
    pub ended_by: Option<String>,
    /// Who paused it: after it was to be resumed, why it cannot go on.
    pub paused_by: Option<String>,
}

from_row!(MovedCrawl { state, ended_by, paused_by });

/// What an operator does to a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrawlVerb {
    /// Nothing more is asked; everything is kept.
    Pause,
    /// It goes on.
    Resume,
    /// It ends; what is pending is left.
    Cancel,
}

impl CrawlVerb {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
        }
    }
}

impl Coordinator {
    /// Starts a crawl and returns its number. It does not end before [`Coordinator::add_links`] was
    /// called for the last time.
    ///
    /// # Errors
    /// When Postgres refuses: a name or an id that exists, for example.
    pub async fn start_crawl(&self, crawl: &NewCrawl) -> Result<i32, Error> {
        let sql = "select coordinator.start_crawl($1, $2, $3, $4, $5, $6, $7, $8)";
        let parameters = [
            bind(&crawl.id),
            bind(&crawl.name),
            bind(&crawl.owner),
            bind(&crawl.store),
            bind(&crawl.settings),
            bind(&crawl.page_limit),
            bind(&crawl.ends_at),
            bind(&crawl.max_store_bytes),
        ];
        self.operator_value(sql, &parameters).await
    }

    /// Pauses, resumes or cancels a crawl; `None`: there is no such crawl. What has ended stays so.
    /// A crawl whose owner may not crawl stays paused, and says why.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn move_crawl(&self, id: Uuid, verb: CrawlVerb) -> Result<Option<MovedCrawl>, Error> {
        let sql = "select * from coordinator.move_crawl($1, $2)";
        let rows = self.operator_rows(sql, &[bind(&id), bind(&verb.as_str())]).await?;
        Ok(rows.into_iter().next())
    }

    /// The crawls that have not ended, after one whose time is over was ended, and schedules that
    /// are due were fired.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn open_crawls(&self) -> Result<Vec<OpenCrawl>, Error> {
        values(&run(&self.work, "select * from coordinator.open_crawls()", &[]).await?)
    }

    /// The settings of a crawl, with its newest includes and excludes; `None`: there is no such
    /// crawl.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn crawl_settings(&self, crawl: i32) -> Result<Option<Value>, Error> {
        self.value("select coordinator.crawl_settings($1)", &[bind(&crawl)]).await
    }

    /// Crawls with their sums, newest first: the one of `id`, or all.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn crawl_status(&self, id: Option<Uuid>) -> Result<Vec<CrawlStatus>, Error> {
        self.operator_rows("select * from coordinator.crawl_status($1)", &[bind(&id)]).await
    }

    /// How fast politeness lets a crawl go at present; none of one that has ended.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn crawl_pace(&self, crawl: i32) -> Result<Option<CrawlPace>, Error> {
        let sql = "select * from coordinator.crawl_pace($1) where hosts is not null";
        Ok(self.operator_rows(sql, &[bind(&crawl)]).await?.into_iter().next())
    }

    /// At most `limit` hosts of a crawl that have something due, soonest first.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn crawl_hosts(&self, id: Uuid, limit: i32) -> Result<Vec<CrawlHost>, Error> {
        let sql = "select * from coordinator.crawl_hosts($1, $2, null, null)";
        self.operator_rows(sql, &[bind(&id), bind(&limit)]).await
    }

    /// Deletes chunks of crawls that have ended, at most `limit`. Returns how many.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn drop_ended_frontier(&self, limit: i32) -> Result<i32, Error> {
        self.value("select coordinator.drop_ended_frontier($1)", &[bind(&limit)]).await
    }
}
