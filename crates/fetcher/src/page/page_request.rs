//! What a crawl asks for.
//!
//! Must not know: why.

use everytab_webpage::PortList;

use crate::{page::validators::Validators, purpose::Purpose, request::cookies::Cookies};

/// One request of a crawl.
#[derive(Clone, Debug)]
pub struct PageRequest<'a> {
    /// The URL to ask for.
    pub url: &'a str,
    /// What it is asked for.
    pub purpose: &'a Purpose,
    /// The validators of an earlier copy; with any, the answer may be `Outcome::NotModified`. They
    /// are sent to the URL itself, not to what it redirects to.
    pub validators: Validators,
    /// The cookies of the chain of redirects that led here; none at its start.
    pub cookies: Cookies,
    /// The ports that may be requested. `None` for those of the fetcher's settings.
    pub ports: Option<&'a PortList>,
}

impl<'a> PageRequest<'a> {
    /// A request without validators and cookies, to the ports of the settings.
    pub fn new(url: &'a str, purpose: &'a Purpose) -> Self {
        let (validators, cookies) = (Validators::default(), Cookies::default());
        Self { url, purpose, validators, cookies, ports: None }
    }
}
