//! The state that several fetches share: those of one origin in one pass over a shard, or those of
//! one crawled host.
//!
//! This module does not depend on how each fetch proceeds.

use crate::{
    blocklist::Blocklist, exclusions::Exclusions, health::dead_origins::DeadOrigins,
    meter::FetchMeter, request::pool::ConnectionPool, request_log::RequestLog, robot::Robot,
    signing::RequestSigner,
};

/// The state that the fetches of one origin share.
#[derive(Clone, Copy)]
pub(crate) struct FetchScope<'a> {
    pub(crate) pool: &'a ConnectionPool,
    /// Origins that earlier candidates found to be dead.
    pub(crate) dead_origins: &'a DeadOrigins,
    pub(crate) blocklist: &'a Blocklist,
    /// Signs every request. `None` to sign none.
    pub(crate) signer: Option<&'a RequestSigner>,
    /// Hosts and networks that must no longer be requested.
    pub(crate) exclusions: &'a Exclusions,
    /// The robot that makes the requests.
    pub(crate) robot: &'a Robot,
    pub(crate) meter: &'a FetchMeter,
    pub(crate) requests: &'a RequestLog,
    /// Whether this is the later pass, in which silent endpoints are dialled once more.
    pub(crate) is_later_pass: bool,
    /// Whether requests to an address are spaced. CDN addresses are never spaced.
    pub(crate) is_spaced: bool,
    /// Whether each fetch starts only after the previous one has ended.
    pub(crate) is_sequential: bool,
}
