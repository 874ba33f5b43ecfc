//! The parts of a request to the small internet's web on which its response depends.

/// One request, the argument of the response function.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) https: bool,
    /// The hostname in lower case, without a port.
    pub(crate) host: String,
    /// Path and query, as sent.
    pub(crate) target: String,
    /// `If-None-Match`, if it was sent. Only a graph's hosts and generated home pages use this.
    pub(crate) if_none_match: Option<String>,
    /// `Cookie`, if it was sent. Only a graph's hosts use this.
    pub(crate) cookie: Option<String>,
}

impl Request {
    pub(crate) fn path(&self) -> &str {
        self.target.split(['?', '#']).next().unwrap_or("/")
    }
}
