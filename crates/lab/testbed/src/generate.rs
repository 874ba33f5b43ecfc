//! A generated crawl: hostnames, pages, WARC files and their index, as a pure function of (seed,
//! host count). It is written in parts, so that memory use does not grow with the host count.

mod crawl;
mod icon_links;
mod index;
mod names;
mod page;
mod ranks;
mod site;
mod surt;
mod text;
mod version;
mod warc;

pub(crate) use crawl::write;
pub(crate) use names::World;
pub(crate) use site::{LiveHome, live_home};
pub(crate) use version::{CRAWL, VERSION};
