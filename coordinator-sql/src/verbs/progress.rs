//! Where the work stands, for a worker that leaves when it is done.

use crate::{bind::bind, coordinator::Coordinator, error::Error, job::JobKind};

/// Where the work stands, for a worker that leaves when it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// No scan was ever started here.
    NoScan,
    /// A scan runs or is paused.
    Running,
    /// The newest scan has finished without discarded jobs, or was cancelled.
    Ended,
    /// The newest scan has ended with discarded jobs.
    EndedWithDiscards,
}

impl Coordinator {
    /// Where the work of some kinds of job stands.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn progress(&self, kinds: &[JobKind]) -> Result<Progress, Error> {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        let sql = "select coordinator.run_progress($1)";
        let state: Option<String> = self.value(sql, &[bind(&kinds)]).await?;
        match state.as_deref() {
            None => Ok(Progress::NoScan),
            Some("running") => Ok(Progress::Running),
            Some("finished" | "cancelled") => Ok(Progress::Ended),
            Some("finished_with_discards") => Ok(Progress::EndedWithDiscards),
            Some(other) => Err(Error::Unexpected(format!("the scan state {other:?}"))),
        }
    }
}
