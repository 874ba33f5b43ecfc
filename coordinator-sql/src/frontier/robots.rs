//! What owners of crawls obey beside the robots.txt of sites. It only tightens.

use serde::Serialize;
use uuid::Uuid;

use crate::{
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    row::{from_row, values},
};

/// What an owner's crawls obey beside robots.txt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RobotsOverrideRow {
    /// The id, unique over all owners.
    pub id: Uuid,
    /// Whose it is.
    pub owner: String,
    /// The domain that it is for, with all hosts below; none: every host.
    pub site: Option<String>,
    /// The product token of a robot whose rules are obeyed as well.
    pub user_agent: Option<String>,
    /// Lines of robots.txt without a `User-agent`, at most 4,096 characters.
    pub rules: Option<String>,
    /// The least delay of a host, in milliseconds, at most 300,000.
    pub delay_ms: Option<i32>,
}

from_row!(RobotsOverrideRow { id, owner, site, user_agent, rules, delay_ms });

impl Coordinator {
    /// Adds an override. False: its owner has 64 already.
    ///
    /// # Errors
    /// When Postgres cannot be asked, or refuses a value that is out of its bounds.
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

    /// The overrides of an owner.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn list_robots_overrides(
        &self,
        owner: &str,
    ) -> Result<Vec<RobotsOverrideRow>, Error> {
        let sql = "select * from coordinator.list_robots_overrides($1)";
        self.operator_rows(sql, &[bind(&owner)]).await
    }

    /// Drops an override of an owner. False: it has none of this id.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn drop_robots_override(&self, owner: &str, id: Uuid) -> Result<bool, Error> {
        let sql = "select coordinator.drop_robots_override($1, $2)";
        self.operator_value(sql, &[bind(&owner), bind(&id)]).await
    }

    /// The overrides of all owners of open crawls, for the holders of slots.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn load_robots_overrides(&self) -> Result<Vec<RobotsOverrideRow>, Error> {
        values(&run(&self.work, "select * from coordinator.load_robots_overrides()", &[]).await?)
    }
}
