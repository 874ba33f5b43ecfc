//! One file a command: what a person types and sees.

pub mod backup;
pub mod blocklist;
pub mod crawl;
pub mod database;
pub mod doctor;
pub mod exclude;
pub mod gc;
pub mod inspect;
#[cfg(feature = "local")]
pub mod local;
#[cfg(not(feature = "local"))]
#[path = "commands/no_local.rs"]
pub mod local;
pub mod migrate;
pub mod one_scan;
pub mod plan;
pub mod publish;
pub mod requests;
pub mod restore;
pub mod run;
pub mod scan;
pub mod serve;
pub mod signing_key;
pub mod stdout;
pub mod stop;
pub mod takedown;
