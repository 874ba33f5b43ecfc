//! Tests the fetcher with real sockets on loopback.

mod answers;
mod bodies;
mod delivery;
mod exclusions;
mod false_names;
mod host_client;
mod hostile;
mod hostile_dns;
mod hostile_http2;
mod isolation;
mod lengths;
mod mangled;
mod page_answers;
mod page_redirects;
mod page_safety;
mod polite;
mod robot;
mod safety;
mod shard_robots;
mod shards;
mod small_internet;
mod support;
mod tls;
