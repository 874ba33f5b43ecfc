//! Checks that this host, its database and its stores have what a run needs. A check tries the real
//! operation (a look-up, a write, a server) and leaves nothing behind, except if a worker's keys
//! may not delete its probe.

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
