//! The live crawl: slots, links, checkpoints, ends and limits, and going on in another server.

mod changes;
mod checkpoint;
mod ends;
mod holder;
mod links;
mod restored;
mod slots;
mod walk;
