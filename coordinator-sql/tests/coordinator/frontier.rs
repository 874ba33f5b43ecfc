//! Tests live crawls: slots, links, checkpoints, endings, limits and restored databases.

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
