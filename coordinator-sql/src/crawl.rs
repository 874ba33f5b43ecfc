//! The coordinator's part for live crawls: slots and their leases, crawls, links in transit, and
//! the checkpoints that record a slot holder's work.
//!
//! Every write to a slot presents the fence of the slot's lease. Postgres rejects the write if this
//! lease is lost. Does not depend on the contents of links and chunks, or on how a URL is fetched.

pub(crate) mod changes;
pub(crate) mod checkpoint;
pub(crate) mod crawl_fetches;
pub(crate) mod crawls;
pub(crate) mod dropped;
pub(crate) mod earlier;
pub(crate) mod fetch_position;
pub(crate) mod forgotten;
pub(crate) mod health;
pub(crate) mod indexes;
pub(crate) mod links;
pub(crate) mod load;
pub(crate) mod report;
pub(crate) mod robots;
pub(crate) mod rows;
pub(crate) mod schedules;
pub(crate) mod slots;
pub(crate) mod webhooks;
