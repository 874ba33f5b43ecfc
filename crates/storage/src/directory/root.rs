//! Where a directory store is, and its settings: all that its blocking work needs.

use std::path::PathBuf;

/// The folder of a directory store.
#[derive(Debug)]
pub(super) struct Root {
    /// Its absolute path.
    pub(super) path: PathBuf,
    /// Most bytes that one read returns.
    pub(super) max_get_bytes: u64,
    /// True if writes wait for the disk.
    pub(super) durable: bool,
}
