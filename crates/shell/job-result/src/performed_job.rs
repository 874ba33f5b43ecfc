//! The result of a job that succeeded.

use everytab_coordinator::Output;

use crate::stats::Stats;

/// The result of a job that succeeded.
#[derive(Debug)]
pub struct PerformedJob {
    /// The rows to record.
    pub output: Output,
    /// The counts. Every input has exactly one outcome.
    pub stats: Stats,
}
