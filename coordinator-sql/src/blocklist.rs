//! The blocklist: what takedowns keep out of scans.

use chrono::{DateTime, Utc};

use crate::{bind::bind, coordinator::Coordinator, error::Error, row::from_row};

/// An entry of the blocklist.
#[derive(Debug, Clone)]
pub struct BlockedPattern {
    /// What the pattern is: hostname, suffix or title.
    pub kind: String,
    /// The hostname, the domain suffix, or a pattern for titles with % and _.
    pub pattern: String,
    /// Why the pattern was added.
    pub reason: Option<String>,
    /// When the pattern was added.
    pub added_at: DateTime<Utc>,
}

from_row!(BlockedPattern { kind, pattern, reason, added_at });

impl Coordinator {
    /// Adds a pattern to the blocklist.
    ///
    /// # Errors
    /// When Postgres refuses it.
    pub async fn block(
        &self,
        kind: &str,
        pattern: &str,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        let sql = "select coordinator.block($1, $2, $3) is null";
        let parameters = [bind(&kind), bind(&pattern), bind(&reason)];
        self.operator_value::<bool>(sql, &parameters).await.map(drop)
    }

    /// Removes a pattern from the blocklist. False: it was not on it.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn unblock(&self, kind: &str, pattern: &str) -> Result<bool, Error> {
        let sql = "select coordinator.unblock($1, $2)";
        self.operator_value(sql, &[bind(&kind), bind(&pattern)]).await
    }

    /// The blocklist, in order.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn list_blocked(&self) -> Result<Vec<BlockedPattern>, Error> {
        self.operator_rows("select * from coordinator.list_blocked()", &[]).await
    }
}
