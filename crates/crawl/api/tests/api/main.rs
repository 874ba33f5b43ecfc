//! Tests the HTTP service with a real Postgres, over HTTP.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bad_input;
mod captures;
mod changes;
mod conformance;
mod connections;
mod contents;
mod crawls;
mod description;
mod filters;
mod keys;
mod lists;
mod manners;
mod named_requests;
mod page;
mod ports;
mod rates;
mod readiness;
mod reasons;
mod refusals;
mod robots;
mod schedules;
mod schema;
mod search;
mod urls;
mod waits;
mod webhooks;
mod world;
