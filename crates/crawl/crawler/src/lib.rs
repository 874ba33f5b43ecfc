//! Live crawls: [`run`] leases slots, fetches the URLs of their hosts, and records the captures.

mod archives;
mod blocked;
mod crawl;
mod crawler;
mod fetch;
mod fetch_rows;
mod filters;
mod free_memory;
mod host;
mod leases;
mod load;
pub mod metrics;
mod origin_health;
mod origins;
mod outcomes;
mod own_hosts;
mod owner_limits;
mod pending_uploads;
mod progress;
mod readable;
mod redirect_chain;
mod repeat;
mod request_settings;
mod scheduler;
mod sitemaps;
mod slot;
mod stored_bodies;
mod stored_copy;
mod stores;
mod webhooks;
mod worker_settings;

pub use crawler::{CrawlerError, run};
pub use own_hosts::OwnHosts;
pub use request_settings::RequestSettings;
pub use scheduler::CrawlerEnd;
pub use worker_settings::{
    ARCHIVE_BYTES, CrawlerSettings, FRONTIER_BYTES, HOST_PATIENCE, ORIGIN_PAUSE, RECORD_AFTER,
    RETRY_PAUSE,
};

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
