//! `plan --crawl-pages`: the machines, days and dollars of a live crawl, from measured rates.
//!
//! Invariants: nothing is read and nothing is asked; each number is printed with its formula; what
//! was not measured is named as assumed. Several databases are arithmetic: the program runs a crawl
//! on one.

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
