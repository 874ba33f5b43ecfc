//! The EveryTab worker: one program for every stage of a scan.

pub mod allocator;
pub mod capacity;
pub mod cli;
pub mod cli_error;
pub mod commands;
pub mod context;
pub mod crawl;
pub mod dispatch;
pub mod index_file;
pub mod jobs;
pub mod limits;
pub mod local;
pub mod options;
pub mod progress;
pub mod runner;
pub mod scan_settings;
pub mod scan_start;
pub mod serve;
pub mod spot_notice;
pub mod telemetry;
pub mod worker_id;
