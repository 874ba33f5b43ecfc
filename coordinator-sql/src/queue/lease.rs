//! Leases jobs for a limited time, and renews the leases.

use std::{collections::HashSet, time::Duration};

use tokio_postgres::Row;

use crate::{
    client::coordinator::Coordinator,
    connection::{bind::bind, call::run_polled},
    error::Error,
    queue::{
        cursor::LeaseCursors,
        digests::Digests,
        fences::Fences,
        job::{Fence, JobKind, Lease},
    },
};

/// The result of a renewal.
#[derive(Debug, Clone, Default)]
pub struct Renewal {
    /// The jobs whose leases are still valid.
    pub held: HashSet<i64>,
    /// Number of workers that hold a lease.
    pub live_workers: u32,
    /// The fleet's icon requests per second. `None` if unlimited.
    pub rate: Option<i32>,
    /// The fleet's source requests per second. `None` if unlimited.
    pub archive_rate: Option<i32>,
}

impl Coordinator {
    /// Leases up to `wanted` jobs, first from the oldest run, and in each run from the latest
    /// stage.
    pub async fn lease(
        &self,
        worker_id: &str,
        kinds: &[JobKind],
        wanted: u32,
        digests: &Digests,
        cursors: &LeaseCursors,
    ) -> Result<Vec<Lease>, Error> {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        let wanted = i32::try_from(wanted).unwrap_or(i32::MAX);
        let first_ids: Vec<i64> = kinds.iter().map(|kind| cursors.of(*kind)).collect();
        let digests = digests.json();
        let sql = "select * from coordinator.lease($1, $2, $3, $4, $5)";
        let parameters =
            [bind(&worker_id), bind(&names), bind(&wanted), bind(&digests), bind(&first_ids)];
        run_polled(&self.work, sql, &parameters).await?.iter().map(lease).collect()
    }

    /// Renews a worker's leases, on the connection that is reserved for renewals.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached. The leases then remain valid until they
    /// expire.
    pub async fn renew(&self, worker_id: &str, fences: &[Fence]) -> Result<Renewal, Error> {
        let fences = Fences::from(fences);
        let parameters = [vec![bind(&worker_id)], fences.and([])].concat();
        let sql = "select * from coordinator.renew($1, $2, $3, $4)";
        let mut renewal = Renewal { live_workers: 1, ..Renewal::default() };
        for row in run_polled(&self.renewals, sql, &parameters).await? {
            renewal.held.insert(row.try_get("job_id")?);
            renewal.live_workers = row.try_get::<_, i32>("live_workers")?.unsigned_abs();
            renewal.rate = row.try_get("rate")?;
            renewal.archive_rate = row.try_get("archive_rate")?;
        }
        Ok(renewal)
    }

    /// Renews a lease, and returns whether it is still valid.
    pub async fn holds(&self, worker_id: &str, fence: Fence) -> Result<bool, Error> {
        Ok(self.renew(worker_id, &[fence]).await?.held.contains(&fence.job_id))
    }
}

fn lease(row: &Row) -> Result<Lease, Error> {
    let fence = Fence {
        job_id: row.try_get("job_id")?,
        lease_number: row.try_get("lease_number")?,
        token: row.try_get("lease_token")?,
    };
    let milliseconds: i32 = row.try_get("lease_ms")?;
    Ok(Lease {
        fence,
        run: row.try_get("run")?,
        subject: row.try_get("scan_id")?,
        kind: row.try_get::<_, &str>("kind")?.parse()?,
        part: row.try_get("part")?,
        length: Duration::from_millis(milliseconds.unsigned_abs().into()),
        attempts: row.try_get("attempts")?,
        crashes: row.try_get("crashes")?,
        uses_isolation: row.try_get("uses_isolation")?,
        rate: row.try_get("rate")?,
        archive_rate: row.try_get("archive_rate")?,
    })
}
