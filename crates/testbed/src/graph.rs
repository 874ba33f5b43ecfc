//! A small internet as a graph of sites for a live crawler, with an oracle of what a crawl finds.
//!
//! A world has any number of hosts in sites, and pages that link to each other. Every answer is a
//! pure function of (seed, settings, host, target, day): no page is stored, so a world of a hundred
//! million pages takes no memory. The one exception is bounded and beside the functions: a page
//! that is 503 at first is 503 once, which the server remembers.
//!
//! Reachability is by construction. The pages of a host are a tree below its home page, the hosts
//! of a site are a tree below its first host, the sites are a tree below the first site; all other
//! links are random. Only leaves of these trees redirect, fail, are dead or are kept from crawlers,
//! so every fault loses its own page or host and no other.
//!
//! ```text
//! settings  what a world is made from       links     the links of a page
//! names     hosts and sites, by number      html      a page as HTML
//! world     sizes, faults, kinds of pages   answers   the answer to a request
//! paths     pages to targets and back       traps     what makes URLs without end
//! sitemaps  what hosts list of their pages  served    the day, and what was refused once
//! walls     pages behind a cookie
//! oracle    what a crawl records
//! ```
//!
//! Must not know: the crawler, HTTP connections.

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
