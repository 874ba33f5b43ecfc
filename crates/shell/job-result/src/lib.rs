//! The result of a job: its rows and counts, or the reason why it failed.
//!
//! Scans and live crawls are two products with separate jobs, and one runner performs the jobs of
//! both. This package contains the types that both need.
//!
//! ```
//! use everytab_bundler::stats_names::{InputName, OutcomeName};
//! use everytab_job_result::Stats;
//!
//! let mut stats = Stats::default();
//! stats.input(InputName::Archives, 2);
//! stats.outcome(OutcomeName::InList.as_str(), 1);
//! // Every input needs an outcome, and one archive has none yet.
//! assert!(!stats.adds_up());
//! stats.outcome(OutcomeName::ArchiveMissing.as_str(), 1);
//! assert!(stats.adds_up());
//! ```

mod job_error;
mod job_set;
mod performed_job;
mod stats;

pub use self::{
    job_error::{JobError, StoreFailure, blocking},
    job_set::{AssignedJob, JobSet},
    performed_job::PerformedJob,
    stats::Stats,
};
