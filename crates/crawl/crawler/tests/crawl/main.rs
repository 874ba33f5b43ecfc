//! Live crawls of a generated graph of sites, over real sockets and with a real Postgres. An oracle
//! computes the expected results from the graph.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bodies;
mod care;
mod changed;
mod closed_world;
mod cookies;
mod failures;
mod filtered;
mod made_sites;
mod novelty;
mod origins;
mod ports;
mod progress;
mod reasons;
mod receiver;
mod repeated;
mod seeds;
mod server;
mod sitemaps;
mod tenants;
mod traps;
mod webhooks;
mod world;
