//! Crawls: their settings, progress and end.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{bind::sql_row, error::Error, row::from_row, sql_calls::sql_calls};

/// A crawl to start.
#[derive(Debug, Clone)]
pub struct NewCrawl {
    /// The crawl's id, unique across all databases.
    pub id: Uuid,
    /// The crawl's name, which is part of the names of its objects.
    pub name: String,
    /// Its owner.
    pub owner: String,
    /// The store URL for its records.
    pub store: String,
    /// Settings that every worker applies until the crawl ends.
    pub settings: Value,
    /// Maximum pages. `None` if unlimited.
    pub page_limit: Option<i64>,
    /// The time at which the crawl ends at the latest. `None` if unlimited.
    pub ends_at: Option<DateTime<Utc>>,
    /// Maximum bytes in the store. The crawl ends when it reaches this limit.
    pub max_store_bytes: Option<i64>,
}

sql_row!("new_crawl": SqlCrawl from NewCrawl as |crawl| {
    id: Uuid = crawl.id,
    name: &'a str = &crawl.name,
    owner: &'a str = &crawl.owner,
    store: &'a str = &crawl.store,
    settings: &'a Value = &crawl.settings,
    page_limit: Option<i64> = crawl.page_limit,
    ends_at: Option<DateTime<Utc>> = crawl.ends_at,
    max_store_bytes: Option<i64> = crawl.max_store_bytes,
});

/// A crawl that has not ended, as slot holders see it.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCrawl {
    /// Its number in this database.
    pub crawl: i32,
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: String,
    /// running or paused.
    pub state: String,
    /// Pages that can still be reserved. `None` if unlimited.
    pub budget_left: Option<i64>,
    /// The store URL for its records.
    pub store: String,
    /// Requests per second for it, by all workers together. `None` if unlimited.
    pub rate: Option<f64>,
    /// Workers that share this rate.
    pub holders: i32,
    /// Minimum delay between two of its requests to a host, in milliseconds.
    pub min_delay_ms: Option<i32>,
    /// Requests per second for all its owner's crawls, by all workers together. `None` if
    /// unlimited.
    pub owner_rate: Option<f64>,
    /// Workers that share the owner's rate.
    pub owner_holders: i32,
    /// Minimum delay between two of its owner's requests to a host, in milliseconds.
    pub owner_min_delay_ms: Option<i32>,
    /// When `crawl forget` last ran, for any crawl.
    pub forgotten_at: Option<DateTime<Utc>>,
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// Version of the crawl's patterns, from 1. Workers must read the patterns again when it
    /// changes.
    pub patterns_version: i32,
}

/// Every state of a crawl.
pub const CRAWL_STATES: [&str; 3] = ["running", "paused", "ended"];

/// Every reason for which a crawl ends. URLs that are still pending get the state `left` with this
/// reason.
pub const CRAWL_ENDS: [&str; 5] = ["empty", "limit", "cancel", "time", "store"];

/// A crawl and its sums over all slots. known = pending + captured + failed + refused + left.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrawlStatus {
    /// Its number in this database.
    pub crawl: i32,
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: String,
    /// running, paused or ended.
    pub state: String,
    /// The reason why it ended: empty, limit, cancel, time or store.
    pub ended_by: Option<String>,
    /// Why it is paused, if it is: operator, key_revoked, quota_pages or quota_bytes.
    pub paused_by: Option<String>,
    /// Whether more seeds will be added.
    pub seeding: bool,
    /// The store URL for its records.
    pub store: String,
    /// Its settings.
    pub settings: Value,
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// Maximum pages, if limited.
    pub page_limit: Option<i64>,
    /// Pages that are neither captured nor reserved, if limited.
    pub budget_left: Option<i64>,
    /// Links submitted.
    pub seeds: i64,
    /// Links recorded for slots.
    pub sent: i64,
    /// Links that slots have merged, from seeds and other links.
    pub read: i64,
    /// Known URLs.
    pub known: i64,
    /// URLs that are not finished.
    pub pending: i64,
    /// Pages reserved for slots.
    pub reserved: i64,
    /// URLs whose record was stored.
    pub captured: i64,
    /// URLs that failed.
    pub failed: i64,
    /// Bytes uploaded to the store.
    pub stored_bytes: i64,
    /// Refused URLs, by reason.
    pub refused: Value,
    /// URLs that were skipped (state `left`), by reason.
    pub left: Value,
    /// Rejected links, by reason.
    pub links_refused: Value,
    /// Failed URLs, by outcome. The total is less than `failed` if some failed before this was
    /// counted.
    pub failures: Value,
    /// Its indexes' state once it has ended: none, pending, written, incomplete or cancelled.
    pub indexes: Option<String>,
    /// Its pattern versions, oldest first, as described in `pattern_versions.sql`. `None` if they
    /// have never changed, or in a list of crawls.
    pub patterns: Option<Value>,
}

