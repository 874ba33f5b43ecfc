//! Options for reading one index file.

use std::net::IpAddr;

/// Options for reading one index file.
#[derive(Debug, Clone)]
pub struct IndexOptions {
    /// Maximum captures. With this limit, the reader starts at the row group that probably has the
    /// most hosts.
    pub max_captures: Option<u64>,
    /// Maximum row groups to read. `None` for all row groups.
    pub max_row_groups: Option<u64>,
    /// Bytes to read first, at the end of the file. Most metadata fit into the default of 256 KiB.
    pub first_read_bytes: u64,
    /// Maximum size in bytes of the needed columns in a row group, compressed and uncompressed.
    /// They have about 64 MB in the index.
    pub max_row_group_bytes: u64,
    /// Approximate size in bytes of a window, which is read in one step.
    pub window_bytes: u64,
    /// Returns true if an address used as a hostname is public. Captures of other addresses are
    /// rejected. The default accepts all.
    pub is_public_address: fn(IpAddr) -> bool,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            max_captures: None,
            max_row_groups: None,
            first_read_bytes: 256 << 10,
            max_row_group_bytes: 1 << 30,
            window_bytes: 1 << 20,
            is_public_address: |_| true,
        }
    }
}
