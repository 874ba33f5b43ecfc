//! The objects of one published scan, as the parts of a removal share them.

use everytab_fetcher::Heartbeat;
use everytab_storage::Store;

/// The published objects of one scan.
#[derive(Debug, Clone, Copy)]
pub struct ScanObjects<'a> {
    pub(super) site: &'a dyn Store,
    pub(super) prefix: &'a str,
    pub(super) heartbeat: &'a Heartbeat,
}

impl<'a> ScanObjects<'a> {
    /// The objects below `prefix`, which ends with a slash. `heartbeat` beats with every object.
    pub fn new(site: &'a dyn Store, prefix: &'a str, heartbeat: &'a Heartbeat) -> Self {
        Self { site, prefix, heartbeat }
    }
}
