//! Calls for the whole database: migrations, checks, backup, blocklist and API keys.

pub(crate) mod backup;
pub(crate) mod blocklist;
mod checks;
pub(crate) mod frontier_health;
pub(crate) mod keys;
mod migrate;
mod replaced_functions;
pub(crate) mod schema;
