//! `plan --crawl-pages`: computes the instances, days and dollars of a live crawl from measured
//! rates.
//!
//! Invariants: does no I/O; each number is printed with its formula, and assumptions are marked.
//! Multiple databases are only calculated: the program runs a crawl on one.

mod crawl_bounds;
mod crawl_dollars;
mod crawl_media;
mod crawl_rates;
mod crawl_report;
mod crawl_totals;
mod figure;
mod live_crawl_options;
mod page_use;

pub(super) use self::crawl_report::print;
pub use self::live_crawl_options::LiveCrawlToPlan;
