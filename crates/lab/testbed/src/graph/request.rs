//! The parts of a request on which the graph's response depends.

use super::world::GraphPage;

pub(crate) struct GraphRequest<'a> {
    pub(crate) host: &'a str,
    pub(crate) target: &'a str,
    pub(crate) if_none_match: Option<&'a str>,
    pub(crate) cookie: Option<&'a str>,
    pub(crate) day: u32,
    /// Returns true if the page was requested before on this day, because some pages respond with
    /// 503 to a day's first request.
    pub(crate) was_asked: &'a dyn Fn(GraphPage) -> bool,
}
