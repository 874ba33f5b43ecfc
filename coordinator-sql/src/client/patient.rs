//! Operators' calls that need locks for which workers may also wait.
//!
//! The SQL functions wait at most 100 ms for such a lock (`functions/queue/lock_tables.sql`). This
//! module then repeats the call for up to an hour, because a backup may hold its locks for a long
//! time.

use std::time::{Duration, Instant};

use crate::{
    client::coordinator::Coordinator,
    connection::{bind::Bound, row::ColumnValue},
    error::Error,
};

/// How long a call is repeated, which must be longer than a scan's backup of about 15 minutes.
const PATIENCE: Duration = Duration::from_secs(60 * 60);
/// Pause before the second attempt, doubled up to [`MAX_PAUSE`].
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// Maximum pause between two attempts, each of which may block workers for up to 100 ms.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Interval at which a waiting call logs the session that holds the lock.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum jobs or shards in one transaction that locks the jobs. All workers wait for it, some
/// tens of milliseconds.
const PER_TRANSACTION: usize = 250;

pub(crate) fn parts<T>(all: &[T]) -> impl Iterator<Item = &[T]> {
    all.chunks(PER_TRANSACTION)
}

impl Coordinator {
    /// Returns [`Error::Locked`] if a table remains locked for an hour.
    pub(crate) async fn patient_value<T: ColumnValue>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<T, Error> {
        let begun = Instant::now();
        let mut pause = MIN_PAUSE;
        let mut next_log = begun;
        loop {
            match self.operator_value(sql, parameters).await {
                Err(error) if error.is_locked() => {
                    if begun.elapsed() + pause >= PATIENCE {
                        let minutes = PATIENCE.as_secs() / 60;
                        return Err(Error::Locked { holder: error.to_string(), minutes });
                    }
                    // A worker releases its lock during the first pauses, so this is not worth a
                    // warning.
                    if pause == MAX_PAUSE && Instant::now() >= next_log {
                        tracing::warn!(%error, "waiting for the lock; workers are not blocked");
                        next_log = Instant::now() + LOG_INTERVAL;
                    }
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
                other => return other,
            }
        }
    }
}
