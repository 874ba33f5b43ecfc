//! Starts a live crawl: creates its row, packs its seeds into rows of links, and freezes its
//! filters with their lists.
//!
//! The command line, the HTTP API and a local crawl all start crawls with this package. A worker
//! uses it to load the lists of its crawls. This crate does not depend on how a crawl is fetched.

mod filter_lists;
mod freeze;
mod list_copy;
mod mapped;
mod new_crawl;
mod seed_batch;

pub use self::{
    filter_lists::FilterLists,
    freeze::{FreezeError, freeze_filters, frozen_list, list_names_of},
    new_crawl::{SubmitError, new_crawl},
    seed_batch::{MAX_SEEDS_PER_BATCH, SeedBatch},
};

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
