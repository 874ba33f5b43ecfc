//! A key's schedules.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    api::{
        caller::{ApiCaller, ApiError},
        idempotency::IdempotencyKey,
    },
    client::sql_calls::sql_calls,
    connection::{bind::sql_rows, row::from_row},
    crawl::{
        links::SqlLink,
        schedules::{NewSchedule, ScheduleRow},
    },
};

/// A schedule that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiScheduled {
    /// Its id.
    pub id: Uuid,
    /// When it first fires.
    pub next_at: DateTime<Utc>,
    /// Whether an earlier request with this idempotency key added the schedule.
    pub is_repeated: bool,
}

from_row!(ApiScheduled { id, next_at, is_repeated });

sql_calls! {
    /// Returns a key's schedules, ordered by their next time.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_list_schedules(
        caller: &ApiCaller,
        id: Option<Uuid>,
    ) -> Result<Vec<ScheduleRow>, ApiError>
        = rows("select * from api.list_schedules($1, $2, $3)", caller.key, caller.secret(), id);

    /// Drops a key's schedule, but not the crawls that it started.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_drop_schedule(caller: &ApiCaller, id: Uuid) -> Result<(), ApiError>
        = done("select api.drop_schedule($1, $2, $3)", caller.key, caller.secret(), id);

    /// Adds a key's schedule. Charges one request, and one more per hundred seeds.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `name_taken`, `idempotency_mismatch`,
    /// `not_allowed` (the key has 100), or, for the crawl that it repeats, `not_found` or
    /// `crawl_open`.
    pub async fn api_add_schedule(
        caller: &ApiCaller,
        schedule: &NewSchedule,
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<ApiScheduled, ApiError>
        = row(
            "select *
               from api.add_schedule($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
            caller.key, caller.secret(), idempotency.map(IdempotencyKey::name),
            idempotency.map(IdempotencyKey::request), schedule.id, schedule.name,
            schedule.times.parts().0, schedule.times.parts().1, schedule.times.parts().2,
            schedule.times.parts().3, schedule.store, schedule.settings,
            sql_rows::<_, SqlLink<'_>>(&schedule.links),
        );
}
