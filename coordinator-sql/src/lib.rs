//! Postgres as the only coordinator: the Rust side.
//!
//! The functions in `functions/` are the coordinator; this crate calls them and holds no
//! scheduling logic. It is the only place with SQL text in Rust. It knows what a lease, a fence
//! and a recorded row are, and not what a job does.
//!
//! Every call has a limit and is one short transaction without a named statement, so that it works
//! through a pooler in transaction mode and ends on a dead network. Errors that pass by themselves
//! (a restart, a broken connection) are told apart from those that do not by
//! [`Error::is_transient`].

mod backup;
mod call;
mod completer;
mod connect;
mod error;
mod job;
mod load;
mod migrate;
mod operator;
mod pool;
mod record;
mod statement;
mod verbs;

pub use backup::{Contents, Snapshot, TABLES_SCHEMA, TableDigest, migrations};
pub use connect::{ConnectSettings, Coordinator};
pub use error::Error;
pub use job::{Fence, Hints, JobKind, Lease};
pub use load::{BlockedHost, BundleHost, CrawlFile, IconHost, OutcomeCount, ScanInfo, WarcHost};
pub use migrate::schema_digest;
pub use operator::{BlockedPattern, JobEvent, NewScan, ScanSummary};
pub use record::{BundleRow, HostRow, IconRow, Output, PageRow};
pub use verbs::{Completion, Failure, Progress, Renewal};
