//! The fetcher against real sockets on loopback.

mod answers;
mod careful;
mod polite;
mod safety;
mod shard_robots;
mod shards;
mod small_internet;
mod support;
mod tls;
