//! The HTTP service: clients submit URLs and crawls, and read their results.
//!
//! Invariants: this process fetches nothing from the web. Postgres checks ownership and the key's
//! permissions in each call. Every rejected request gets a [`ProblemCode`].

mod answer;
mod asked_crawl;
mod body;
mod caller;
mod captures;
mod closed_lists;
mod crawl_settings;
mod description;
mod failed_seeds;
mod fetch_document;
mod filter_body;
mod included;
mod key_checks;
mod key_ports;
mod list_page;
mod malformed;
mod manners;
pub mod metrics;
mod objects_only;
mod parameters;
mod problem;
mod request_body;
mod resources;
pub mod robots_rules;
mod routes;
mod schedule_times;
mod server;
mod service;
mod store_health;
mod submissions;
mod submitted_urls;
mod tokens;
mod trials;
mod waiters;
mod webhook_events;
mod webhook_url;

pub use caller::{
    KEY_ID_LENGTH, KEY_PREFIX, KEY_RANDOM_BYTES, KEY_SECRET_LENGTH, key_of_random, secret_sha256,
    split_key,
};
pub use malformed::problem_of_malformed;
pub use manners::REQUEST_ID;
pub use problem::{Problem, ProblemCode, ProblemItem};
pub use routes::description_json;
pub use server::ApiService;
pub use service::ApiSettings;

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
