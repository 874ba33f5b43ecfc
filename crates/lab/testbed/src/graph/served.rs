//! The state of a world that is being served: the day, and the pages that have already responded
//! with 503, with their days.

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

/// Maximum remembered pages. Beyond this limit, no page responds with 503 at first.
const MAX_REFUSED: usize = 1 << 20;

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
