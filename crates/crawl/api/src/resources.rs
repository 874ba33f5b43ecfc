//! One file per resource: its routes, its documents, and its part of the description.

pub(crate) mod batches;
pub(crate) mod captured;
pub(crate) mod crawl_changes;
pub(crate) mod crawl_moves;
pub(crate) mod crawls;
pub(crate) mod feed;
pub(crate) mod filter_trial;
pub(crate) mod filters;
pub(crate) mod health;
pub(crate) mod overview;
pub(crate) mod own_settings;
pub(crate) mod page;
pub(crate) mod rates;
pub(crate) mod robots;
pub(crate) mod schedules;
pub(crate) mod search;
pub(crate) mod urls;
pub(crate) mod webhooks;
