//! Hostnames to addresses.

pub(crate) mod dns_client;
pub(crate) mod resolver;
