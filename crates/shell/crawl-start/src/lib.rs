//! Starts a live crawl: creates its row, packs its seeds into rows of links, and freezes its
//! filters with their lists. Workers use it to load the lists of their crawls.

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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
