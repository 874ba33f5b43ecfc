//! As whom a crawl asks, and what it must not ask for.
//!
//! Must not know: what is asked for.

use std::sync::Arc;

use crate::{blocklist::Blocklist, exclusions::Exclusions, robot::Robot, signing::RequestSigner};

/// How the requests of a crawl are made. The default is the fetcher's own robot, unsigned, with
/// nothing excluded.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// Hosts that must not be asked for anything, also where a redirect leads to them.
    pub blocklist: Arc<Blocklist>,
    /// What must not be asked any more; it may grow while requests are under way.
    pub exclusions: Exclusions,
    /// Signs every request; without it none is signed.
    pub signer: Option<Arc<RequestSigner>>,
    /// As whom the requests are made; none for the fetcher's own robot.
    pub robot: Option<Robot>,
}
