//! Tests of live crawls: slots, links, checkpoints, limits and ends, and continuing on a restored
//! server.

mod changes;
mod checkpoint;
mod due;
mod ends;
pub(crate) mod holder;
pub(crate) mod links;
mod reasons;
mod restored;
mod schedules;
mod slots;
mod tenants;
mod walk;
