//! The result of a job that succeeded.

use everytab_coordinator::Output;

use crate::stats::Stats;

/// Result of a job that was performed.
#[derive(Debug)]
pub struct PerformedJob {
    /// The rows to record.
    pub output: Output,
    /// The counts; the outcomes add up to the inputs.
    pub stats: Stats,
}
