//! Limits for reading one record.

/// Limits for reading one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes that are kept from a block. The rest is dropped, and the record is marked as
    /// truncated. Common Crawl truncates payloads at 5 MiB (at 1 MiB until 2025), so the default of
    /// 6 MiB keeps its blocks whole.
    pub max_block_bytes: u64,
    /// Maximum size of a record's header in bytes. The default is 256 KiB. Real headers have about
    /// 1 KiB.
    pub max_header_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_block_bytes: 6 << 20, max_header_bytes: 256 << 10 }
    }
}
