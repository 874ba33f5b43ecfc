//! The live crawl: slots, links, checkpoints, ends and limits.

mod changes;
mod checkpoint;
mod ends;
mod holder;
mod links;
mod slots;
mod walk;
