//! A scan's jobs: one file per kind, and the registry. A job loads its input from Postgres, runs
//! without a database, and returns rows and counts, which one completion records.
//!
//! ```
//! use everytab_jobs::{icon, scan_settings::ScanSettings};
//!
//! // `scan start` freezes the settings as JSON; every worker reads them from Postgres.
//! let file = |folder: &str| format!("file:///srv/{folder}");
//! let settings = ScanSettings::new(file("crawl"), file("archive"), file("site"));
//! assert!(settings.obey_robots && settings.limit.is_none());
//!
//! // With 512 requests in flight, a worker runs up to 20 icon jobs at a time, so that the slow
//! // last requests of one job leave no capacity unused.
//! assert_eq!(icon::concurrent_jobs(512), 20);
//! ```

pub mod blocked_pattern;
pub mod bundle_shard;
pub mod icon;
pub mod icon_processes;
pub mod index;
pub mod index_file;
pub mod live_exclusions;
pub mod map;
pub mod publish;
pub mod removal;
pub mod request_table;
pub mod scan_settings;
pub mod search;
pub mod site_objects;
pub mod store_tokens;
pub mod warc;

mod context;
mod job;
mod outage;
mod registry;

pub use self::{
    context::{Context, STORE_ATTEMPTS, user_agent},
    icon::SPOOL_BYTES,
    job::ScanAssignment,
    outage::{ScanStore, StoreFault, StoreOutage},
    registry::{ScanJobError, perform_job},
    warc::{CONCURRENT_JOBS as CONCURRENT_WARC_JOBS, CONCURRENT_RECORDS},
};
