//! One crawl request.

use everytab_webpage::PortList;

use crate::{page::validators::Validators, purpose::Purpose, request::cookies::Cookies};

/// One crawl request.
#[derive(Clone, Debug)]
pub struct PageRequest<'a> {
    /// The URL to request.
    pub url: &'a str,
    /// The request's purpose.
    pub purpose: &'a Purpose,
    /// The validators of an earlier copy. They are not sent to redirect targets.
    pub validators: Validators,
    /// The cookies of the redirect chain that led to this URL.
    pub cookies: Cookies,
    /// The ports that may be requested. `None` for the ports in the fetcher's settings.
    pub ports: Option<&'a PortList>,
}

impl<'a> PageRequest<'a> {
    /// Creates a request without validators and cookies, for the ports in the fetcher's settings.
    pub fn new(url: &'a str, purpose: &'a Purpose) -> Self {
        let validators = Validators::default();
        let cookies = Cookies::default();
        Self { url, purpose, validators, cookies, ports: None }
    }
}
