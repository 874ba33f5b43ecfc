//! A chain of redirects on one host, with its fetches so far.
//!
//! A URL has one row in a crawl, and a cookie wall redirects back to the URL that it guards. So the
//! fetches of a chain wait until the chain ends: if a URL is requested again, its earlier fetch is
//! dropped, and the row is that of the last request. Invariant: the waiting fetches are of
//! different URLs, none of which is finished. Does not depend on slots, or on how a fetch is
//! recorded.

use std::time::{Duration, Instant};

use everytab_fetcher::{ChainRequests, Cookies};
use everytab_frontier::{Link, Turn, UrlHash};

/// How long the fetches of a chain wait for its next request: twice the maximum `Crawl-delay`,
/// because robots.txt of another origin may be requested first.
const MAX_WAIT: Duration = Duration::from_secs(10 * 60);

/// The URL that a chain requests next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChainKey {
    /// The crawl.
    pub crawl: i32,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// The URL.
    pub target: UrlHash,
}

/// A chain of redirects on one host in one crawl, with its fetches so far.
pub(crate) struct RedirectChain<F> {
    /// The URL to request next, or in flight, as the last redirect spells it.
    pub url: String,
    /// The cookies of the chain.
    pub cookies: Cookies,
    /// Number of redirects that lead to `url`.
    pub hops: u8,
    /// Whether a URL was requested more than once.
    pub has_repeated: bool,
    requests: ChainRequests,
    fetches: Vec<(UrlHash, F)>,
    redirected_at: Instant,
}

impl<F> RedirectChain<F> {
    /// Starts a chain with a request for a URL, without cookies.
    pub(crate) fn begin(turn: &Turn) -> Self {
        let (mut requests, cookies) = (ChainRequests::default(), Cookies::default());
        requests.add(&turn.url, &cookies);
        Self {
            url: turn.url.clone(),
            cookies,
            hops: turn.attributes.hops,
            has_repeated: false,
            requests,
            fetches: Vec::new(),
            redirected_at: Instant::now(),
        }
    }

    /// Adds the fetch of the last request.
    pub(crate) fn add(&mut self, hash: UrlHash, fetch: F) {
        self.fetches.push((hash, fetch));
    }

    /// Follows a redirect. Returns false if the chain has made this request before, so that it is a
    /// loop.
    pub(crate) fn follow(&mut self, target: &Link, cookies: Cookies) -> bool {
        target.url.fetched().clone_into(&mut self.url);
        self.cookies = cookies;
        self.hops = target.attributes.hops;
        self.redirected_at = Instant::now();
        self.requests.add(&self.url, &self.cookies)
    }

    /// Takes the fetch of a URL that is requested again. `None` if the chain has no fetch of it.
    pub(crate) fn take(&mut self, hash: UrlHash) -> Option<F> {
        let at = self.fetches.iter().position(|(of, _)| *of == hash)?;
        self.has_repeated = true;
        Some(self.fetches.remove(at).1)
    }

    /// Returns whether its fetches have waited for too long.
    pub(crate) fn is_late(&self) -> bool {
        self.redirected_at.elapsed() > MAX_WAIT
    }

    /// Ends the chain, and returns its fetches, the last request first. If the worker dies when
    /// only some are recorded, the pending ones are redirects: requested again, they lead to a URL
    /// that is finished, and get the same rows. In the other order, a page behind a cookie wall
    /// would lead to a finished wall, and its row would be that of a redirect.
    pub(crate) fn end(self) -> impl Iterator<Item = F> {
        self.fetches.into_iter().rev().map(|(_, fetch)| fetch)
    }
}

#[cfg(test)]
mod tests {
    use everytab_frontier::{Attributes, CanonicalUrl, ParameterList};

    use super::*;

    fn link(url: &str, hops: u8) -> Link {
        let url = CanonicalUrl::parse(url, &ParameterList::default()).unwrap();
        Link { url, attributes: Attributes { hops, ..Attributes::default() }, via: None }
    }

    fn begun(link: &Link) -> RedirectChain<u8> {
        let (url, hash) = (link.url.fetched().to_owned(), link.url.hash());
        RedirectChain::begin(&Turn {
            url,
            hash,
            attributes: link.attributes,
            retries: 0,
            via: None,
        })
    }

    #[test]
    fn a_url_that_comes_again_has_the_last_fetch_alone() {
        let (wall, check) = (link("http://a.com/wall", 2), link("http://a.com/check", 1));
        let mut chain = begun(&wall);
        chain.add(wall.url.hash(), 1);
        assert!(chain.follow(&check, Cookies::default()));
        chain.add(check.url.hash(), 2);
        assert!(!chain.follow(&wall, Cookies::default()), "it is a loop without a cookie");
        assert_eq!((chain.take(link("http://a.com/other", 0).url.hash()), chain.hops), (None, 2));
        assert!(!chain.has_repeated);
        assert_eq!((chain.take(wall.url.hash()), chain.has_repeated), (Some(1), true));
        chain.add(wall.url.hash(), 3);
        assert_eq!(chain.end().collect::<Vec<_>>(), [3, 2], "the page is recorded before its wall");
    }

    /// Servers sort parameters, or add a session, in the same URL.
    #[test]
    fn a_redirect_to_another_spelling_of_the_url_is_no_loop() {
        let mut chain = begun(&link("http://a.com/x?b=1&a=2", 0));
        assert!(chain.follow(&link("http://a.com/x?a=2&b=1", 1), Cookies::default()));
        assert_eq!(chain.url, "http://a.com/x?a=2&b=1");
        assert!(!chain.follow(&link("http://a.com/x?b=1&a=2", 2), Cookies::default()));
    }
}
