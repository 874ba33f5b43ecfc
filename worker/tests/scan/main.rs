//! Tests of whole scans and crawls with the real program, a small internet on loopback and a
//! private Postgres.
//!
//! They check only external results: exit codes, output and objects. Every wait is bounded.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed, and says where"
)]

mod address_guard;
mod api_client;
mod api_examples;
mod api_ready;
mod api_walkthrough;
mod archive;
mod backup;
mod bad_input;
mod chaos;
mod circle;
mod cloudfront;
mod concurrent_migrations;
mod consistency;
mod crawl_changes;
mod crawl_day;
mod crawl_doors;
mod crawl_feeds;
mod crawl_forgotten;
mod crawl_page;
mod crawl_ports;
mod crawl_reasons;
mod crawl_tenants;
mod crawled_tabs;
mod dashboard_svg;
mod dashboards;
mod database_sign_in;
mod doctor_roles;
mod drain;
mod environment;
mod exclusions;
mod execution_order;
mod exit_codes;
mod frozen_worker;
mod generated_client;
mod holding_proxy;
mod http_refusals;
mod idle_workers;
mod instance_metadata;
mod kills;
mod landmarks;
mod links;
mod live_crawls;
mod local_service;
mod lying_resolver;
mod map;
mod map_orders;
mod netns;
mod operator;
mod outcomes;
mod own_link;
mod poison_items;
mod pooler;
mod postgres_proxy;
mod printed;
mod public_source;
mod reconnects;
mod remote_stores;
mod requests;
mod roles;
mod same_bytes;
mod schemathesis;
mod scrape;
mod service_setup;
mod setup;
mod signed_requests;
mod slow_clients;
mod store_tokens;
mod takedown_everywhere;
mod takedowns;
mod telemetry;
mod terminal;
mod weather;
mod webhook_examples;
mod worse_sites;
