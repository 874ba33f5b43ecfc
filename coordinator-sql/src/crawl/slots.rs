//! Slots, into which all sites are divided, and which workers lease.

use std::time::Duration;

use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{
        bind::{Bound, bind},
        call::run,
        row::values,
    },
    error::Error,
};

/// The proof that every write to a slot must present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlotFence {
    /// The slot, 0 to 255.
    pub slot: i16,
    /// The lease number, which increases with each lease.
    pub lease_number: i32,
    /// The lease's random token.
    pub token: Uuid,
}

/// The right to send requests to a slot's hosts for a limited time.
#[must_use = "a lease that is dropped keeps its slot until it expires"]
#[derive(Debug, Clone)]
pub struct SlotLease {
    /// The fence for this lease.
    pub fence: SlotFence,
    /// Lease duration from the start or the last renewal.
    pub length: Duration,
    /// Number of consecutive holders that died before a checkpoint.
    pub deaths: i16,
    /// Whether the slot fetches one URL at a time and first records it as in progress.
    pub is_isolated: bool,
    /// The links that the slot has read.
    pub cursors: LinkCursors,
}

/// The links that a slot has read, as Postgres snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkCursors {
    /// The snapshot of the ordinary links that were read.
    pub ordinary: String,
    /// The snapshot of the urgent links that were read.
    pub urgent: String,
}

/// A renewal's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotRenewal {
    /// The slots whose leases are still valid.
    pub held: Vec<i16>,
    /// Number of live crawl workers.
    pub live_workers: u32,
    /// Maximum number of slots per worker.
    pub share: usize,
}

#[derive(Debug)]
struct SlotFences {
    slots: Vec<i16>,
    lease_numbers: Vec<i32>,
    tokens: Vec<Uuid>,
}

impl SlotFences {
    fn new(fences: &[SlotFence]) -> Self {
        Self {
            slots: fences.iter().map(|fence| fence.slot).collect(),
            lease_numbers: fences.iter().map(|fence| fence.lease_number).collect(),
            tokens: fences.iter().map(|fence| fence.token).collect(),
        }
    }

    fn binds(&self) -> [Bound<'_>; 3] {
        [bind(&self.slots), bind(&self.lease_numbers), bind(&self.tokens)]
    }
}

sql_calls! {
    /// Reserves at most `wanted` pages in a limited crawl. `None` if the lease is lost.
    pub async fn reserve_pages(
        fence: SlotFence,
        crawl: i32,
        wanted: i64,
    ) -> Result<Option<i64>, Error>
        = value(
            "select coordinator.reserve_pages($1, $2, $3, $4, $5)",
            fence.slot, fence.lease_number, fence.token, crawl, wanted,
        );
}

impl Coordinator {
    /// Leases up to `wanted` free slots within the worker's share, if any crawl is open. Slots with
    /// two deaths are leased a few at a time, and slots with more deaths alone.
    pub async fn lease_slots(&self, worker: &str, wanted: u32) -> Result<Vec<SlotLease>, Error> {
        let sql = "select * from coordinator.lease_slots($1, $2)";
        let wanted = i32::try_from(wanted).unwrap_or(i32::MAX);
        let rows = run(&self.work, sql, &[bind(&worker), bind(&wanted)]).await?;
        rows.iter().map(lease).collect()
    }

    /// Renews a worker's slot leases, on the connection that is reserved for renewals.
    pub async fn renew_slots(
        &self,
        worker: &str,
        fences: &[SlotFence],
    ) -> Result<SlotRenewal, Error> {
        let sql = "select * from coordinator.renew_slots($1, $2, $3, $4)";
        let fences = SlotFences::new(fences);
        let parameters = [bind(&worker)].into_iter().chain(fences.binds()).collect::<Vec<_>>();
        let rows = run(&self.renewals, sql, &parameters).await?;
        let row = rows.first().ok_or_else(|| Error::Unexpected("no share".into()))?;
        Ok(SlotRenewal {
            held: row.try_get("held")?,
            live_workers: row.try_get::<_, i32>("live_workers")?.unsigned_abs(),
            share: row.try_get::<_, i32>("share")?.unsigned_abs() as usize,
        })
    }

    /// Releases slots, and returns those that the worker held. If it `is_leaving`, other workers
    /// can immediately share its slots.
    pub async fn release_slots(
        &self,
        worker: &str,
        fences: &[SlotFence],
        is_leaving: bool,
    ) -> Result<Vec<i16>, Error> {
        let sql = "select slot from coordinator.release_slots($1, $2, $3, $4, $5) slot";
        let fences = SlotFences::new(fences);
        let parameters = [bind(&worker)]
            .into_iter()
            .chain(fences.binds())
            .chain([bind(&is_leaving)])
            .collect::<Vec<_>>();
        let rows: Vec<(i16,)> = values(&run(&self.work, sql, &parameters).await?)?;
        Ok(rows.into_iter().map(|(slot,)| slot).collect())
    }
}

fn lease(row: &Row) -> Result<SlotLease, Error> {
    let milliseconds: i32 = row.try_get("lease_ms")?;
    Ok(SlotLease {
        fence: SlotFence {
            slot: row.try_get("slot")?,
            lease_number: row.try_get("lease_number")?,
            token: row.try_get("lease_token")?,
        },
        length: Duration::from_millis(milliseconds.unsigned_abs().into()),
        deaths: row.try_get("deaths")?,
        is_isolated: row.try_get("is_isolated")?,
        cursors: LinkCursors {
            ordinary: row.try_get("cursor")?,
            urgent: row.try_get("urgent_cursor")?,
        },
    })
}
