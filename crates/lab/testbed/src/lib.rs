//! A small internet on loopback, from one seed number: a name server, any number of websites (HTTP
//! and HTTPS), a crawl bucket in Common Crawl's layout, and their content.

mod accepting;
mod access_log;
mod address;
mod behaviour;
mod bucket;
mod certificates;
mod counters;
mod dice;
mod dns;
mod draw;
mod error;
mod generate;
mod graph;
mod internet;
mod listeners;
mod mix;
mod politeness;
mod recorded;
mod request;
mod running;
#[cfg(feature = "s3")]
pub mod s3;
mod settings;
mod stored_response;
pub mod track;
mod weather;
mod web;

pub use access_log::{AccessLine, AccessLogTarget, read_access_log};
pub use behaviour::Behaviour;
pub use counters::{Counts, Http2Request};
pub use dice::Dice;
pub use draw::drawn_icon;
pub use error::TestbedError;
pub use graph::{
    BodyLeft, BrokenBody, ClosedCrawl, ExpectedEnding, ExpectedFetch, GraphPage, GraphSettings,
    Oracle, OracleScope, OracleSitemaps, PageKind, PageSpread, SiteGraph, SitemapKind, Trap,
};
pub use internet::KNOWN_NAMES;
pub use mix::Mix;
pub use politeness::{PolitenessFault, check_politeness};
pub use running::{ClientSettings, Running, SmallInternet};
pub use settings::{Content, Latency, Settings};
pub use weather::{Storm, Weather};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
