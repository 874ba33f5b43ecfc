//! The path and settings of a directory store, as its blocking work needs them.

use std::path::PathBuf;

/// A directory store's root.
#[derive(Debug)]
pub(super) struct Root {
    /// The absolute path.
    pub(super) path: PathBuf,
    /// Maximum bytes that one read returns.
    pub(super) max_get_bytes: u64,
    /// Whether writes wait for the disk.
    pub(super) durable: bool,
}
