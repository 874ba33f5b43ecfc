//! Operations that people run in addition to the workers: starting a scan, plan, backup, restore,
//! takedown, gc, doctor and blocklist. An operation writes lines for programs and notes for people
//! to a `LineSink`.
//!
//! ```
//! use everytab_operations::blocklist::{PatternKind, Patterns};
//!
//! # fn main() -> Result<(), String> {
//! // Check all hostnames and convert them to the form that scans use.
//! let names = ["Shop.Example.".to_owned()];
//! Patterns::check(PatternKind::Hostname, &names).map_err(|error| error.message)?;
//! let refused = Patterns::check(PatternKind::Title, &["%".to_owned()]).unwrap_err();
//! assert!(refused.is_usage && refused.message.contains("matches every title"));
//! # Ok(())
//! # }
//! ```

pub mod archive_rate;
pub mod backup;
pub mod blocklist;
pub mod crawl;
pub mod database;
pub mod doctor;
pub mod exclude;
pub mod gc;
pub mod host_ranks;
pub mod plan;
pub mod progress;
pub mod published_site;
pub mod request_log;
pub mod requests;
pub mod scan_start;
pub mod site_identity;
pub mod source;
pub mod takedown;
pub mod takedown_everywhere;

mod index_formats;
