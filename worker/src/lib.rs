//! The EveryTab worker: one program for every stage of a scan.

pub mod allocator;
pub mod commands;
pub mod config;
pub mod context;
pub mod crawl;
pub mod failure;
pub mod holder;
pub mod index_file;
pub mod instance;
pub mod jobs;
pub mod limits;
pub mod local;
pub mod machine;
pub mod progress;
pub mod pulse;
pub mod runner;
pub mod scan_settings;
pub mod scan_start;
pub mod scan_stats;
pub mod serve;
pub mod telemetry;
