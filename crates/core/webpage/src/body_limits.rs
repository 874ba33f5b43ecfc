//! The limits on the bodies that a crawl reads.

/// Default size limit of a page in bytes. Of a thousand pages, a few are longer.
pub const DEFAULT_PAGE_BYTES: usize = 2 << 20;
/// Maximum size limit of a page in bytes that a crawl may set: what one body may take of a worker's
/// memory.
pub const MAX_PAGE_BYTES: usize = 16 << 20;
/// Default size limit in bytes of an image or other requisite of a page.
pub const DEFAULT_MEDIA_BYTES: usize = 4 << 20;
/// Maximum size limit of a requisite in bytes that a crawl may set.
pub const MAX_MEDIA_BYTES: usize = 32 << 20;

const _: () = assert!(DEFAULT_PAGE_BYTES <= MAX_PAGE_BYTES);
const _: () = assert!(DEFAULT_MEDIA_BYTES <= MAX_MEDIA_BYTES);
