//! Resolves hostnames: the resolver with its DNS client, and checks of its results.

pub(crate) mod dns_client;
pub(crate) mod lookup;
pub(crate) mod name_check;
pub(crate) mod resolved;
pub(crate) mod resolver;
pub(crate) mod trust;
