//! The blocklist: what takedowns keep out of scans.

use chrono::{DateTime, Utc};
use sqlx::FromRow;

use crate::{coordinator::Coordinator, error::Error};

/// An entry of the blocklist.
#[derive(Debug, Clone, FromRow)]
pub struct BlockedPattern {
    /// hostname, suffix or title.
    pub kind: String,
    /// The hostname, the domain suffix, or a pattern for titles with % and _.
    pub pattern: String,
    /// Why.
    pub reason: Option<String>,
    /// Since when.
    pub added_at: DateTime<Utc>,
}

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
        let mut transaction = self.begin_long().await?;
        sqlx::query("select coordinator.block($1, $2, $3)")
            .bind(kind)
            .bind(pattern)
            .bind(reason)
            .persistent(false)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    }

    /// Takes a pattern off the blocklist. False: it was not on it.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn unblock(&self, kind: &str, pattern: &str) -> Result<bool, Error> {
        let query =
            sqlx::query_scalar("select coordinator.unblock($1, $2)").bind(kind).bind(pattern);
        self.one(query).await
    }

    /// The blocklist, in order.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn list_blocked(&self) -> Result<Vec<BlockedPattern>, Error> {
        self.all(sqlx::query_as("select * from coordinator.list_blocked()")).await
    }
}
