//! Size limits for one record.

/// Size limits for one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes to keep from a block. This is 6 MiB by default, because Common Crawl truncates
    /// payloads at 5 MiB.
    pub max_block_bytes: u64,
    /// Maximum header size in bytes. This is 256 KiB by default. Real headers have about 1 KiB.
    pub max_header_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_block_bytes: 6 << 20, max_header_bytes: 256 << 10 }
    }
}
