//! The result of a job that succeeded.

use everytab_coordinator::Output;

use crate::stats::Stats;

/// The result of a job that succeeded.
#[derive(Debug)]
pub struct PerformedJob {
    /// The rows to record.
    pub output: Output,
    /// The counts. The number of outcomes equals the number of inputs.
    pub stats: Stats,
}
