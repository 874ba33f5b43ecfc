//! The result of `run --role crawl`.

#![cfg_attr(not(feature = "crawl"), allow(dead_code))]

pub(super) enum CrawlingEnd {
    /// No crawl is open, and `--exit-when-done` is given.
    Finished,
    Stopped,
    Stalled,
}
