//! The HTTP service's part of the coordinator: the calls that a key may make.
//!
//! These calls use the role everytab_api, which executes functions in the schema `api` and cannot
//! access tables. Each call sends its key and the digest of the key's secret, and Postgres checks
//! both. Another key's objects count as missing. Postgres refuses a call with a code from a closed
//! list, see [`ApiRefusal`]. A refused call's requests and URLs are not charged.
//!
//! Does not depend on HTTP, on the contents of links, or on where captures are stored.

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
