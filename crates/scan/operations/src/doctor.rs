//! Checks that this host, its database and its stores have what a run needs. Each failed check says
//! what to change.
//!
//! Invariant: a check tries the real thing (a look-up, a write, a server) and leaves nothing
//! behind, except where a worker's keys may not delete its probe. This does not depend on how any
//! of it is used later.

mod account;
mod check;
mod crawls;
mod database;
mod host;
mod role_needs;
mod stores;

pub use self::{
    account::{FleetSize, check as account},
    check::{Check, NewestScan},
    crawls::check as crawls,
    database::check as database,
    host::{capacities, decoders, resolver, temporary},
    role_needs::RoleNeeds,
    stores::{StoreOptions, check as stores},
};
