//! A checked URL, with the parts of it that a request needs.

use std::net::IpAddr;

use everytab_webpage::{
    PortList,
    url_rules::{Refusal, literal_address, vet_url, vet_url_on_any_port, with_two_slashes},
};
use url::Url;

use crate::outcome::Outcome;

#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(crate) origin: String,
    /// Without brackets if it is an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_https: bool,
    pub(crate) literal: Option<IpAddr>,
}

impl Target {
    pub(crate) fn first(url: &str, ports: &PortList) -> Result<Self, Outcome> {
        vet_url(url, ports).map_err(|_| Outcome::IpBlocked).and_then(Self::of_checked)
    }

    /// Unlike [`Self::first`], returns a different outcome for each fault of the URL.
    pub(crate) fn submitted(url: &str, ports: &PortList) -> Result<Self, Outcome> {
        let vetted = vet_url(url, ports).map_err(|refusal| match refusal {
            Refusal::TooLong => Outcome::UrlTooLong,
            Refusal::Unparsable => Outcome::UrlUnparsable,
            Refusal::Scheme => Outcome::UrlScheme,
            Refusal::Port => Outcome::UrlPort,
        })?;
        let given = Url::parse(url).map_err(|_| Outcome::UrlUnparsable)?;
        if !given.username().is_empty() || given.password().is_some() {
            return Err(Outcome::UrlCredentials);
        }
        Self::of_checked(vetted)
    }

    /// Returns the absolute URL for a `Location` field. Any port is allowed.
    pub(crate) fn redirect_url(&self, location: &str) -> Result<Url, Outcome> {
        vet_url_on_any_port(self.joined(location)?.as_str()).map_err(|_| Outcome::RedirectBadScheme)
    }

    pub(crate) fn redirected(&self, location: &str, ports: &PortList) -> Result<Self, Outcome> {
        let joined = self.joined(location)?;
        let checked = vet_url(joined.as_str(), ports).map_err(|refusal| match refusal {
            Refusal::Port => Outcome::RedirectBlocked,
            Refusal::Scheme | Refusal::Unparsable | Refusal::TooLong => Outcome::RedirectBadScheme,
        })?;
        Self::of_checked(checked).map_err(|_| Outcome::RedirectBlocked)
    }

    fn joined(&self, location: &str) -> Result<Url, Outcome> {
        self.url.join(&with_two_slashes(location)).map_err(|_| Outcome::RedirectBadScheme)
    }

    pub(crate) fn robots_url(&self) -> String {
        format!("{}/robots.txt", self.origin)
    }

    fn of_checked(url: Url) -> Result<Self, Outcome> {
        let literal = literal_address(&url);
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(Outcome::IpBlocked);
        };
        let host = literal.map_or_else(|| host.to_owned(), |address| address.to_string());
        let origin = url.origin().ascii_serialization();
        Ok(Self { origin, host, port, is_https: url.scheme() == "https", literal, url })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_knows_its_origin_and_its_literal_address() {
        let ports = PortList::default();
        let target = Target::first("https://A.example:8443/x?y#z", &ports).expect("a target");
        assert_eq!(target.origin, "https://a.example:8443");
        assert_eq!((target.host.as_str(), target.port, target.is_https), ("a.example", 8443, true));
        assert_eq!(target.robots_url(), "https://a.example:8443/robots.txt");
        let absolute = Target::first("https://a.example.:8443/x?y", &ports).expect("a target");
        assert_eq!((absolute.origin, absolute.host), (target.origin, target.host));
        let target = Target::first("http://[2001:db8::1]/", &ports).expect("a target");
        assert_eq!(target.literal, Some("2001:db8::1".parse().expect("an address")));
        assert_eq!(target.host, "2001:db8::1");
        assert_eq!(target.robots_url(), "http://[2001:db8::1]/robots.txt");
    }

    #[test]
    fn each_rejected_url_has_its_outcome() {
        let ports = PortList::default();
        let of = |url: &str| Target::submitted(url, &ports).map(|target| target.url.to_string());
        assert_eq!(of("HTTP://A.example:80#x"), Ok("http://a.example/".to_owned()));
        for (url, outcome) in [
            ("/x", Outcome::UrlUnparsable),
            ("", Outcome::UrlUnparsable),
            ("http://", Outcome::UrlUnparsable),
            ("ftp://a.example/", Outcome::UrlScheme),
            ("javascript:alert(1)", Outcome::UrlScheme),
            ("http://a.example:22/", Outcome::UrlPort),
            ("http://a.example:0/", Outcome::UrlPort),
            ("http://user@a.example/", Outcome::UrlCredentials),
            ("http://user:word@a.example/", Outcome::UrlCredentials),
            ("https://:word@a.example/", Outcome::UrlCredentials),
            ("https://b.example@a.example/", Outcome::UrlCredentials),
        ] {
            assert_eq!(of(url), Err(outcome), "{url}");
        }
        assert_eq!(
            of(&format!("http://a.example/{}", "x".repeat(2_048))),
            Err(Outcome::UrlTooLong)
        );
    }

    #[test]
    fn a_redirect_leads_to_a_target_or_to_an_outcome() {
        let ports = PortList::default();
        let from = Target::first("https://a.example/b/c", &ports).expect("a target");
        let to =
            |location: &str| from.redirected(location, &ports).map(|target| target.url.to_string());
        assert_eq!(to("../d"), Ok("https://a.example/d".to_owned()));
        assert_eq!(to("//b.example"), Ok("https://b.example/".to_owned()));
        assert_eq!(to("///b.example./x"), Ok("https://b.example/x".to_owned()));
        assert_eq!(to("data:image/png,x"), Err(Outcome::RedirectBadScheme));
        assert_eq!(to("ftp://a.example/"), Err(Outcome::RedirectBadScheme));
        assert_eq!(to("https://"), Err(Outcome::RedirectBadScheme));
        assert_eq!(to("http://a.example:22/"), Err(Outcome::RedirectBlocked));
        let reported = from.redirect_url("http://a.example:22/x#y").map(String::from);
        assert_eq!(reported, Ok("http://a.example:22/x".to_owned()));
        assert_eq!(from.redirect_url("ftp://a.example/"), Err(Outcome::RedirectBadScheme));
    }
}
