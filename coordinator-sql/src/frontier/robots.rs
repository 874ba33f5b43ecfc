//! Rules that crawl owners obey in addition to sites' robots.txt. They can only tighten it.

use serde::Serialize;
use uuid::Uuid;

use crate::{
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    row::{from_row, values},
};

/// Rules that an owner's crawls obey in addition to robots.txt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RobotsOverrideRow {
    /// The id, unique over all owners.
    pub id: Uuid,
    /// Its owner.
    pub owner: String,
    /// The domain to which it applies, with all hosts below it. `None` applies to every host.
    pub site: Option<String>,
    /// Another robot's product token whose rules are obeyed, too.
    pub user_agent: Option<String>,
    /// Lines of robots.txt without a `User-agent`, at most 4,096 characters.
    pub rules: Option<String>,
    /// Minimum delay per host, in milliseconds, at most 300,000.
    pub delay_ms: Option<i32>,
}

from_row!(RobotsOverrideRow { id, owner, site, user_agent, rules, delay_ms });

impl Coordinator {
    /// Adds an override. Returns false if its owner already has 64.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or rejects a value that is out of bounds.
    pub async fn add_robots_override(&self, row: &RobotsOverrideRow) -> Result<bool, Error> {
        let sql = "select coordinator.add_robots_override($1, $2, $3, $4, $5, $6)";
        let parameters = [
            bind(&row.owner),
            bind(&row.id),
            bind(&row.site),
            bind(&row.user_agent),
            bind(&row.rules),
            bind(&row.delay_ms),
        ];
        self.operator_value(sql, &parameters).await
    }

    /// Returns an owner's overrides.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn list_robots_overrides(
        &self,
        owner: &str,
    ) -> Result<Vec<RobotsOverrideRow>, Error> {
        let sql = "select * from coordinator.list_robots_overrides($1)";
        self.operator_rows(sql, &[bind(&owner)]).await
    }

    /// Drops an owner's override. Returns false if the owner has none with this id.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn drop_robots_override(&self, owner: &str, id: Uuid) -> Result<bool, Error> {
        let sql = "select coordinator.drop_robots_override($1, $2)";
        self.operator_value(sql, &[bind(&owner), bind(&id)]).await
    }

    /// Returns the overrides of all owners with open crawls, for slot holders.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn load_robots_overrides(&self) -> Result<Vec<RobotsOverrideRow>, Error> {
        values(&run(&self.work, "select * from coordinator.load_robots_overrides()", &[]).await?)
    }
}
