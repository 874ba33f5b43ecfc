//! A vetted URL and what of it a request needs.
//!
//! Must not know: names' addresses.

use std::net::IpAddr;

use everytab_webpage::url_rules::{Refusal, literal_address, vet_url};
use url::Url;

use crate::outcome::Outcome;

/// Where a request goes.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) url: Url,
    /// Scheme, host and port, as text: the key of connections, robots rules and memories.
    pub(crate) origin: String,
    /// As the URL has it; an IPv6 literal without its brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_https: bool,
    /// The address, where the URL names one; no resolver is asked then.
    pub(crate) literal: Option<IpAddr>,
}

impl Target {
    /// The first URL of a chain. Whatever is wrong with it, it is not on the public web.
    pub(crate) fn first(url: &str) -> Result<Target, Outcome> {
        vet_url(url).map_err(|_| Outcome::IpBlocked).and_then(Target::of_vetted)
    }

    /// Where a `Location` seen at this target leads.
    pub(crate) fn redirected(&self, location: &str) -> Result<Target, Outcome> {
        let joined = self.url.join(location).map_err(|_| Outcome::RedirectBadScheme)?;
        let vetted = vet_url(joined.as_str()).map_err(|refusal| match refusal {
            Refusal::Port => Outcome::RedirectBlocked,
            Refusal::Scheme | Refusal::Unparsable | Refusal::TooLong => Outcome::RedirectBadScheme,
        })?;
        Target::of_vetted(vetted).map_err(|_| Outcome::RedirectBlocked)
    }

    /// This origin's robots.txt.
    pub(crate) fn robots_url(&self) -> String {
        format!("{}/robots.txt", self.origin)
    }

    fn of_vetted(url: Url) -> Result<Target, Outcome> {
        let literal = literal_address(&url);
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(Outcome::IpBlocked);
        };
        let host = literal.map_or_else(|| host.to_owned(), |address| address.to_string());
        let origin = url.origin().ascii_serialization();
        Ok(Target { origin, host, port, is_https: url.scheme() == "https", literal, url })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_knows_its_origin_and_its_literal_address() {
        let target = Target::first("https://A.example:8443/x?y#z").expect("a target");
        assert_eq!(target.origin, "https://a.example:8443");
        assert_eq!((target.host.as_str(), target.port, target.is_https), ("a.example", 8443, true));
        assert_eq!(target.robots_url(), "https://a.example:8443/robots.txt");
        let target = Target::first("http://[2001:db8::1]/").expect("a target");
        assert_eq!(target.literal, Some("2001:db8::1".parse().expect("an address")));
        assert_eq!(target.host, "2001:db8::1");
        assert_eq!(target.robots_url(), "http://[2001:db8::1]/robots.txt");
    }

    #[test]
    fn a_redirect_leads_to_a_target_or_says_why_not() {
        let from = Target::first("https://a.example/b/c").expect("a target");
        let to = |location: &str| from.redirected(location).map(|target| target.url.to_string());
        assert_eq!(to("../d"), Ok("https://a.example/d".to_owned()));
        assert_eq!(to("//b.example"), Ok("https://b.example/".to_owned()));
        assert_eq!(to("data:image/png,x"), Err(Outcome::RedirectBadScheme));
        assert_eq!(to("ftp://a.example/"), Err(Outcome::RedirectBadScheme));
        assert_eq!(to("https://"), Err(Outcome::RedirectBadScheme));
        assert_eq!(to("http://a.example:22/"), Err(Outcome::RedirectBlocked));
    }
}
