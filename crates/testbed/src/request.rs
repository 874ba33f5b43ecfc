//! A request to the web of the small internet, as far as its answer depends on it.

/// One request: what an answer is a function of.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) https: bool,
    /// The hostname in lower case, without a port.
    pub(crate) host: String,
    /// Path and query, as sent.
    pub(crate) target: String,
    /// `If-None-Match`, if it was sent; only hosts of a graph of sites look at it.
    pub(crate) if_none_match: Option<String>,
    /// `Cookie`, if it was sent; only hosts of a graph of sites look at it.
    pub(crate) cookie: Option<String>,
}

impl Request {
    /// The path without its query.
    pub(crate) fn path(&self) -> &str {
        self.target.split(['?', '#']).next().unwrap_or("/")
    }
}
