//! Resolves hostnames: the resolver and its DNS client.

pub(crate) mod dns_client;
pub(crate) mod resolver;
