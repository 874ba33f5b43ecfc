//! The options for a site graph in `everytab-testbed`.

use std::str::FromStr;

use clap::Args;
use everytab_testbed::{Behaviour, GraphSettings, PageSpread, Trap};

/// Options for a site graph. Shares are in thousandths.
#[derive(Args)]
#[command(next_help_heading = "Graph of sites (--graph)")]
pub(crate) struct GraphOptions {
    /// Serve a graph of sites for a crawler instead of a crawl's hosts; --hosts counts its hosts.
    #[arg(long, conflicts_with_all = ["recorded", "mix"])]
    pub(crate) graph: bool,
    /// Number of sites. The default is half the number of hosts.
    #[arg(long, requires = "graph")]
    sites: Option<u64>,
    /// Total number of pages.
    #[arg(long, requires = "graph", default_value_t = 100_000)]
    pages: u64,
    /// How pages are distributed over hosts: equal, uniform or zipf.
    #[arg(long, requires = "graph", default_value = "uniform", value_parser = spread)]
    spread: PageSpread,
    /// Links per page.
    #[arg(long, requires = "graph", default_value_t = 40)]
    links: u64,
    /// Mean size of a page in bytes.
    #[arg(long, requires = "graph", default_value_t = 30_000)]
    page_bytes: u64,
    /// Share of dead hosts.
    #[arg(long, requires = "graph", default_value_t = 0)]
    dead: u32,
    /// Share of slow hosts.
    #[arg(long, requires = "graph", default_value_t = 0)]
    slow: u32,
    /// Response times of slow hosts in milliseconds.
    #[arg(long, requires = "graph", value_name = "LEAST-MOST", default_value = "20-5000")]
    slow_ms: Bounds,
    /// Share of hosts with a Crawl-delay.
    #[arg(long, requires = "graph", default_value_t = 0)]
    crawl_delay: u32,
    /// Crawl-delays in milliseconds.
    #[arg(long, requires = "graph", value_name = "LEAST-MOST", default_value = "5000-60000")]
    crawl_delay_ms: Bounds,
    /// Share of hosts with sitemaps.
    #[arg(long, requires = "graph", default_value_t = 0)]
    sitemaps: u32,
    /// Share of leaf pages that are images or PDF files.
    #[arg(long, requires = "graph", default_value_t = 60)]
    media: u32,
    /// Share of PDF files that are identical to others on their site.
    #[arg(long, requires = "graph", default_value_t = 0)]
    copies: u32,
    /// Make every page fine, and write every link in its normalized spelling.
    #[arg(long, requires = "graph")]
    plain: bool,
    /// Serve all hosts over http only.
    #[arg(long, requires = "graph")]
    http_only: bool,
    /// Traps: their names, or `all`.
    #[arg(long, requires = "graph", value_delimiter = ',', value_name = "NAME,...")]
    traps: Vec<String>,
    /// Share of hosts with a trap.
    #[arg(long, requires = "graph", default_value_t = 100)]
    trap_hosts: u32,
}

#[derive(Clone, Copy)]
struct Bounds(u64, u64);

impl FromStr for Bounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = |text: &str| text.parse().map_err(|_| format!("{text:?} is not a number"));
        let (least, most) = text.split_once('-').ok_or("expected two numbers, such as 20-5000")?;
        Ok(Self(read(least)?, read(most)?))
    }
}

fn spread(name: &str) -> Result<PageSpread, String> {
    match name {
        "equal" => Ok(PageSpread::Equal),
        "uniform" => Ok(PageSpread::Uniform),
        "zipf" => Ok(PageSpread::Zipf),
        _ => Err("expected equal, uniform or zipf".to_owned()),
    }
}

impl GraphOptions {
    pub(crate) fn settings(&self, hosts: u64) -> Result<GraphSettings, String> {
        let mut traps = Vec::new();
        for name in &self.traps {
            match Trap::parse(name) {
                Some(trap) => traps.push(trap),
                None if name == "all" => traps.extend(Trap::ALL),
                None => {
                    let names = Trap::ALL.map(Trap::as_str).join(", ");
                    return Err(format!("--traps: invalid trap {name:?}: expected all, {names}"));
                }
            }
        }
        let (sites, pages) = (self.sites.unwrap_or(hosts.div_ceil(2)), self.pages);
        let base = if self.plain {
            GraphSettings::plain(hosts, sites, pages)
        } else {
            GraphSettings { hosts, sites, pages, ..GraphSettings::default() }
        };
        Ok(GraphSettings {
            spread: self.spread,
            links: self.links,
            page_bytes: self.page_bytes,
            https: if self.http_only { 0 } else { base.https },
            dead: self.dead,
            dead_as: vec![Behaviour::DnsNxdomain, Behaviour::ConnectTimeout],
            slow: self.slow,
            slow_ms: (self.slow_ms.0, self.slow_ms.1),
            crawl_delay: self.crawl_delay,
            sitemaps: self.sitemaps,
            media: if self.plain { base.media } else { self.media },
            copies: self.copies,
            crawl_delay_ms: (self.crawl_delay_ms.0, self.crawl_delay_ms.1),
            trap_hosts: if traps.is_empty() { 0 } else { self.trap_hosts },
            traps,
            ..base
        })
    }
}
