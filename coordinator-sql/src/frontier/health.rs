//! What `doctor` looks at of live crawls.

use chrono::{DateTime, Utc};

use crate::{
    call::run,
    coordinator::Coordinator,
    error::Error,
    row::{from_row, values},
};

/// How the slots, workers and links of live crawls stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontierHealth {
    /// Crawls that have not ended.
    pub open_crawls: i32,
    /// Those of them that are not paused.
    pub running_crawls: i32,
    /// The stores of open crawls.
    pub stores: Vec<String>,
    /// Workers that crawl, seen within some seconds.
    pub live_workers: i32,
    /// Slots whose leases hold.
    pub held_slots: i32,
    /// All slots.
    pub slots: i32,
    /// Slots whose last holders died one after the other; each is to be a worker's only one.
    pub suspect_slots: Vec<i16>,
    /// Slots that ask one URL at a time.
    pub isolated_slots: Vec<i16>,
    /// The hour of the oldest links that are kept for slots to read.
    pub oldest_links: Option<DateTime<Utc>>,
    /// Whether a slot's cursor counts transactions that this server has not had.
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

impl Coordinator {
    /// How live crawls stand in this database.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn frontier_health(&self) -> Result<FrontierHealth, Error> {
        let rows = run(&self.work, "select * from coordinator.frontier_health()", &[]).await?;
        values(&rows)?.pop().ok_or_else(|| Error::Unexpected("no row".into()))
    }
}
