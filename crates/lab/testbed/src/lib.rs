//! A small internet on loopback, from one seed number.
//!
//! This crate contains a name server, any number of websites (HTTP and HTTPS), a crawl bucket in
//! Common Crawl's layout, and the content for all three, recorded or generated. Every response is a
//! pure function of (settings, request). It does not depend on clocks, counters or the order of
//! requests. This crate does not depend on the worker, so any client can use it over the network.
//!
//! ```text
//! running    starts and stops          dns        names to addresses
//! settings   settings of an internet   listeners  sockets; addresses that drop packets
//! mix        shares of behaviours      web        responses to connections and requests
//! generate   hosts, pages, WARC        bucket     the crawl's files, as a directory and over HTTP
//! recorded   icons of a directory      draw       icons made by code
//! track      hosts for measuring fetchers
//! graph      sites that link to each other, traps, and an oracle, for a crawler
//! access_log one line per request      politeness checks of these lines
//! ```

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

/// Compiles and runs the README's example as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
