//! Tracks the requests in one redirect chain, to distinguish a loop from a cookie wall.

use std::collections::HashSet;

use url::Url;

use crate::request::cookies::Cookies;

/// The requests that a redirect chain has made. A URL may be requested again with other cookies,
/// because some sites set a cookie on another page and then redirect the client back.
#[derive(Debug, Default)]
pub struct ChainRequests {
    /// Each URL with the `Cookie` header that was sent to it.
    made: HashSet<(String, Option<String>)>,
}

impl ChainRequests {
    /// Adds a request for an absolute URL. Returns false if the chain has already made an identical
    /// request, which is a loop.
    pub fn add(&mut self, url: &str, cookies: &Cookies) -> bool {
        let header = Url::parse(url).ok().and_then(|url| cookies.header(&url));
        self.made.insert((url.to_owned(), header))
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header::SET_COOKIE};

    use super::*;

    #[test]
    fn a_url_may_be_requested_again_only_with_other_cookies() {
        let url = Url::parse("https://a.example/wall").expect("a URL");
        let other = Url::parse("https://b.example/").expect("a URL");
        let mut requests = ChainRequests::default();
        let mut cookies = Cookies::default();
        let mut set = |of: &Url, cookie: &'static str| {
            let headers = HeaderMap::from_iter([(SET_COOKIE, HeaderValue::from_static(cookie))]);
            cookies.take(of, &headers);
            cookies.clone()
        };
        assert!(requests.add(url.as_str(), &Cookies::default()));
        assert!(!requests.add(url.as_str(), &Cookies::default()));
        assert!(!requests.add(url.as_str(), &set(&other, "seen=1")), "the cookie of another host");
        assert!(requests.add(url.as_str(), &set(&url, "seen=1")));
        assert!(!requests.add(url.as_str(), &set(&url, "seen=1")));
        assert!(requests.add(url.as_str(), &set(&url, "seen=2")));
    }
}
