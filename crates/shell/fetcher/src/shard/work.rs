//! State shared by the fetches of one shard.
//!
//! Does not depend on how they proceed.

use std::sync::Arc;

use crate::{
    blocklist::Blocklist,
    exclusions::Exclusions,
    heartbeat::Heartbeat,
    isolation::ItemIsolation,
    local_failure::LocalFailure,
    meter::FetchMeter,
    request::{robots::RobotsCache, shared::Shared, spool::Spool},
    request_log::RequestLog,
    robot::Robot,
    settings::RobotsPolicy,
    signing::RequestSigner,
};

/// State that fetches of one shard share. A shard's items are its URLs, by their index in `urls`.
pub(crate) struct ShardWork {
    pub(crate) shared: Arc<Shared>,
    pub(crate) robots_policy: RobotsPolicy,
    pub(crate) robots: RobotsCache,
    pub(crate) urls: Vec<String>,
    pub(crate) spool: Arc<Spool>,
    pub(crate) has_later_pass: bool,
    pub(crate) blocklist: Arc<Blocklist>,
    pub(crate) signer: Option<Arc<RequestSigner>>,
    pub(crate) exclusions: Exclusions,
    pub(crate) robot: Robot,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) isolation: ItemIsolation,
    pub(crate) meter: FetchMeter,
    pub(crate) requests: RequestLog,
    /// Number of checks with a false result from the resolver, when the shard started.
    pub(crate) false_checks: u64,
}

impl ShardWork {
    /// Returns an error if the resolver gave a false result since the shard started. Earlier
    /// results for its names may have been false, too.
    pub(crate) fn check_names_since_begin(&self) -> Result<(), LocalFailure> {
        if self.shared.resolver.false_checks() == self.false_checks {
            Ok(())
        } else {
            Err(LocalFailure::ResolverFalse)
        }
    }

    /// Returns the rules to obey. `None` if the policy ignores robots.txt.
    pub(crate) fn robots(&self) -> Option<&RobotsCache> {
        (self.robots_policy == RobotsPolicy::Obey).then_some(&self.robots)
    }
}

/// Returns the journal's item number for a URL.
pub(crate) fn item(url_no: usize) -> i64 {
    i64::try_from(url_no).unwrap_or(i64::MAX)
}
