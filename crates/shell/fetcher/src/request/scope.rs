//! The state that several fetches share: those of one origin in one pass over a shard, or those of
//! one crawled host.

use crate::{
    blocklist::Blocklist, exclusions::Exclusions, health::dead_origins::DeadOrigins,
    meter::FetchMeter, request::pool::ConnectionPool, request_log::RequestLog, robot::Robot,
    signing::RequestSigner,
};

#[derive(Clone, Copy)]
pub(crate) struct FetchScope<'a> {
    pub(crate) pool: &'a ConnectionPool,
    pub(crate) dead_origins: &'a DeadOrigins,
    pub(crate) blocklist: &'a Blocklist,
    pub(crate) signer: Option<&'a RequestSigner>,
    pub(crate) exclusions: &'a Exclusions,
    pub(crate) robot: &'a Robot,
    pub(crate) meter: &'a FetchMeter,
    pub(crate) requests: &'a RequestLog,
    /// In the later pass, silent endpoints are dialled once more.
    pub(crate) is_later_pass: bool,
    /// Whether requests keep the minimum time between two requests to one address. CDN addresses
    /// are exempt.
    pub(crate) is_spaced: bool,
    /// Whether each fetch starts only after the previous one has ended.
    pub(crate) is_sequential: bool,
}
