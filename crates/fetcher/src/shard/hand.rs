//! What the fetcher tells of each URL before and after it handles it.
//!
//! Must not know: who wants to know.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

/// Is told about the URLs of a shard, which are numbered in canonical order.
pub trait Hand: Send + Sync {
    /// Whether URLs are handled one at a time.
    fn is_careful(&self) -> bool;
    /// Whether the URL is to be handled before others.
    fn is_suspect(&self, url_no: usize) -> bool;
    /// Whether the URL is not to be handled at all: handling it crashed.
    fn has_crashed(&self, url_no: usize) -> bool;
    /// The URL is about to be handled.
    fn take(&self, url_no: usize) -> BoxFuture<'_, ()>;
    /// A URL came to its end.
    fn ended(&self);
}

/// Any number of URLs at a time, and nobody wants to know.
struct Free;

impl Hand for Free {
    fn is_careful(&self) -> bool {
        false
    }

    fn is_suspect(&self, _url_no: usize) -> bool {
        false
    }

    fn has_crashed(&self, _url_no: usize) -> bool {
        false
    }

    fn take(&self, _url_no: usize) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn ended(&self) {}
}

/// A shared [`Hand`].
#[derive(Clone)]
pub struct SharedHand(pub Arc<dyn Hand>);

impl Default for SharedHand {
    fn default() -> SharedHand {
        SharedHand(Arc::new(Free))
    }
}

impl fmt::Debug for SharedHand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_careful() { "careful" } else { "free" })
    }
}
