//! The service's part of the coordinator: what a key of the HTTP service may ask of Postgres.
//!
//! These calls are made as the role everytab_api, which executes functions of schema `api` and
//! touches no table. Each call that acts for a key shows the key and the digest of its secret, and
//! Postgres checks both; what belongs to another key does not exist for it. A refusal is a code of
//! a closed list, see [`ApiRefusal`]; what the refused call took (requests, URLs) is given back.
//! Must not know: HTTP, what a link holds, where captures are stored.

pub(crate) mod caller;
pub(crate) mod captures;
pub(crate) mod changed_crawls;
pub(crate) mod crawls;
pub(crate) mod feed;
pub(crate) mod fetches;
pub(crate) mod filters;
pub(crate) mod idempotency;
pub(crate) mod key;
pub(crate) mod operator;
pub(crate) mod overview;
pub(crate) mod schedules;
pub(crate) mod search;
pub(crate) mod submit;
pub(crate) mod tenants;
pub(crate) mod webhooks;
