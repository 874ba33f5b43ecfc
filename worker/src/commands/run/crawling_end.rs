//! The result of the role `crawl` in `run`.

#![cfg_attr(not(feature = "crawl"), allow(dead_code))]

/// Why crawling ended.
pub(super) enum CrawlingEnd {
    /// No crawl is open, and the process should exit when its jobs are done.
    Finished,
    /// A signal stopped the process.
    Stopped,
    /// A job made no progress.
    Stalled,
}
