//! A live crawl's closing jobs: one file per kind, and the set that the runner performs. A job
//! loads its input from Postgres, then writes its objects to the crawl's stores without a database.
//!
//! ```
//! use everytab_crawl_jobs::ClosingJobs;
//! use everytab_coordinator::JobKind;
//! use everytab_job_result::JobSet as _;
//! use everytab_storage::StoreSettings;
//!
//! let jobs = ClosingJobs::new(StoreSettings::default(), std::env::temp_dir());
//! // Each job holds up to four row groups in memory, so a worker performs one at a time.
//! assert_eq!(jobs.concurrent_jobs(JobKind::CrawlIndex), 1);
//! // The jobs of scans are not in this set.
//! assert_eq!(jobs.concurrent_jobs(JobKind::Icon), 0);
//! ```

mod closing_jobs;
mod context;
mod crawl_close;
mod crawl_index;
mod crawl_run;

pub use self::{closing_jobs::ClosingJobs, crawl_run::store_urls};
