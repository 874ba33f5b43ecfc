//! The live crawl: slots, links, checkpoints, ends and limits, and going on in another server.

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
