//! The seeds and settings of a live crawl, which do not change after its start.

mod frozen_filter;
mod options;
mod outcomes;
mod seeds;
mod settings;
mod store_range;

pub use self::{
    frozen_filter::{FrozenFilter, FrozenList, MAX_FILTERS},
    options::{DuplicatesOption, MediaOption, NofollowOption, SearchOption, SitemapsOption},
    outcomes::{
        CAPTURED_OUTCOMES, CERTIFICATE_FAULTS, FAILED_OUTCOMES, LEFT_OUTCOMES, REFUSED_OUTCOMES,
        TRUNCATIONS, every_outcome,
    },
    seeds::{Seed, SeedError, SeedLine, SeedPorts, SeedReader, SeedSites, parse_seed},
    settings::{
        CompiledSettings, CrawlSettings, CrawlSettingsError, DEFAULT_DELAY_FACTOR,
        DEFAULT_DELAY_MS, DEFAULT_MAX_DELAY_MS, MAX_DURATION_S, MAX_LIST_SITES,
        MIN_PUBLIC_DELAY_MS, RETRIES, STORE_AGAIN_AFTER_S,
    },
    store_range::{StoreRange, StoreRangeError},
};

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
