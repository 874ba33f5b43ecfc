//! Live crawls' health, as `doctor` checks it.

use chrono::{DateTime, Utc};

use crate::{error::Error, row::from_row, sql_calls::sql_calls};

/// Live crawls' slots, workers and links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontierHealth {
    /// Crawls that have not ended.
    pub open_crawls: i32,
    /// Crawls among them that are not paused.
    pub running_crawls: i32,
    /// The stores of open crawls.
    pub stores: Vec<String>,
    /// Workers that crawl, seen within some seconds.
    pub live_workers: i32,
    /// Slots with valid leases.
    pub held_slots: i32,
    /// All slots.
    pub slots: i32,
    /// Slots whose last holders, two or more, died one after the other. They are leased apart from
    /// other slots.
    pub suspect_slots: Vec<i16>,
    /// Slots that fetch one URL at a time.
    pub isolated_slots: Vec<i16>,
    /// The hour of the oldest links kept for slots to read.
    pub oldest_links: Option<DateTime<Utc>>,
    /// Whether a slot's cursor is ahead of this server's transactions.
    pub is_of_another_server: bool,
    /// The server's clock.
    pub server_time: DateTime<Utc>,
}

from_row!(FrontierHealth {
    open_crawls,
    running_crawls,
    stores,
    live_workers,
    held_slots,
    slots,
    suspect_slots,
    isolated_slots,
    oldest_links,
    is_of_another_server,
    server_time
});

sql_calls! {
    /// Returns live crawls' health in this database.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn frontier_health() -> Result<FrontierHealth, Error>
        = row("select * from coordinator.frontier_health()");
}
