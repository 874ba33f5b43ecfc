//! The parts of a request to the small internet's web on which its response depends.

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) https: bool,
    pub(crate) host: String,
    pub(crate) target: String,
    pub(crate) if_none_match: Option<String>,
    pub(crate) cookie: Option<String>,
}

impl Request {
    pub(crate) fn path(&self) -> &str {
        self.target.split(['?', '#']).next().unwrap_or("/")
    }
}
