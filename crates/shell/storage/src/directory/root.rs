//! The path and settings of a directory store, as its blocking work needs them.

use std::path::PathBuf;

#[derive(Debug)]
pub(super) struct Root {
    pub(super) path: PathBuf,
    pub(super) max_get_bytes: u64,
    pub(super) durable: bool,
}
