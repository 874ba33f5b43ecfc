//! Size limits for the response bodies that a crawl reads.

/// Default maximum page size in bytes. Only a few in a thousand pages are larger.
pub const DEFAULT_PAGE_BYTES: usize = 2 << 20;
/// Largest page size in bytes that a crawl may allow. This bounds the memory for one body in a
/// worker.
pub const MAX_PAGE_BYTES: usize = 16 << 20;
/// Default maximum size in bytes of an image or another page requisite.
pub const DEFAULT_MEDIA_BYTES: usize = 4 << 20;
/// Largest requisite size in bytes that a crawl may allow.
pub const MAX_MEDIA_BYTES: usize = 32 << 20;

const _: () = assert!(DEFAULT_PAGE_BYTES <= MAX_PAGE_BYTES);
const _: () = assert!(DEFAULT_MEDIA_BYTES <= MAX_MEDIA_BYTES);
