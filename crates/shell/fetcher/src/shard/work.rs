//! State that the fetches of one shard share.

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
    pub(crate) false_checks: u64,
}

impl ShardWork {
    /// Returns an error if a resolver check found a false result since the shard started, because
    /// the DNS results for the shard's hosts may be false, too.
    pub(crate) fn check_names_since_begin(&self) -> Result<(), LocalFailure> {
        if self.shared.resolver.false_checks() == self.false_checks {
            Ok(())
        } else {
            Err(LocalFailure::ResolverFalse)
        }
    }

    pub(crate) fn robots(&self) -> Option<&RobotsCache> {
        (self.robots_policy == RobotsPolicy::Obey).then_some(&self.robots)
    }
}

pub(crate) fn item(url_no: usize) -> i64 {
    i64::try_from(url_no).unwrap_or(i64::MAX)
}
