//! A small internet as a graph of sites for a live crawler, with an oracle that computes a crawl's
//! results.
//!
//! Every response is a pure function of (seed, settings, host, target, day), except that some pages
//! respond with 503 to a day's first request, so a world with a hundred million pages takes no
//! memory.
//!
//! A host's pages, a site's hosts and the sites are trees. All other links are random. Only leaves
//! in these trees redirect, fail, are dead or are closed to crawlers, so every fault affects only
//! its own page or host.

mod answers;
mod bomb;
mod broken_bodies;
mod html;
mod links;
mod names;
mod oracle;
mod paths;
mod reply;
mod request;
mod served;
mod settings;
mod sitemaps;
mod trap_pages;
mod trap_sitemaps;
mod traps;
mod walls;
mod world;

pub use broken_bodies::{BodyLeft, BrokenBody};
pub use oracle::{ClosedCrawl, ExpectedEnding, ExpectedFetch, Oracle, OracleScope, OracleSitemaps};
pub(crate) use reply::BodyEnd;
pub(crate) use served::ServedGraph;
pub use settings::{GraphSettings, PageSpread};
pub use sitemaps::SitemapKind;
pub use traps::Trap;
pub use world::{GraphPage, PageKind, SiteGraph};
