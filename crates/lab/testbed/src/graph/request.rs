//! The parts of a request on which the graph's response depends.

use super::world::GraphPage;

/// A request to a host in the graph, or in one of its link farms.
pub(crate) struct GraphRequest<'a> {
    /// The hostname in lower case.
    pub(crate) host: &'a str,
    /// Path and query, as sent.
    pub(crate) target: &'a str,
    /// `If-None-Match`, if it was sent.
    pub(crate) if_none_match: Option<&'a str>,
    /// `Cookie`, if it was sent.
    pub(crate) cookie: Option<&'a str>,
    /// The day's number in the world, from 0.
    pub(crate) day: u32,
    /// Returns true if the page was requested before. This is for pages that are 503 at first.
    pub(crate) was_asked: &'a dyn Fn(GraphPage) -> bool,
}
