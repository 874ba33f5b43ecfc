//! Starts, lists and changes crawls.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    client::sql_calls::sql_calls,
    connection::{bind::sql_row, row::from_row},
    error::Error,
};

/// A crawl to start.
#[derive(Debug, Clone)]
pub struct NewCrawl {
    /// The crawl's id, unique across all databases.
    pub id: Uuid,
    /// The crawl's name, which its objects' names contain.
    pub name: String,
    /// Its owner.
    pub owner: String,
    /// The store URL for its records.
    pub store: String,
    /// Settings that every worker applies until the crawl ends.
    pub settings: Value,
    /// Maximum pages. `None` if unlimited.
    pub page_limit: Option<i64>,
    /// The crawl ends no later than this. `None` if unlimited.
    pub ends_at: Option<DateTime<Utc>>,
    /// The crawl ends when it has stored this many bytes. `None` if unlimited.
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

/// An open crawl, with the data that slot holders need.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCrawl {
    /// Its number.
    pub crawl: i32,
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: String,
    /// `running` or `paused`.
    pub state: String,
    /// Pages that can still be reserved. `None` if unlimited.
    pub budget_left: Option<i64>,
    /// The store URL for its records.
    pub store: String,
    /// The crawl's maximum requests per second. `None` if unlimited.
    pub rate: Option<f64>,
    /// Number of workers that share this rate.
    pub holders: i32,
    /// The crawl's minimum delay per host, in milliseconds.
    pub min_delay_ms: Option<i32>,
    /// The owner's maximum requests per second. `None` if unlimited.
    pub owner_rate: Option<f64>,
    /// Number of workers that share the owner's rate.
    pub owner_holders: i32,
    /// The owner's minimum delay per host, in milliseconds.
    pub owner_min_delay_ms: Option<i32>,
    /// When `crawl forget` last ran, for any crawl.
    pub forgotten_at: Option<DateTime<Utc>>,
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// Version of the crawl's patterns, starting at 1.
    pub patterns_version: i32,
}

/// All states of a crawl.
pub const CRAWL_STATES: [&str; 3] = ["running", "paused", "ended"];

/// All reasons why a crawl ends. Its pending URLs are then `left` for this reason.
pub const CRAWL_ENDS: [&str; 5] = ["empty", "limit", "cancel", "time", "store"];

/// A crawl with its sums over all slots. known = pending + captured + failed + refused + left.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrawlStatus {
    /// Its number.
    pub crawl: i32,
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: String,
    /// `running`, `paused`, `ended`, `dropping` or `dropped`.
    pub state: String,
    /// The reason why it ended: `empty`, `limit`, `cancel`, `time` or `store`.
    pub ended_by: Option<String>,
    /// The reason why it is paused: `operator`, `key_revoked`, `quota_pages` or `quota_bytes`.
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
    /// Maximum pages. `None` if unlimited.
    pub page_limit: Option<i64>,
    /// Pages that can still be reserved. `None` if unlimited.
    pub budget_left: Option<i64>,
    /// Number of submitted links.
    pub seeds: i64,
    /// Links that slots have recorded for other slots.
    pub sent: i64,
    /// Links that slots have merged, including seeds.
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
    /// Failed URLs, by outcome.
    pub failures: Value,
    /// The state of an ended crawl's indexes: `none`, `pending`, `written`, `incomplete` or
    /// `cancelled`.
    pub indexes: Option<String>,
    /// Its pattern versions, oldest first. `None` in a list, or if they have never changed.
    pub patterns: Option<Value>,
}

impl CrawlStatus {
    /// Returns the pattern version, starting at 1, which only a single crawl's status contains.
    #[must_use]
    pub fn patterns_version(&self) -> i32 {
        let newest = self.patterns.as_ref().and_then(Value::as_array).and_then(|all| all.last());
        let version = newest.and_then(|newest| newest.get("version")?.as_i64());
        version.and_then(|version| version.try_into().ok()).unwrap_or(1)
    }
}

