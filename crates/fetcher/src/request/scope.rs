//! What the fetches of one origin's URLs share, in one pass over a shard.
//!
//! Must not know: how one of them proceeds.

use crate::{
    blocklist::Blocklist, exclusions::Exclusions, health::dead_origins::DeadOrigins,
    meter::FetchMeter, request::pool::ConnectionPool, request_log::RequestLog, robot::Robot,
    signing::RequestSigner,
};

/// What the fetches of one origin's URLs share, in one pass over a shard.
#[derive(Clone, Copy)]
pub(crate) struct FetchScope<'a> {
    pub(crate) pool: &'a ConnectionPool,
    /// What earlier candidates found to be dead.
    pub(crate) dead_origins: &'a DeadOrigins,
    pub(crate) blocklist: &'a Blocklist,
    /// Signs every request, if sites are to recognise them.
    pub(crate) signer: Option<&'a RequestSigner>,
    /// What must not be asked any more.
    pub(crate) exclusions: &'a Exclusions,
    /// As whom the requests are made.
    pub(crate) robot: &'a Robot,
    pub(crate) meter: &'a FetchMeter,
    pub(crate) requests: &'a RequestLog,
    /// Whether this is the later pass, in which silent endpoints are tried once more.
    pub(crate) is_later_pass: bool,
    /// Whether requests to an address that is no CDN's keep their distance.
    pub(crate) is_spaced: bool,
    /// Whether each fetch begins when the one before it has ended.
    pub(crate) is_sequential: bool,
}
