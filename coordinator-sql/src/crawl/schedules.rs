//! Schedules, which start crawls repeatedly.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    client::sql_calls::sql_calls,
    connection::{
        bind::sql_rows,
        row::{FromRow, from_row},
    },
    crawl::{links::SqlLink, rows::LinksRow},
    error::Error,
};

/// When a schedule fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleTimes {
    /// Periodically, every 60 to 31,536,000 seconds.
    Every {
        /// The period.
        every_s: i32,
        /// The first time. `None` means one period after the schedule was added.
        first_at: Option<DateTime<Utc>>,
    },
    /// At a time of day (UTC) on some weekdays.
    Daily {
        /// Seconds since midnight, 0 to 86,399.
        at_s: i32,
        /// The weekdays as a mask whose first bit is Monday, 1 to 127.
        weekdays: i16,
    },
}

type ScheduleParts = (Option<i32>, Option<DateTime<Utc>>, Option<i32>, Option<i16>);

impl ScheduleTimes {
    pub(crate) fn parts(self) -> ScheduleParts {
        match self {
            Self::Every { every_s, first_at } => (Some(every_s), first_at, None, None),
            Self::Daily { at_s, weekdays } => (None, None, Some(at_s), Some(weekdays)),
        }
    }
}

/// A schedule to add, with at most 20,000 seeds, none of them urgent.
#[derive(Debug, Clone)]
pub struct NewSchedule {
    /// Its id, unique across all owners.
    pub id: Uuid,
    /// Its crawls' owner.
    pub owner: String,
    /// Its name, unique per owner.
    pub name: String,
    /// When it fires.
    pub times: ScheduleTimes,
    /// The store URL for its crawls' records.
    pub store: String,
    /// Its crawls' settings, including `limit`, `duration_s` and `max_store_bytes`.
    pub settings: Value,
    /// The seeds for its crawls.
    pub links: Vec<LinksRow>,
}

/// The result of adding a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleAdded {
    /// The schedule was added, and first fires at this time.
    Added(DateTime<Utc>),
    /// Its owner has another schedule with this name.
    NameTaken,
    /// Its owner already has 100 schedules.
    TooMany,
}

/// A schedule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScheduleRow {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its period in seconds. `None` for a daily schedule.
    pub every_s: Option<i32>,
    /// Its time of day in seconds since midnight UTC. `None` for a periodic schedule.
    pub at_s: Option<i32>,
    /// The weekdays, as a mask whose first bit is Monday.
    pub weekdays: Option<i16>,
    /// The store URL for its crawls' records.
    pub store: String,
    /// Its crawls' settings.
    pub settings: Value,
    /// Number of its seeds.
    pub seeds: i64,
    /// When it was added.
    pub created_at: DateTime<Utc>,
    /// When it fires next.
    pub next_at: DateTime<Utc>,
    /// Number of crawls that it has started.
    pub fired: i64,
    /// Number of times that it did not start a crawl, because its last crawl had not ended, its
    /// owner was not allowed to crawl, or the start failed.
    pub skipped: i64,
    /// The last crawl that it started.
    pub last_crawl: Option<Uuid>,
    /// The error of the last failed start. `None` if a start has succeeded since then.
    pub last_error: Option<String>,
}

from_row!(ScheduleRow {
    id,
    name,
    every_s,
    at_s,
    weekdays,
    store,
    settings,
    seeds,
    created_at,
    next_at,
    fired,
    skipped,
    last_crawl,
    last_error
});

impl FromRow for ScheduleAdded {
    fn from_row(row: &Row) -> Result<Self, Error> {
        let word: String = row.try_get("word")?;
        match word.as_str() {
            "added" => Ok(Self::Added(row.try_get("next_at")?)),
            "name_taken" => Ok(Self::NameTaken),
            "too_many" => Ok(Self::TooMany),
            _ => Err(Error::Unexpected(format!("the schedule result {word:?}"))),
        }
    }
}

sql_calls! {
    /// Returns an owner's schedules, ordered by their next time.
    pub async fn list_schedules(owner: &str, id: Option<Uuid>) -> Result<Vec<ScheduleRow>, Error>
        = operator_rows("select * from coordinator.list_schedules($1, $2)", owner, id);

    /// Drops a schedule, but not its crawls. Returns false if it does not exist.
    pub async fn drop_schedule(owner: &str, id: Uuid) -> Result<bool, Error>
        = operator_value("select coordinator.drop_schedule($1, $2)", owner, id);

    /// Adds a schedule.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached, or rejects a value that is out of bounds.
    pub async fn add_schedule(schedule: &NewSchedule) -> Result<ScheduleAdded, Error>
        = operator_row(
            "select * from coordinator.add_schedule($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            schedule.owner, schedule.id, schedule.name, schedule.times.parts().0,
            schedule.times.parts().1, schedule.times.parts().2, schedule.times.parts().3,
            schedule.store, schedule.settings, sql_rows::<_, SqlLink<'_>>(&schedule.links),
        );
}