/// A host with a due URL in a crawl, with its delays and pauses.
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
    /// The delay that 429 and 503 responses have caused, in milliseconds.
    pub delay_ms: i32,
    /// The host's smoothed response time, in milliseconds.
    pub response_ms: i32,
    /// The robots.txt's Crawl-delay, in milliseconds.
    pub crawl_delay_ms: Option<i32>,
    /// Maximum consecutive failures of an origin.
    pub failures: i32,
    /// Origins that are paused, or have not responded since, as in `put_hosts.sql`.
    pub origins: Option<Value>,
}

/// The rate that politeness currently allows a crawl, as in `functions/crawl/crawl_pace.sql`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrawlPace {
    /// Hosts that may get a request now.
    pub hosts: i32,
    /// Hosts that must rest longer, or whose next URL is due later.
    pub resting_hosts: i32,
    /// Pages per second that the hosts' delays and response times allow.
    pub pages_per_second: f64,
    /// Whether only some hosts were counted, so that politeness allows more.
    pub is_least: bool,
    /// Maximum requests per second, as set by the operator or the crawl's owner.
    pub rate: Option<f64>,
    /// Paused origins on the counted hosts, by the outcome of the last request.
    pub paused_origins: Value,
    /// Minimum seconds for the slowest host's pending URLs. `None` if there are none.
    pub seconds_left: Option<f64>,
    /// The host that needs the most time.
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
/// A crawl's state after an operator's action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedCrawl {
    /// `running`, `paused` or `ended`.
    pub state: String,
    /// Why it ended.
    pub ended_by: Option<String>,
    /// Why it is paused or could not be resumed.
    pub paused_by: Option<String>,
}

from_row!(MovedCrawl { state, ended_by, paused_by });

/// An operator's action on a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrawlVerb {
    /// Send no further requests, but keep all state.
    Pause,
    /// Continue a paused crawl.
    Resume,
    /// End the crawl, whose pending URLs get the state `left`.
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
    /// Starts a crawl, which does not end before the last call of [`Coordinator::add_links`].
    /// Returns its number.
    ///
    /// # Errors
    /// Returns an error if Postgres rejects the crawl, for example because its name or id exists.
    pub async fn start_crawl(crawl: &NewCrawl) -> Result<i32, Error>
        = operator_value("select coordinator.start_crawl($1)", SqlCrawl::from(crawl));

    /// Pauses, resumes or cancels a crawl that has not ended. `None` if the crawl does not exist.
    pub async fn move_crawl(id: Uuid, verb: CrawlVerb) -> Result<Option<MovedCrawl>, Error>
        = operator_row_if_any("select * from coordinator.move_crawl($1, $2)", id, verb.as_str());

    /// Returns the crawls that have not ended. Some calls also do chores, such as firing due
    /// schedules.
    pub async fn open_crawls() -> Result<Vec<OpenCrawl>, Error>
        = rows("select * from coordinator.open_crawls()");

    /// Returns a crawl's settings. `None` if the crawl does not exist.
    pub async fn crawl_settings(crawl: i32) -> Result<Option<Value>, Error>
        = value("select coordinator.crawl_settings($1)", crawl);

    /// Returns crawls with their sums, newest first, without dropped ones unless `id` is given.
    pub async fn crawl_status(id: Option<Uuid>) -> Result<Vec<CrawlStatus>, Error>
        = operator_rows("select * from coordinator.crawl_status($1)", id);

    /// Returns the rate that politeness currently allows a crawl. `None` if the crawl has ended.
    pub async fn crawl_pace(crawl: i32) -> Result<Option<CrawlPace>, Error>
        = operator_row_if_any(
            "select * from coordinator.crawl_pace($1) where hosts is not null",
            crawl,
        );

    /// Returns hosts with due URLs in a crawl, ordered by due time.
    pub async fn crawl_hosts(id: Uuid, limit: i32) -> Result<Vec<CrawlHost>, Error>
        = operator_rows("select * from coordinator.crawl_hosts($1, $2, null, null)", id, limit);

    /// Deletes at most `limit` chunks and `limit` due times of ended crawls, and returns their
    /// number.
    pub async fn drop_ended_frontier(limit: i32) -> Result<i32, Error>
        = value("select coordinator.drop_ended_frontier($1)", limit);
}
