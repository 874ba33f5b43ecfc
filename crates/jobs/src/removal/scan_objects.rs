//! The objects of one published scan, shared by the parts of a removal.

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
    /// Creates a handle for the objects below `prefix`, which ends with a slash. `heartbeat` beats
    /// with every object.
    pub fn new(site: &'a dyn Store, prefix: &'a str, heartbeat: &'a Heartbeat) -> Self {
        Self { site, prefix, heartbeat }
    }
}
