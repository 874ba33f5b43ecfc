//! The EveryTab worker: one program for every stage of a scan.

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
