//! Live crawls: their settings, their seeds, and the scheduler that fetches URLs.
//!
//! [`CrawlSettings`] are a crawl's settings, frozen with it as JSON. [`SeedReader`] and
//! [`SeedBatch`] turn lines with URLs into rows of links. [`run`] crawls in a worker: it leases
//! slots, fetches their hosts' URLs, and records the captures. Does not depend on sockets, SQL or
//! the command line.

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
mod scheduler;
mod settings;
mod sitemaps;
mod slot;
mod stored_bodies;
mod stored_copy;
mod stores;
mod submit;
mod webhooks;
mod worker_settings;

pub use crawler::{CrawlerError, run};
pub use filters::{
    frozen::{FreezeError, FrozenFilter, FrozenList, MAX_FILTERS, list_names_of},
    load::FilterLists,
};
pub use outcomes::{every_outcome, outcomes_of};
pub use own_hosts::OwnHosts;
pub use scheduler::CrawlerEnd;
pub use settings::{
    CrawlSettings, CrawlSettingsError, DuplicatesOption, MAX_DURATION_S, MAX_LIST_SITES,
    MIN_PUBLIC_DELAY_MS, MediaOption, NofollowOption, RETRIES, STORE_AGAIN_AFTER_S, SearchOption,
    SitemapsOption,
};
pub use stores::{StoreRange, StoreRangeError};
pub use submit::{
    MAX_SEEDS_PER_BATCH, Seed, SeedBatch, SeedError, SeedLine, SeedPorts, SeedReader, SeedSites,
    SubmitError, new_crawl, parse_seed,
};
pub use worker_settings::{
    ARCHIVE_BYTES, CrawlerSettings, FRONTIER_BYTES, HOST_PATIENCE, ORIGIN_PAUSE, RECORD_AFTER,
    RETRY_PAUSE,
};

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
