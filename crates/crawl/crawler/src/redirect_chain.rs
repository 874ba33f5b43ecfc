//! A redirect chain on one host, with its fetches so far.
//!
//! A URL has one row in a crawl, but a cookie wall redirects back to the URL that it guards.
//! Therefore a chain's fetches wait until the chain ends, and are recorded together. If a URL is
//! requested again, its earlier fetch is dropped. Invariant: the waiting fetches have different
//! URLs, and none of these URLs is finished.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_fetcher::{ChainRequests, Cookies};
use everytab_frontier::{Link, PendingUrl, UrlHash};
use parking_lot::Mutex;

/// How long a chain's fetches wait for the chain's next request: twice the maximum `Crawl-delay`,
/// because another origin's robots.txt may be requested first.
const MAX_WAIT: Duration = Duration::from_secs(10 * 60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChainKey {
    pub crawl: i32,
    pub host_hash: u64,
    pub target: UrlHash,
}

pub(crate) struct RedirectChain<F> {
    /// The URL that is in flight or requested next, as the last redirect spells it.
    pub url: String,
    pub cookies: Cookies,
    /// Number of redirects that lead to `url`.
    pub hops: u8,
    pub has_repeated: bool,
    requests: ChainRequests,
    fetches: Vec<(UrlHash, F)>,
    redirected_at: Instant,
}

impl<F> RedirectChain<F> {
    pub(crate) fn begin(pending: &PendingUrl) -> Self {
        let mut requests = ChainRequests::default();
        let cookies = Cookies::default();
        requests.add(&pending.url, &cookies);
        Self {
            url: pending.url.clone(),
            cookies,
            hops: pending.attributes.hops,
            has_repeated: false,
            requests,
            fetches: Vec::new(),
            redirected_at: Instant::now(),
        }
    }

    pub(crate) fn add(&mut self, hash: UrlHash, fetch: F) {
        self.fetches.push((hash, fetch));
    }

    /// Returns false if the chain has made this request before, so that it is a loop.
    pub(crate) fn follow(&mut self, target: &Link, cookies: Cookies) -> bool {
        target.url.fetched().clone_into(&mut self.url);
        self.cookies = cookies;
        self.hops = target.attributes.hops;
        self.redirected_at = Instant::now();
        self.requests.add(&self.url, &self.cookies)
    }

    pub(crate) fn take(&mut self, hash: UrlHash) -> Option<F> {
        let at = self.fetches.iter().position(|(of, _)| *of == hash)?;
        self.has_repeated = true;
        Some(self.fetches.remove(at).1)
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.redirected_at.elapsed() > MAX_WAIT
    }

    pub(crate) fn fetched_urls(&self) -> impl Iterator<Item = UrlHash> {
        self.fetches.iter().map(|(hash, _)| *hash)
    }

    pub(crate) fn sum_of(&self, measure: impl Fn(&F) -> usize) -> usize {
        self.fetches.iter().map(|(_, fetch)| measure(fetch)).sum()
    }

    pub(crate) fn end(self) -> Vec<F> {
        self.fetches.into_iter().map(|(_, fetch)| fetch).collect()
    }
}

/// Collects fetches that are recorded together, until the record of each is uploaded. Each fetch
/// has a clone of this value.
pub(crate) struct RecordedTogether<F>(Arc<Mutex<Uploaded<F>>>);

pub(crate) struct Uploaded<F> {
    pub fetches: Vec<F>,
    /// Whether any record is lost, so that all URLs are requested again.
    pub is_lost: bool,
}

impl<F> RecordedTogether<F> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Uploaded { fetches: Vec::new(), is_lost: false })))
    }

    /// Returns all fetches if this is the last one.
    pub(crate) fn add(self, fetch: F, is_lost: bool) -> Option<Uploaded<F>> {
        let mut uploaded = self.0.lock();
        uploaded.fetches.push(fetch);
        uploaded.is_lost |= is_lost;
        drop(uploaded);
        Arc::into_inner(self.0).map(Mutex::into_inner)
    }
}

impl<F> Clone for RecordedTogether<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
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
        let url = link.url.fetched().to_owned();
        let hash = link.url.hash();
        RedirectChain::begin(&PendingUrl {
            url,
            hash,
            attributes: link.attributes,
            retries: 0,
            via: None,
        })
    }

    #[test]
    fn a_url_requested_again_keeps_only_its_last_fetch() {
        let (wall, check) = (link("http://a.com/wall", 2), link("http://a.com/check", 1));
        let mut chain = begun(&wall);
        chain.add(wall.url.hash(), 1);
        assert!(chain.follow(&check, Cookies::default()));
        chain.add(check.url.hash(), 2);
        assert!(!chain.follow(&wall, Cookies::default()), "without a cookie it is a loop");
        assert_eq!((chain.take(link("http://a.com/other", 0).url.hash()), chain.hops), (None, 2));
        assert!(!chain.has_repeated);
        assert_eq!((chain.take(wall.url.hash()), chain.has_repeated), (Some(1), true));
        chain.add(wall.url.hash(), 3);
        assert_eq!(chain.fetched_urls().collect::<Vec<_>>(), [check.url.hash(), wall.url.hash()]);
        assert_eq!(chain.end(), [2, 3]);
    }

    #[test]
    fn the_last_upload_has_all_fetches() {
        for (lost, all) in [([false, false], false), ([true, false], true), ([false, true], true)] {
            let one = RecordedTogether::new();
            let last = lost;
            let other = one.clone();
            assert!(other.add('a', last[0]).is_none());
            let uploaded = one.add('b', last[1]).unwrap();
            assert_eq!((uploaded.fetches, uploaded.is_lost), (vec!['a', 'b'], all));
        }
    }

    /// Some servers redirect to the same URL with sorted parameters or an added session.
    #[test]
    fn a_redirect_to_another_spelling_of_the_url_is_not_a_loop() {
        let mut chain = begun(&link("http://a.com/x?b=1&a=2", 0));
        assert!(chain.follow(&link("http://a.com/x?a=2&b=1", 1), Cookies::default()));
        assert_eq!(chain.url, "http://a.com/x?a=2&b=1");
        assert!(!chain.follow(&link("http://a.com/x?b=1&a=2", 2), Cookies::default()));
    }
}
