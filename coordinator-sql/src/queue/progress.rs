//! The progress of runs, for a worker that exits when its work is done.

use crate::{
    client::coordinator::Coordinator,
    connection::{bind::bind, call::run_polled, row::first},
    error::Error,
    queue::job::JobKind,
};

/// The progress of the runs with some kinds of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// There was no such run.
    NoScan,
    /// Such a run is running or paused.
    Running,
    /// The newest such run has finished without discarded jobs, or was cancelled.
    Ended,
    /// The newest such run has finished with discarded jobs.
    EndedWithDiscards,
}

impl Coordinator {
    /// Returns the progress of the runs with these kinds of jobs.
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
