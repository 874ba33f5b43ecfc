//! Tests live crawls over real sockets and with a real Postgres. Most sites are a generated graph,
//! from which an oracle computes the expected results.

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
