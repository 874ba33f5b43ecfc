//! Follows redirects on their host, with the cookies that the host sets along the way.
//!
//! The target of a redirect is the crawl's next request to the host, once it may be requested. A
//! chain that ends without its target (because it is already fetched or out of scope, or the page
//! limit is reached) is recorded as redirects. One that waits for too long begins again, as long as
//! its first URL may be retried. Each URL of a loop is recorded as a redirect loop.

use std::iter;

use everytab_fetcher::{Cookies, Outcome};
use everytab_frontier::{Link, LinkFlags, Turn, TurnedAway, UrlHash};

use crate::{
    holder::state::{AfterPut, ChainedFetch, Holder},
    known::SiteKey,
    redirect_chain::{ChainKey, RecordedTogether, RedirectChain},
    rows::ending_of,
};

/// Maximum chains per host and crawl. A host has several only while their targets are retried.
const MAX_CHAINS_PER_HOST: usize = 16;

impl Holder {
    /// Returns the URLs to which a host's chains lead, in hash order.
    pub(super) fn targets_of(&self, crawl: i32, host_hash: u64) -> Vec<UrlHash> {
        let key = |target| ChainKey { crawl, host_hash, target: UrlHash(target) };
        let chains = self.state.chains.range(key(0)..=key(u64::MAX));
        chains.map(|(key, _)| key.target).collect()
    }

    /// Returns a URL in the form in which its redirect chain requests it, with the chain's cookies.
    /// A URL without a chain is unchanged.
    pub(super) fn in_chain(&self, host_hash: u64, crawl: i32, mut turn: Turn) -> (Turn, Cookies) {
        let key = ChainKey { crawl, host_hash, target: turn.hash };
        let Some(chain) = self.state.chains.get(&key) else { return (turn, Cookies::default()) };
        chain.url.clone_into(&mut turn.url);
        turn.attributes.hops = chain.hops;
        (turn, chain.cookies.clone())
    }

    /// Ends the chain of a URL whose response is not a redirect on its host.
    pub(super) fn chain_answered(
        &mut self,
        host_hash: u64,
        crawl: i32,
        turn: &Turn,
        last: ChainedFetch,
    ) {
        let key = ChainKey { crawl, host_hash, target: turn.hash };
        let chain = self.state.chains.remove(&key);
        let Some(mut chain) = chain else { return self.record_chained(vec![last]) };
        let is_over_limit = last.fetched.turned_away.of(TurnedAway::Redirects) > 0;
        let outcome = (is_over_limit && chain.has_repeated).then_some(Outcome::RedirectLimit);
        chain.add(turn.hash, last);
        self.end(chain, outcome);
    }

    /// Extends the chain of a URL that redirects on its host, or starts one.
    pub(super) fn chain_redirected(
        &mut self,
        host_hash: u64,
        crawl: i32,
        turn: &Turn,
        last: ChainedFetch,
        (target, cookies): (&Link, Cookies),
    ) {
        let key = ChainKey { crawl, host_hash, target: turn.hash };
        let chain = self.state.chains.remove(&key);
        let mut chain = chain.unwrap_or_else(|| RedirectChain::begin(turn));
        chain.add(turn.hash, last);
        if !chain.follow(target, cookies) {
            return self.end(chain, Some(Outcome::RedirectLoop));
        }
        let next = ChainKey { target: target.url.hash(), ..key };
        let targets = self.targets_of(crawl, host_hash);
        if targets.contains(&next.target) || targets.len() >= MAX_CHAINS_PER_HOST {
            return self.end(chain, None);
        }
        if let Some(before) = chain.take(next.target) {
            self.request_again(before);
        }
        let waits = self.state_of(crawl, host_hash, |state| state.is_waiting(next.target));
        if waits != Some(true) {
            return self.end(chain, None);
        }
        // The URL did not kill its holder, so clear its mark, although it is not finished.
        if turn.attributes.flags.contains(LinkFlags::WRITTEN_DOWN) {
            self.state_of(crawl, host_hash, |state| state.cross_out(turn.hash));
            self.changed(crawl, host_hash);
        }
        self.state.chains.insert(next, chain);
    }

    /// Ends the chain that leads to a URL that is not requested now.
    pub(super) fn end_chain(&mut self, host_hash: u64, crawl: i32, target: UrlHash) {
        if let Some(chain) = self.state.chains.remove(&ChainKey { crawl, host_hash, target }) {
            self.end(chain, None);
        }
    }

