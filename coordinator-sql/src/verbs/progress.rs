//! Where the work stands, for a worker that leaves when it is done.

use crate::{coordinator::Coordinator, error::Error};

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
    /// Where the work stands.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn progress(&self) -> Result<Progress, Error> {
        let state: Option<String> = self.value("select coordinator.run_progress()", &[]).await?;
        match state.as_deref() {
            None => Ok(Progress::NoScan),
            Some("running") => Ok(Progress::Running),
            Some("finished" | "cancelled") => Ok(Progress::Ended),
            Some("finished_with_discards") => Ok(Progress::EndedWithDiscards),
            Some(other) => Err(Error::Unexpected(format!("the scan state {other:?}"))),
        }
    }
}
