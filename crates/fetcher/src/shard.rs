//! The icons of one shard: grouped by origin, fetched once for each distinct URL.

pub(crate) mod fetch_shard;
pub(crate) mod group;
pub(crate) mod hand;
