//! The progress of runs, for a worker that exits when its work is done.

use crate::{
    bind::bind, call::run_polled, coordinator::Coordinator, error::Error, job::JobKind, row::first,
};

/// The progress of the runs that have some kinds of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// No run with these kinds of jobs was ever started.
    NoScan,
    /// A run with these kinds is running or paused.
    Running,
    /// The newest of these runs has finished without discarded jobs, or was cancelled.
    Ended,
    /// The newest of these runs has finished with discarded jobs.
    EndedWithDiscards,
}

impl Coordinator {
    /// Returns the progress of the runs with these kinds of jobs.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn progress(&self, kinds: &[JobKind]) -> Result<Progress, Error> {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        let sql = "select coordinator.run_progress($1)";
        let state: Option<String> = first(&run_polled(&self.work, sql, &[bind(&kinds)]).await?)?;
        match state.as_deref() {
            None => Ok(Progress::NoScan),
            Some("running") => Ok(Progress::Running),
            Some("finished" | "cancelled") => Ok(Progress::Ended),
            Some("finished_with_discards") => Ok(Progress::EndedWithDiscards),
            Some(other) => Err(Error::Unexpected(format!("the scan state {other:?}"))),
        }
    }
}
