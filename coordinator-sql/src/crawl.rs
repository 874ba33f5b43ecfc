//! Live crawls: slots and their leases, crawls, links in transit, and checkpoints.
//!
//! Postgres rejects every write to a slot whose lease is lost.

pub(crate) mod changes;
pub(crate) mod checkpoint;
pub(crate) mod crawl_fetches;
pub(crate) mod crawls;
pub(crate) mod dropped;
pub(crate) mod earlier;
pub(crate) mod fetch_position;
pub(crate) mod filters;
pub(crate) mod forgotten;
pub(crate) mod indexes;
pub(crate) mod links;
pub(crate) mod load;
pub(crate) mod report;
pub(crate) mod robots;
pub(crate) mod rows;
pub(crate) mod schedules;
pub(crate) mod slots;
pub(crate) mod webhooks;