    /// Ends the waiting chains of a crawl in a slot, because no page is left for their targets.
    pub(super) fn end_chains_of(&mut self, crawl: i32, slot: i16) {
        let is_one = |key: &ChainKey| {
            let host = self.state.hosts.get(&key.host_hash);
            key.crawl == crawl && host.is_none_or(|host| host.slot == slot)
        };
        let waiting = self.state.chains.keys().filter(|key| !self.is_under_way(key));
        let keys: Vec<ChainKey> = waiting.filter(|key| is_one(key)).copied().collect();
        for ChainKey { crawl, host_hash, target } in keys {
            self.end_chain(host_hash, crawl, target);
        }
    }

    /// Ends the waiting chains that timed out, or whose sites are suspended. Their URLs are
    /// requested again: without its target, a page behind a cookie wall would be a redirect.
    pub(super) fn end_late_chains(&mut self) {
        let is_aside = |key: &ChainKey| {
            let host = self.state.hosts.get(&key.host_hash);
            let site = host.and_then(|host| {
                let key = SiteKey { crawl: key.crawl, site_hash: host.site_hash };
                self.state.sites.get(&key)
            });
            site.is_none_or(|site| site.is_aside)
        };
        let waiting = self.state.chains.iter().filter(|(key, _)| !self.is_under_way(key));
        let late = waiting.filter(|(key, chain)| chain.is_late() || is_aside(key));
        let keys: Vec<ChainKey> = late.map(|(key, _)| *key).collect();
        for key in keys {
            let Some(chain) = self.state.chains.remove(&key) else { continue };
            match self.may_begin_again(key, &chain) {
                true => chain.end().into_iter().for_each(|fetch| self.request_again(fetch)),
                false => self.end(chain, None),
            }
        }
    }

    /// Counts a retry of a chain's first URL. Returns false if it has none left.
    fn may_begin_again(&mut self, key: ChainKey, chain: &RedirectChain<ChainedFetch>) -> bool {
        let ChainKey { crawl, host_hash, .. } = key;
        let Some(first) = chain.fetched().next() else { return false };
        let Some((settings, _)) = self.state.crawls.get(&crawl) else { return false };
        let retries = settings.retries;
        self.state_of(crawl, host_hash, |state| state.retry(first, 0, retries)) == Some(true)
    }

    /// Returns whether the request that a chain leads to is in flight.
    fn is_under_way(&self, key: &ChainKey) -> bool {
        let request = self.state.hosts.get(&key.host_hash).and_then(|host| host.request.as_ref());
        request.is_some_and(|request| {
            let is_it = |turn: &Turn| turn.hash == key.target;
            request.crawl.number == key.crawl && request.turn.as_ref().is_some_and(is_it)
        })
    }

    /// Records a chain's fetches, with `outcome` instead of their own if it is given.
    fn end(&mut self, chain: RedirectChain<ChainedFetch>, outcome: Option<Outcome>) {
        let mut fetches = chain.end();
        if let Some(outcome) = outcome {
            for ChainedFetch { fetched, .. } in &mut fetches {
                outcome.as_str().clone_into(&mut fetched.row.outcome);
                fetched.ending = ending_of(outcome, false);
            }
        }
        self.record_chained(fetches);
    }

    /// Records fetches together, once all their records are uploaded.
    fn record_chained(&mut self, fetches: Vec<ChainedFetch>) {
        let together = iter::repeat_n(RecordedTogether::new(), fetches.len());
        for (ChainedFetch { record, fetched }, together) in fetches.into_iter().zip(together) {
            match record {
                Some(record) => {
                    let fence = fetched.fence;
                    self.write(fence, record, AfterPut::Fetch(Box::new(fetched), together));
                }
                None => self.fetch_put(fetched, together, false),
            }
        }
    }

    /// Keeps a URL pending that is requested again. No row names the record of the earlier request.
    fn request_again(&mut self, ChainedFetch { record, fetched }: ChainedFetch) {
        self.forget_fetch(&fetched);
        self.changed(fetched.row.crawl, fetched.row.host_hash);
        if let Some(record) = record {
            self.write(fetched.fence, record, AfterPut::Nothing(fetched.fence));
        }
    }
}
