//! The HTTP service: keys submit URLs and crawls, and read what became of them.
//!
//! [`ApiService::start`] makes a router of the database and of what the operator has set; the
//! program serves it. A resource is one file of `resources/` and a line of the table in
//! `routes.rs`. Invariants: this process fetches nothing from the web; whose a thing is, and what a
//! key may do, Postgres decides in each call; every refusal is a [`ProblemCode`]. Must not know:
//! SQL, how pages are fetched or kept.

mod answer;
mod asked_crawl;
mod authentication;
mod base32;
mod body;
mod caller;
mod captures;
mod closed_lists;
mod crawl_settings;
mod cursor;
mod description;
mod failed_seeds;
mod fetch_document;
mod filter_body;
mod idempotency;
mod included;
mod key_checks;
mod key_ports;
mod list_page;
mod malformed;
mod manners;
pub mod metrics;
mod objects_only;
mod parameters;
mod path_text;
mod problem;
mod request_body;
mod resources;
pub mod robots_rules;
mod routes;
mod schedule_times;
mod server;
mod service;
mod short_text;
mod store_health;
mod submissions;
mod submitted_urls;
mod trials;
mod url_id;
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
