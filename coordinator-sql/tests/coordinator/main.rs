//! The coordinator's behaviours against a real Postgres, one module each. Every test tries to
//! break an invariant of the design, over a database of its own.

// A broken expectation ends the test that has it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod api;
mod audit;
mod backup;
mod chaos;
mod closing;
mod complete;
mod completer;
mod cut_off;
mod default_isolation;
mod discard;
mod exclusions;
mod fan_out;
mod fence;
mod filters;
mod frontier;
mod grants;
mod hostile;
mod imported_lists;
mod isolation;
mod lease;
mod limit;
mod load;
mod load_plans;
mod locks;
mod lost_commits;
mod migrate;
mod own_server;
mod passwords;
mod plans;
mod pooler;
mod pooling;
mod rds_rule;
mod release;
mod renew;
mod reopen;
mod retry;
mod schema;
mod select;
mod select_model;
mod session;
mod setup;
mod statements;
mod status;
mod sweep;
