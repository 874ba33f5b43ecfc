//! Fetches URLs from the live web, politely and safely. Each fetch has exactly one outcome.
//!
//! - [`fetch_shard`] fetches the icon candidates of a shard of hosts, and returns one result for
//!   each.
//! - [`Fetcher::fetch_one`] fetches a single URL.
//! - [`HostClient`] sends a live crawl's requests to one host, each for a [`Purpose`]. It returns
//!   all data for the records in the archive.
//! - [`Fetcher::deliver`] sends a webhook.
//!
//! Invariants: no address is dialled, on any hop, unless the address rules allow it. Everything
//! that a peer can make grow is bounded. An outcome depends only on responses about its own URL,
//! hostname and address. A failure of this process or its network is a [`LocalFailure`], never an
//! [`Outcome`].
//!
//! ```
//! use everytab_fetcher::{FetchSettings, Fetcher, Outcome, RobotsPolicy};
//! use tokio::{
//!     io::{AsyncReadExt, AsyncWriteExt},
//!     net::TcpListener,
//! };
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A server on loopback that responds to one request.
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let port = listener.local_addr()?.port();
//! tokio::spawn(async move {
//!     let (mut stream, _peer) = listener.accept().await?;
//!     stream.read(&mut [0; 1024]).await?;
//!     stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nicon").await
//! });
//!
//! let fetcher = Fetcher::new(FetchSettings {
//!     dns: Some("127.0.0.1:53".parse()?),
//!     // Loopback is not public: without this line the outcome is `ip_blocked`.
//!     allow_ranges: vec!["127.0.0.0/8".parse()?],
//!     dial_ports: [(80, port)].into(),
//!     ..FetchSettings::default()
//! })?;
//! let url = "http://127.0.0.1/favicon.ico";
//! let fetched = fetcher.fetch_one(url, RobotsPolicy::Ignore).await?;
//! assert_eq!(fetched.outcome, Outcome::Ok);
//! assert_eq!(&fetched.body[..], b"icon");
//! # Ok(())
//! # }
//! ```
//!
//! We use `hyper` with our own connector, because `reqwest` does not report which step failed,
//! which address was dialled, or why a certificate is invalid (docs/decisions/0006).

mod blocklist;
mod caching;
pub mod capacity;
mod certificate;
mod closed_list;
mod content_types;
mod counts;
mod exclusions;
mod fetch_result;
mod health;
mod heartbeat;
mod host;
mod isolation;
mod local_failure;
mod meter;
pub mod metrics;
mod names;
mod outcome;
mod own_networks;
mod page;
mod permits;
mod purpose;
mod request;
mod request_log;
mod robot;
mod settings;
mod shard;
mod signing;

pub use blocklist::Blocklist;
pub use caching::Caching;
pub use certificate::Certificate;
pub use counts::FetchCounts;
pub use everytab_webpage::{
    ContentTypes, DEFAULT_MEDIA_BYTES, DEFAULT_PAGE_BYTES, MAX_MEDIA_BYTES, MAX_PAGE_BYTES,
};
pub use exclusions::{Exclusion, Exclusions};
pub use fetch_result::{FetchResult, Hop, Timings};
pub use heartbeat::Heartbeat;
pub use host::{
    client::HostClient,
    delay::{CRAWL_DELAY_MAX, DelaySettings, HostDelay, HostResult, RAISED_DELAY_MAX, SavedDelay},
};
pub use isolation::{ItemIsolation, ItemJournal};
pub use local_failure::LocalFailure;
pub use outcome::{Outcome, Passing, Retry, RobotsEffect, StatsCounter};
pub use page::{
    exchange::{CutReason, Exchange},
    options::PageOptions,
    page_fetch_result::PageFetchResult,
    page_request::PageRequest,
    validators::Validators,
};
pub use permits::politeness::InFlight;
pub use purpose::{MAX_SITEMAP_BYTES, Purpose, PurposeKind, TimeLimits};
pub use request::{
    chain_requests::ChainRequests,
    content::{ImageFacts, data_bytes, judge},
    cookies::Cookies,
    delivery::{Delivered, Delivery},
    fetcher::Fetcher,
    spool::{Payload, Span, Spool},
};
pub use request_log::{LoggedRequest, LoggedRequests, RequestEnd};
pub use robot::Robot;
pub use settings::{
    FetchSettings, KNOWN_NAMES, REQUEST_BYTES, RobotsPolicy, SettingsError, WAITING_BYTES,
};
pub use shard::{
    fetch_shard::{CandidateFetch, ShardOptions, ShardResult, fetch_shard},
    host_candidates::HostCandidates,
    url_fetch::UrlFetch,
};
pub use signing::{RequestSigner, SignerError, SigningKey, SigningKeyError};
