//! Options for a crawl's requests: the robot, its signature, and excluded hosts.

use std::sync::Arc;

use crate::{blocklist::Blocklist, exclusions::Exclusions, robot::Robot, signing::RequestSigner};

/// Options for a crawl's requests.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// Hosts that must not be requested, even if a redirect leads to them.
    pub blocklist: Arc<Blocklist>,
    /// Hosts and networks that must no longer be requested. The list may grow while requests are in
    /// flight.
    pub exclusions: Exclusions,
    /// Signs every request. `None` to sign none.
    pub signer: Option<Arc<RequestSigner>>,
    /// The robot that makes the requests. `None` for the fetcher's own.
    pub robot: Option<Robot>,
}
