//! Strangers' URLs: fetched politely, safely, and each to exactly one outcome.
//!
//! `shard` takes the candidates of a shard and gives one result for each; `group` walks one
//! origin's icons; `fetcher` follows one URL; `hop` is one request. Below them: `resolver`
//! over `questions` (names), `dial` (sockets and TLS), `connection` (HTTP), `body`, `cookies`,
//! `robots`, `blocklist` (who is not asked). Beside them: `politeness` with `gates`, `slowdown`
//! and `pace` (whose turn it is), `endpoints` and `dead_origins` (what is known dead), `clock`,
//! `stall`, `uplink` and `breaker` (is it us?), `hand` (who is told of each URL), `meter` (what it
//! took).
//!
//! Invariants: what is dialled was vetted as an address, on every hop; everything a stranger can
//! grow is bounded; an outcome depends on answers about its own URL, name and address alone; our
//! own trouble is a [`Trouble`], never an [`Outcome`]. Nothing here knows jobs or Postgres.
//!
//! HTTP is hyper under a connector of our own and not reqwest, which hides which step failed,
//! which address was dialled, and what was wrong with a certificate.

mod blocklist;
mod body;
mod breaker;
pub mod certificate;
mod clock;
mod connection;
pub mod content;
mod cookies;
mod dead_origins;
mod dial;
mod endpoints;
pub mod fetched;
pub mod fetcher;
mod gates;
mod group;
mod hand;
mod hop;
mod meter;
pub mod outcome;
mod pace;
mod politeness;
mod questions;
mod request;
mod resolver;
mod robots;
pub mod settings;
pub mod shard;
mod slowdown;
pub mod spool;
mod stall;
mod target;
#[cfg(test)]
mod tests;
mod uplink;

pub use blocklist::Blocklist;
pub use certificate::Certificate;
pub use content::{ImageFacts, judge};
pub use fetched::{Fetched, Hop, Timings};
pub use fetcher::{Fetcher, SettingsError};
pub use hand::{Hand, SharedHand};
pub use outcome::{Outcome, Retry, SeedName, Trouble};
pub use settings::{FetchSettings, REQUEST_BYTES, RobotsPolicy, WAITING_BYTES};
pub use shard::{
    Candidate, Ended, HostCandidates, IconResult, ShardOptions, ShardOutcome, fetch_shard,
};
pub use spool::{Payload, Span, Spool};