impl CrawlStatus {
    /// Returns the pattern version, from 1. The status must be a single crawl's.
    #[must_use]
    pub fn patterns_version(&self) -> i32 {
        let newest = self.patterns.as_ref().and_then(Value::as_array).and_then(|all| all.last());
        let version = newest.and_then(|newest| newest.get("version")?.as_i64());
        version.and_then(|version| version.try_into().ok()).unwrap_or(1)
    }
}

/// A host with a due URL in a crawl, and its delays and pauses.
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
    /// When its next URL is due.
    pub next_due: DateTime<Utc>,
    /// When the host may get its next request.
    pub free_at: DateTime<Utc>,
    /// The delay that 429 and 503 responses have caused, in milliseconds. 0 if only the crawl's
    /// settings and robots.txt apply.
    pub delay_ms: i32,
    /// The host's smoothed response time, in milliseconds.
    pub response_ms: i32,
    /// Crawl-delay of its robots.txt, in milliseconds.
    pub crawl_delay_ms: Option<i32>,
    /// Consecutive failures, for the origin with the most.
    pub failures: i32,
    /// Origins that are paused, or have not responded since their pause, each with `origin`,
    /// `since`, `until`, `pause_s`, `failures` and `outcome`, as described in `put_hosts.sql`.
    /// `None` if there are none.
    pub origins: Option<Value>,
}

/// The rate at which politeness allows a crawl at present, as `functions/crawl/crawl_pace.sql`
/// computes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrawlPace {
    /// Hosts that may get a request.
    pub hosts: i32,
    /// Hosts that are paused, or whose next URL is due later.
    pub resting_hosts: i32,
    /// Pages per second that the hosts' delays and response times allow.
    pub pages_per_second: f64,
    /// Whether there are more hosts than were counted, so that the true rate is higher.
    pub is_least: bool,
    /// Requests per second to which the operator or the crawl's owner limits it.
    pub rate: Option<f64>,
    /// Paused origins on these hosts, by their last request's outcome.
    pub paused_origins: Value,
    /// Seconds until the slowest host may get a request, plus the seconds that its pending URLs
    /// then take. `None` if no host has pending URLs.
    pub seconds_left: Option<f64>,
    /// The slowest host.
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
/// A crawl's state after a request to pause, resume or cancel it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedCrawl {
    /// running, paused or ended.
    pub state: String,
    /// The reason why it ended.
    pub ended_by: Option<String>,
    /// Why it is paused. After a request to resume, why it stays paused.
    pub paused_by: Option<String>,
}

from_row!(MovedCrawl { state, ended_by, paused_by });

/// An operator's request about a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrawlVerb {
    /// Send no more requests, and keep everything.
    Pause,
    /// Continue.
    Resume,
    /// End it, and leave its pending URLs.
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

sql_calls! {
    /// Starts a crawl and returns its number. It does not end before the last call of
    /// [`Coordinator::add_links`].
    ///
    /// # Errors
    /// Returns an error if Postgres rejects the crawl, for example because its name or id exists.
    pub async fn start_crawl(crawl: &NewCrawl) -> Result<i32, Error>
        = operator_value("select coordinator.start_crawl($1)", SqlCrawl::from(crawl));

    /// Pauses, resumes or cancels a crawl. `None` if there is no such crawl. An ended crawl stays
    /// ended. If the owner may not crawl, the crawl stays paused, and the result says why.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn move_crawl(id: Uuid, verb: CrawlVerb) -> Result<Option<MovedCrawl>, Error>
        = operator_row_if_any("select * from coordinator.move_crawl($1, $2)", id, verb.as_str());

    /// Returns the crawls that have not ended. Before that, ends crawls whose time is over, and
    /// fires schedules that are due.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn open_crawls() -> Result<Vec<OpenCrawl>, Error>
        = rows("select * from coordinator.open_crawls()");

    /// Returns a crawl's settings, with its newest includes and excludes. `None` if there is no
    /// such crawl.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn crawl_settings(crawl: i32) -> Result<Option<Value>, Error>
        = value("select coordinator.crawl_settings($1)", crawl);

    /// Returns crawls with their sums, newest first: the one with `id`, or all.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn crawl_status(id: Option<Uuid>) -> Result<Vec<CrawlStatus>, Error>
        = operator_rows("select * from coordinator.crawl_status($1)", id);

    /// Returns the rate at which politeness allows a crawl at present. `None` if it has ended.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn crawl_pace(crawl: i32) -> Result<Option<CrawlPace>, Error>
        = operator_row_if_any(
            "select * from coordinator.crawl_pace($1) where hosts is not null",
            crawl,
        );

    /// Returns at most `limit` hosts with a due URL in a crawl, soonest first.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn crawl_hosts(id: Uuid, limit: i32) -> Result<Vec<CrawlHost>, Error>
        = operator_rows("select * from coordinator.crawl_hosts($1, $2, null, null)", id, limit);

    /// Deletes at most `limit` chunks from ended crawls. Returns how many it deleted.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn drop_ended_frontier(limit: i32) -> Result<i32, Error>
        = value("select coordinator.drop_ended_frontier($1)", limit);
}
