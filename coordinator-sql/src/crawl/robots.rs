//! Rules that restrict an owner's crawls further than sites' robots.txt does.

use serde::Serialize;
use uuid::Uuid;

use crate::{client::sql_calls::sql_calls, connection::row::from_row, error::Error};

/// Rules that an owner's crawls obey in addition to robots.txt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RobotsOverrideRow {
    /// The id, unique across all owners.
    pub id: Uuid,
    /// Its owner.
    pub owner: String,
    /// The domain to which this applies. `None` applies to every host.
    pub site: Option<String>,
    /// Another robot's product token, whose rules the crawls also obey.
    pub user_agent: Option<String>,
    /// robots.txt lines without a `User-agent` line, at most 4,096 characters.
    pub rules: Option<String>,
    /// Minimum delay per host in milliseconds, at most 300,000.
    pub delay_ms: Option<i32>,
}

from_row!(RobotsOverrideRow { id, owner, site, user_agent, rules, delay_ms });

sql_calls! {
    /// Adds an override. Returns false if its owner already has 64.
    ///
    /// # Errors
    /// Returns an error if Postgres rejects a value that is out of bounds.
    pub async fn add_robots_override(row: &RobotsOverrideRow) -> Result<bool, Error>
        = operator_value(
            "select coordinator.add_robots_override($1, $2, $3, $4, $5, $6)",
            row.owner, row.id, row.site, row.user_agent, row.rules, row.delay_ms,
        );

    /// Returns an owner's overrides.
    pub async fn list_robots_overrides(owner: &str) -> Result<Vec<RobotsOverrideRow>, Error>
        = operator_rows("select * from coordinator.list_robots_overrides($1)", owner);

    /// Drops an owner's override. Returns false if it does not exist.
    pub async fn drop_robots_override(owner: &str, id: Uuid) -> Result<bool, Error>
        = operator_value("select coordinator.drop_robots_override($1, $2)", owner, id);

    /// Returns the overrides for all owners with open crawls.
    pub async fn load_robots_overrides() -> Result<Vec<RobotsOverrideRow>, Error>
        = rows("select * from coordinator.load_robots_overrides()");
}
