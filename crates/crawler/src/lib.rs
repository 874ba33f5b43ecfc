//! The live crawl: its settings and its seeds.
//!
//! [`CrawlSettings`] are what a crawl was asked for, frozen with it as JSON. [`SeedReader`] and
//! [`SeedBatch`] turn lines of URLs into rows of links. Must not know: sockets, SQL, the command
//! line.

mod settings;
mod submit;

pub use settings::{
    CrawlSettings, MAX_DURATION_S, MAX_LIST_SITES, MIN_PUBLIC_DELAY_MS, MediaOption,
    NofollowOption, SettingsError, SitemapsOption,
};
pub use submit::{
    MAX_SEEDS_PER_BATCH, SeedBatch, SeedError, SeedLine, SeedReader, SeedSites, SubmitError,
    new_crawl, parse_seed,
};

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
