//! Fetches the icons of one shard, grouped by origin. Each distinct URL is fetched once.

pub(crate) mod fetch_shard;
pub(crate) mod findings;
pub(crate) mod host_candidates;
pub(crate) mod inspect_body;
pub(crate) mod origin_group;
pub(crate) mod plan;
pub(crate) mod url_fetch;
pub(crate) mod work;
