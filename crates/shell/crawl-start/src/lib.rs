//! Starts a live crawl: its row, its seeds as rows of links, and its filters with their lists.
//!
//! Everything that starts a crawl uses it: the command line, the HTTP API, a local crawl. A worker
//! loads the same lists for the crawls that it fetches. Does not depend on how a crawl is fetched.

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
