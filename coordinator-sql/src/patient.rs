//! Operators' calls that need a lock for which workers wait too.
//!
//! The functions wait for such a lock for 100 ms (`functions/queue/lock_tables.sql`) and change
//! nothing if they do not get it. A call is repeated here until the session that holds the lock
//! ends, for up to an hour, because a backup can hold its locks that long.
//!
//! Does not depend on the calls.

use std::time::{Duration, Instant};

use crate::{bind::Bound, coordinator::Coordinator, error::Error, row::ColumnValue};

/// How long a call is repeated: longer than a backup of a scan takes, a quarter of an hour.
const PATIENCE: Duration = Duration::from_secs(60 * 60);
/// Pause before the second attempt; each later one is twice as long, up to [`MAX_PAUSE`].
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// Maximum pause between two attempts. Workers may wait for 100 ms of each.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Interval at which a waiting call names the session that it waits for.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Jobs or shards in one transaction that locks the jobs: their update takes tens of milliseconds,
/// and all workers wait for it.
const PER_TRANSACTION: usize = 250;

/// Returns `all` in parts that one transaction may change while it locks the jobs.
pub(crate) fn parts<T>(all: &[T]) -> impl Iterator<Item = &[T]> {
    all.chunks(PER_TRANSACTION)
}

impl Coordinator {
    /// Returns the only value of an operator's statement. Repeats it while it finds a table locked.
    ///
    /// # Errors
    /// Returns [`Error::Locked`] if that lasts for an hour, and any other error immediately.
    pub(crate) async fn patient_value<T: ColumnValue>(
        &self,
        sql: &'static str,
        parameters: &[Bound<'_>],
    ) -> Result<T, Error> {
        let begun = Instant::now();
        let (mut pause, mut next_log) = (MIN_PAUSE, begun);
        loop {
            match self.operator_value(sql, parameters).await {
                Err(error) if error.is_locked() => {
                    if begun.elapsed() + pause >= PATIENCE {
                        let minutes = PATIENCE.as_secs() / 60;
                        return Err(Error::Locked { holder: error.to_string(), minutes });
                    }
                    // A worker's lock is gone after the first pauses and needs no line.
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
