//! The schedules of a key.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    api::{
        caller::{ApiCaller, ApiError},
        idempotency::IdempotencyKey,
        submit::LinkColumns,
    },
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    frontier::schedules::{NewSchedule, ScheduleRow},
    row::{FromRow as _, from_row, values},
};

/// A schedule that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiScheduled {
    /// Its id.
    pub id: Uuid,
    /// Time at which it fires first.
    pub next_at: DateTime<Utc>,
    /// Whether an earlier request with the same idempotency key added it, so that this one changed
    /// nothing.
    pub is_repeated: bool,
}

from_row!(ApiScheduled { id, next_at, is_repeated });

impl Coordinator {
    /// Adds a schedule of a key. Its owner is the key, regardless of `schedule`. Charges one
    /// request, and one more per hundred seeds.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `name_taken`, `idempotency_mismatch`,
    /// `not_allowed` (the key has 100).
    pub async fn api_add_schedule(
        &self,
        caller: &ApiCaller,
        schedule: &NewSchedule,
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<ApiScheduled, ApiError> {
        let sql = "select * from api.add_schedule($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
                                                  $12, $13, $14, $15, $16)";
        let secret = caller.secret_sha256.as_slice();
        let name = idempotency.map(|key| key.name.as_str());
        let request = idempotency.map(|key| key.request_sha256.as_slice());
        let (every_s, first_at, at_s, weekdays) = schedule.times.parts();
        let links = LinkColumns::new(&schedule.links);
        let parameters = [
            bind(&caller.key),
            bind(&secret),
            bind(&name),
            bind(&request),
            bind(&schedule.id),
            bind(&schedule.name),
            bind(&every_s),
            bind(&first_at),
            bind(&at_s),
            bind(&weekdays),
            bind(&schedule.store),
            bind(&schedule.settings),
            bind(&links.groups),
            bind(&links.masks),
            bind(&links.amounts),
            bind(&links.data),
        ];
        let rows = run(&self.work, sql, &parameters).await?;
        let row = rows.first().ok_or_else(|| Error::Unexpected("no schedule".into()))?;
        Ok(ApiScheduled::from_row(row)?)
    }

    /// Returns a key's schedules, ordered by their next time, or only the one with `id`. Charges
    /// one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_list_schedules(
        &self,
        caller: &ApiCaller,
        id: Option<Uuid>,
    ) -> Result<Vec<ScheduleRow>, ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let sql = "select * from api.list_schedules($1, $2, $3)";
        let parameters = [bind(&caller.key), bind(&secret), bind(&id)];
        Ok(values(&run(&self.work, sql, &parameters).await?)?)
    }

    /// Drops a schedule of a key; crawls that it started remain. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_drop_schedule(&self, caller: &ApiCaller, id: Uuid) -> Result<(), ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let sql = "select api.drop_schedule($1, $2, $3)";
        run(&self.work, sql, &[bind(&caller.key), bind(&secret), bind(&id)]).await?;
        Ok(())
    }
}
