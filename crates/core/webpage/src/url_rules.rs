//! Decides which URLs may be requested. The URL parser normalizes the host, so `0x7f.1` becomes an
//! address.

use std::{borrow::Cow, net::IpAddr};

use serde::Serialize;
use url::{Host, Url};

use crate::ports::PortList;

/// Maximum length in bytes of a URL that is requested or stored. Real icon URLs are far shorter.
pub const MAX_URL_BYTES: usize = 2048;

/// Why a URL may not be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The URL is longer than [`MAX_URL_BYTES`].
    #[error("the URL is longer than {MAX_URL_BYTES} bytes")]
    TooLong,
    /// The string is not a URL.
    #[error("not a URL")]
    Unparsable,
    /// The scheme is neither http nor https.
    #[error("the scheme is neither http nor https")]
    Scheme,
    /// This port is not in the port list.
    #[error("the port is not in the list of ports")]
    Port,
}

/// Converts an absolute URL to the form that is requested: normalized, without user name, password,
/// fragment and a dot after the hostname. Its port must be in `ports`.
///
/// # Errors
/// Returns an error for the first rule that this URL breaks.
pub fn vet_url(url: &str, ports: &PortList) -> Result<Url, Refusal> {
    let url = vet_url_on_any_port(url)?;
    let is_allowed = url.port_or_known_default().is_some_and(|port| ports.contains(port));
    if is_allowed { Ok(url) } else { Err(Refusal::Port) }
}

/// Like [`vet_url`], but accepts any port. The caller must check the port before it requests the
/// URL.
///
/// # Errors
/// Returns an error for the first rule that this URL breaks.
pub fn vet_url_on_any_port(url: &str) -> Result<Url, Refusal> {
    if url.len() > MAX_URL_BYTES {
        return Err(Refusal::TooLong);
    }
    let url = Url::parse(url).map_err(|_| Refusal::Unparsable)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refusal::Scheme);
    }
    let url = requested_form(url);
    // The parsed URL may be longer than the string, because a space becomes three characters.
    if url.as_str().len() > MAX_URL_BYTES { Err(Refusal::TooLong) } else { Ok(url) }
}

/// Returns the IP address in a URL's host. `None` if the host is a name.
#[must_use]
pub fn literal_address(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}

/// Reduces the slashes before a host to two, as in the URL Standard, because the URL parser would
/// read an empty host before the third one.
#[must_use]
pub fn with_two_slashes(text: &str) -> Cow<'_, str> {
    let start = text.trim_start_matches(|c| c <= ' ');
    let is_ignored = |c| matches!(c, '/' | '\\' | '\t' | '\n' | '\r');
    let rest = start.trim_start_matches(is_ignored);
    let slashes = &start[..start.len() - rest.len()];
    match slashes.matches(['/', '\\']).count() {
        0..=2 => Cow::Borrowed(text),
        _ => Cow::Owned(format!("//{rest}")),
    }
}

/// Removes user name, password, fragment, and the dot after an absolute hostname.
pub(crate) fn requested_form(mut url: Url) -> Url {
    let host = url.host_str().filter(|host| host.ends_with('.'));
    if let Some(host) = host.map(|host| host.trim_end_matches('.').to_owned()) {
        // This fails only for a host that consists of dots, which no resolver knows.
        url.set_host(Some(&host)).ok();
    }
    url.set_fragment(None);
    // Both fail only for URLs that cannot have a user name.
    url.set_username("").ok();
    url.set_password(None).ok();
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vetted(url: &str) -> Result<String, Refusal> {
        vet_url(url, &PortList::default()).map(String::from)
    }

    #[test]
    fn a_url_is_converted_to_its_requested_form() {
        let same = |url: &str, form: &str| assert_eq!(vetted(url).as_deref(), Ok(form));
        same("HTTP://User:pw@EXAMPLE.com:80/a b?q#f", "http://example.com/a%20b?q");
        same("https://example.com", "https://example.com/");
        same("https://example.com:8443/", "https://example.com:8443/");
        same("http://bücher.example/", "http://xn--bcher-kva.example/");
        same("http://ex%61mple.com/", "http://example.com/");
        same("http:\\\\example.com\\a", "http://example.com/a");
        same("  http://example.com/\t", "http://example.com/");
        same("http://EXAMPLE.com.:8080/", "http://example.com:8080/");
        same("http://b%C3%BCcher.example./", "http://xn--bcher-kva.example/");
        same("http://./", "http://./");
        same("http://a../", "http://a/");
    }

    #[test]
    fn all_slashes_before_a_host_are_one_pair() {
        let base = Url::parse("https://base.example/dir/page").unwrap();
        for text in ["//", "///", "////", "//\\", "\\\\\\", " \n///", "/\t//", "/\\/"] {
            let url = base.join(&with_two_slashes(&format!("{text}host.example/x"))).unwrap();
            assert_eq!(url.as_str(), "https://host.example/x", "{text:?}");
        }
        for (text, expected) in [
            ("/x", "https://base.example/x"),
            ("x///y", "https://base.example/dir/x///y"),
            ("http:///host.example", "http://host.example/"),
        ] {
            assert_eq!(base.join(&with_two_slashes(text)).unwrap().as_str(), expected);
        }
        assert!(base.join(&with_two_slashes("///")).is_err());
    }

    #[test]
    fn unusual_notations_give_the_address() {
        for form in ["2130706433", "0x7f.1", "127.1", "0177.0.0.1", "%31%32%37.0.0.1", "127.0.0.1."]
        {
            let url = vet_url(&format!("http://{form}/"), &PortList::default()).unwrap();
            let address = literal_address(&url).map(|address| address.to_string());
            assert_eq!(address.as_deref(), Some("127.0.0.1"), "{form}");
        }
        let url = vet_url("http://[::ffff:a9fe:a9fe]/", &PortList::default()).unwrap();
        let expected: IpAddr = "::ffff:169.254.169.254".parse().unwrap();
        assert_eq!(literal_address(&url), Some(expected));
        let name = vet_url("http://localhost./", &PortList::default()).unwrap();
        assert_eq!(literal_address(&name), None);
    }

    #[test]
    fn each_rule_rejects_by_its_name() {
        assert_eq!(vetted("ftp://example.com/"), Err(Refusal::Scheme));
        assert_eq!(vetted("file:///etc/passwd"), Err(Refusal::Scheme));
        assert_eq!(vetted("gopher://example.com:80/"), Err(Refusal::Scheme));
        assert_eq!(vetted("data:,"), Err(Refusal::Scheme));
        assert_eq!(vetted("/relative"), Err(Refusal::Unparsable));
        assert_eq!(vetted("http://"), Err(Refusal::Unparsable));
        assert_eq!(vetted("http://a b/"), Err(Refusal::Unparsable));
        assert_eq!(vetted("http://256.256.256.256/"), Err(Refusal::Unparsable));
        for port in [0, 22, 25, 53, 6379, 65535] {
            assert_eq!(vetted(&format!("http://a.example:{port}/")), Err(Refusal::Port), "{port}");
        }
        let only: PortList = "8081".parse().unwrap();
        assert!(vet_url("http://a.example:8081/", &only).is_ok());
        assert_eq!(vet_url("http://a.example/", &only), Err(Refusal::Port));
        let of_length = |length: usize| format!("http://a.example/{}", "x".repeat(length - 17));
        assert!(vetted(&of_length(2048)).is_ok());
        assert_eq!(vetted(&of_length(2049)), Err(Refusal::TooLong));
        assert_eq!(
            vetted(&format!("http://a.example/{}", " x".repeat(1000))),
            Err(Refusal::TooLong)
        );
    }
}
