//! A small internet as a graph of sites for a live crawler, with an oracle that computes a crawl's
//! results.
//!
//! A world consists of sites with any number of hosts, and of pages that link to each other. Every
//! response is a pure function of (seed, settings, host, target, day). No page is stored, so a
//! world with a hundred million pages takes no memory. The only state is bounded and outside these
//! functions: the day, and the pages that have already responded with 503 once.
//!
//! Pages are reachable by construction. A host's pages are a tree below its home page, a site's
//! hosts are a tree below its first host, and the sites are a tree below the first site. All other
//! links are random. Only leaves in these trees redirect, fail, are dead or are closed to crawlers,
//! so every fault affects only its own page or host.
//!
//! ```text
//! settings  the settings of a world        links     the links of a page
//! names     hosts and sites, by number     html      a page as HTML
//! world     sizes, faults, kinds of pages  answers   the response to a request
//! paths     pages to targets and back      traps     sources of endless URLs
//! sitemaps  the sitemaps of hosts          served    the day, and pages refused once
//! walls     pages behind a cookie
//! oracle    the records of a crawl
//! ```
//!
//! This module does not depend on the crawler or on HTTP connections.

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
