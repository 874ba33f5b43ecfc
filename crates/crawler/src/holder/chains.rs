//! Follows redirects on their host, with the cookies that the host sets along the way.
//!
//! The target of a redirect is the crawl's next request to the host, once it may be requested. A
//! chain that ends without its target (because it is already fetched or out of scope, or the page
//! limit is reached) is recorded as redirects. One that waits for too long begins again, as long as
//! its first URL may be retried. Each URL of a loop is recorded as a redirect loop.

use std::{
    iter,
    time::{Duration, Instant},
};

use chrono::Utc;
use everytab_fetcher::{Cookies, Outcome};
use everytab_frontier::{Link, LinkFlags, Turn, TurnedAway, UrlHash};

use crate::{
    holder::state::{AfterPut, ChainedFetch, Holder},
    known::unix_s,
    redirect_chain::{ChainKey, RecordedTogether, RedirectChain},
    rows::ending_of,
};

/// Maximum chains per host and crawl. A host has several only while their targets are retried. The
/// next one begins again after a pause.
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
        if targets.contains(&next.target) {
            return self.end(chain, None);
        }
        if targets.len() >= MAX_CHAINS_PER_HOST {
            return self.begin_again(next, chain, self.retry_pause(turn.retries));
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

    /// Begins the chains again whose fetches waited for too long, or whose suspended sites cannot
    /// finish them soon.
    pub(super) fn end_late_chains(&mut self) {
        let is_full = self.is_full();
        let waiting = self.state.chains.iter().filter(|(key, _)| !self.is_under_way(key));
        let waiting = waiting.filter(|(_, chain)| chain.fetched().next().is_some());
        let late = waiting.filter(|(key, chain)| {
            let site = self.site_in(key.crawl, key.host_hash);
            let is_aside = site.is_none_or(|site| site.is_aside);
            let is_late = chain.is_late();
            (is_late || is_aside) && (!self.is_due(key) || is_aside && (is_full || is_late))
        });
        let keys: Vec<ChainKey> = late.map(|(key, _)| *key).collect();
        for key in keys {
            if let Some(chain) = self.state.chains.remove(&key) {
                self.begin_again(key, chain, Duration::ZERO);
            }
        }
    }

    /// Requests a chain's URLs again after a pause, because without its target, a page behind a
    /// cookie wall would be a redirect. This counts as a retry of the first URL; if it has none
    /// left, the chain is recorded as redirects.
    fn begin_again(&mut self, key: ChainKey, chain: RedirectChain<ChainedFetch>, pause: Duration) {
        let ChainKey { crawl, host_hash, .. } = key;
        let (first, settings) = (chain.fetched().next(), self.state.crawls.get(&crawl));
        let (Some(first), Some((settings, _))) = (first, settings) else {
            return self.end(chain, None);
        };
        let (at_s, retries) = (unix_s(Utc::now() + pause), settings.retries);
        if self.state_of(crawl, host_hash, |state| state.retry(first, at_s, retries)) != Some(true)
        {
            return self.end(chain, None);
        }
        for fetch in chain.end() {
            self.request_again(fetch);
        }
        self.queue(host_hash, Instant::now());
    }

    /// Returns whether the request that a chain leads to is in flight.
    fn is_under_way(&self, key: &ChainKey) -> bool {
        let state = self.known_in(key.crawl, key.host_hash);
        state.is_some_and(|state| state.is_asked(key.target))
    }

    /// Returns whether a chain of a host leads to a URL that only waits for the host's next turn.
    pub(super) fn has_due_chain(&self, crawl: i32, host_hash: u64) -> bool {
        let targets = self.targets_of(crawl, host_hash).into_iter();
        let mut keys = targets.map(|target| ChainKey { crawl, host_hash, target });
        keys.any(|key| self.is_due(&key))
    }

    /// Returns whether the URL that a chain leads to only waits for its host's next turn.
    fn is_due(&self, key: &ChainKey) -> bool {
        let state = self.known_in(key.crawl, key.host_hash);
        let host = self.state.hosts.get(&key.host_hash);
        let crawl = self.state.crawls.get(&key.crawl);
        // A paused crawl may stay paused for days.
        let (Some(state), Some(host), Some((crawl, true))) = (state, host, crawl) else {
            return false;
        };
        let now = Utc::now();
        let until = |origin| host.origins.paused_for(origin, self.patience_of(crawl));
        let is_paused = state.origin_of(key.target).and_then(until).is_some_and(|at| at > now);
        !is_paused && state.is_due(key.target, unix_s(now))
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

    /// Records fetches together, once all their records are uploaded, as soon as the most urgent.
    fn record_chained(&mut self, mut fetches: Vec<ChainedFetch>) {
        let is_urgent = fetches.iter().any(|fetch| fetch.fetched.is_urgent);
        for record in fetches.iter_mut().filter_map(|fetch| fetch.record.as_mut()) {
            record.is_urgent |= is_urgent;
        }
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
