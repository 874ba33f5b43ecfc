//! Size limits for the response bodies that a crawl reads.

/// Default size limit for a page in bytes. Only a few in a thousand pages are larger.
pub const DEFAULT_PAGE_BYTES: usize = 2 << 20;
/// Maximum size limit for a page in bytes that a crawl may set. This bounds how much memory one
/// body may take in a worker.
pub const MAX_PAGE_BYTES: usize = 16 << 20;
/// Default size limit in bytes for an image or another requisite that a page needs.
pub const DEFAULT_MEDIA_BYTES: usize = 4 << 20;
/// Maximum size limit for a requisite in bytes that a crawl may set.
pub const MAX_MEDIA_BYTES: usize = 32 << 20;

const _: () = assert!(DEFAULT_PAGE_BYTES <= MAX_PAGE_BYTES);
const _: () = assert!(DEFAULT_MEDIA_BYTES <= MAX_MEDIA_BYTES);
