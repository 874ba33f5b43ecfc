//! Limits for reading one index file, and which addresses are accepted as hosts.

use std::net::IpAddr;

/// Limits for reading one index file, and which addresses are accepted as hosts.
#[derive(Debug, Clone)]
pub struct IndexOptions {
    /// The reader stops after this many captures, and starts at the row group with the most hosts,
    /// so that it reads few row groups. `None` for all captures.
    pub max_captures: Option<u64>,
    /// The reader stops after this many row groups. `None` for all row groups.
    pub max_row_groups: Option<u64>,
    /// Bytes at the end of the file that are read first. In most files, the metadata fit into the
    /// default, 256 KiB.
    pub first_read_bytes: u64,
    /// Maximum size in bytes of a row group's needed columns, both compressed and uncompressed. A
    /// file with a larger row group is rejected. Row groups in the index have about 128 MB, half of
    /// it in the needed columns.
    pub max_row_group_bytes: u64,
    /// Approximate window size in bytes. A window contains the same share of each needed column and
    /// is read in one step.
    pub window_bytes: u64,
    /// Returns true if an address used as a hostname belongs to the public internet. Captures with
    /// other addresses are rejected. The default accepts all.
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
