//! Fetches icons and robots.txt from the live web: politely, safely, each URL to one outcome.
//!
//! [`fetch_shard`] takes the icon candidates of a shard of hosts and returns one result for each.
//! [`Fetcher::fetch_one`] fetches a single URL. The folders:
//!
//! - `shard/`: a shard of URLs, grouped by origin, with one later pass over what may have been a
//!   passing failure;
//! - `request/`: one URL with its redirects and robots.txt, one request, one connection;
//! - `names/`: the resolver and its DNS client;
//! - `permits/`: limits per hostname, per address, in total, per second, and of memory;
//! - `health/`: what is known to be dead, and whether a failure is the fault of this machine.
//!
//! Invariants: every address that is dialled was checked against the guard, on every hop; everything
//! that a peer can make grow is bounded; an outcome depends on answers about its own URL, name and
//! address alone; a failure of this machine is a [`Trouble`], never an [`Outcome`].
//!
//! Must not know: jobs, Postgres, where shards come from.
//!
//! HTTP is `hyper` under a connector of this crate, because `reqwest` hides which step failed, which
//! address was dialled and what was wrong with a certificate (docs/decisions/0006).

mod blocklist;
mod fetched;
mod health;
mod meter;
pub mod metrics;
mod names;
mod outcome;
mod permits;
mod request;
mod settings;
mod shard;

pub use blocklist::Blocklist;
pub use fetched::{Fetched, Hop, Timings};
pub use outcome::{Outcome, Retry, SeedName, Trouble};
pub use request::{
    certificate::Certificate,
    content::{ImageFacts, data_bytes, judge},
    fetcher::{Fetcher, SettingsError},
    spool::{Payload, Span, Spool},
};
pub use settings::{FetchSettings, REQUEST_BYTES, RobotsPolicy, WAITING_BYTES};
pub use shard::{
    fetch_shard::{
        Candidate, Ended, HostCandidates, IconResult, ShardOptions, ShardOutcome, fetch_shard,
    },
    hand::{Hand, SharedHand},
};
