//! The calls that a key of the HTTP service may make.
//!
//! The role everytab_api executes functions in the schema `api` and cannot access tables. Unless
//! its documentation says otherwise, a call charges its key for one request, and a refused call
//! charges nothing. Another key's objects count as missing.

pub(crate) mod caller;
mod captures;
mod changed_crawls;
pub(crate) mod crawls;
pub(crate) mod feed;
pub(crate) mod fetches;
mod filters;
pub(crate) mod idempotency;
pub(crate) mod key;
mod overview;
pub(crate) mod schedules;
pub(crate) mod search;
pub(crate) mod submit;
mod tenants;
pub(crate) mod webhooks;
