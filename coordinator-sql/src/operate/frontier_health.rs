//! The state of live crawls that `doctor` checks.

use chrono::{DateTime, Utc};

use crate::{client::sql_calls::sql_calls, connection::row::from_row, error::Error};

/// The state of live crawls' slots, workers and links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontierHealth {
    /// Number of crawls that have not ended.
    pub open_crawls: i32,
    /// Number of these crawls that are not paused.
    pub running_crawls: i32,
    /// The stores of these crawls.
    pub stores: Vec<String>,
    /// Number of live crawl workers.
    pub live_workers: i32,
    /// Number of slots with valid leases.
    pub held_slots: i32,
    /// Number of slots.
    pub slots: i32,
    /// Slots with at least two consecutive deaths.
    pub suspect_slots: Vec<i16>,
    /// Slots that fetch one URL at a time.
    pub isolated_slots: Vec<i16>,
    /// The oldest hour for which links still exist.
    pub oldest_links: Option<DateTime<Utc>>,
    /// Whether a slot's cursor is ahead of this server's transactions.
    pub is_of_another_server: bool,
    /// The server's time.
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
    /// Returns the state of this database's live crawls.
    pub async fn frontier_health() -> Result<FrontierHealth, Error>
        = row("select * from coordinator.frontier_health()");
}
