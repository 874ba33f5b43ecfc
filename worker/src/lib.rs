//! The EveryTab worker: one program for every stage of a scan, and for live crawls.

// Each product's program also contains code that only the other product's commands use.
#![cfg_attr(not(all(feature = "scan", feature = "crawl")), allow(dead_code, unused_imports))]

pub mod allocator;
pub mod cli;
pub mod cli_error;
pub mod commands;
pub mod dispatch;
pub mod display;
mod http_server;
pub mod options;
pub mod serve;
pub mod spot_notice;
pub mod telemetry;
