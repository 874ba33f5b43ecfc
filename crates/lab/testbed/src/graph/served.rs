//! A world that is served: the day, and the pages that were refused once.
//!
//! This is the only state. It decides whether a page that is 503 at first is refused again, but
//! never a page's content. So the result of a crawl that requests such a page twice does not depend
//! on it.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicU32, Ordering},
};

use parking_lot::Mutex;

use super::{
    answers::answer,
    reply::GraphAnswer,
    request::GraphRequest,
    world::{GraphPage, SiteGraph},
};

/// Maximum remembered pages; further ones are not refused at all.
const MAX_REFUSED: usize = 1 << 20;

/// A world and its serving state.
#[derive(Debug)]
pub(crate) struct ServedGraph {
    pub(crate) graph: SiteGraph,
    day: AtomicU32,
    refused: Mutex<HashSet<(GraphPage, u32)>>,
}

impl ServedGraph {
    pub(crate) fn new(graph: SiteGraph) -> Self {
        Self { graph, day: AtomicU32::new(0), refused: Mutex::default() }
    }

    pub(crate) fn set_day(&self, day: u32) {
        self.day.store(day, Ordering::Relaxed);
    }

    /// Responds to a request. `None` if the name is not a host's.
    pub(crate) fn answer(
        &self,
        host: &str,
        target: &str,
        (if_none_match, cookie): (Option<&str>, Option<&str>),
    ) -> Option<GraphAnswer> {
        let day = self.day.load(Ordering::Relaxed);
        let was_asked = |page| {
            let mut refused = self.refused.lock();
            refused.len() >= MAX_REFUSED || !refused.insert((page, day))
        };
        let request =
            GraphRequest { host, target, if_none_match, cookie, day, was_asked: &was_asked };
        answer(&self.graph, &request)
    }
}
