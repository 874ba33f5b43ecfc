//! The parts of a request to the small internet's web on which its response depends.

/// One request: the argument of the response function.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) https: bool,
    /// The hostname in lower case, without a port.
    pub(crate) host: String,
    /// Path and query, as sent.
    pub(crate) target: String,
    /// `If-None-Match`, if it was sent. Hosts of a graph and home pages of generated hosts use it.
    pub(crate) if_none_match: Option<String>,
    /// `Cookie`, if it was sent. Only hosts of a graph of sites use it.
    pub(crate) cookie: Option<String>,
}

impl Request {
    /// Returns the path without its query.
    pub(crate) fn path(&self) -> &str {
        self.target.split(['?', '#']).next().unwrap_or("/")
    }
}
