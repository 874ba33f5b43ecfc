//! Follows redirects within a host, with the cookies that the host sets along the way.
//!
//! A redirect's target is the crawl's next request to the host. If the target cannot be requested,
//! the chain's URLs are recorded as redirects. If a chain waits for too long, it starts again while
//! its first URL has retries left. Each URL in a loop is recorded as a redirect loop.

use std::{
    iter,
    time::{Duration, Instant},
};

use chrono::Utc;
use everytab_fetcher::{Cookies, Outcome};
use everytab_frontier::{Link, LinkFlags, PendingUrl, RejectReason, UrlHash};

use crate::{
    fetch_rows::final_state_of,
    host::unix_s,
    redirect_chain::{ChainKey, RecordedTogether, RedirectChain},
    scheduler::state::{ChainedFetch, OnUploaded, Scheduler},
};

/// Maximum chains per host and crawl. A further chain starts again after a pause.
const MAX_CHAINS_PER_HOST: usize = 16;

impl Scheduler {
    pub(super) fn targets_of(&self, crawl: i32, host_hash: u64) -> Vec<UrlHash> {
        let key = |target| ChainKey { crawl, host_hash, target: UrlHash(target) };
        let chains = self.state.chains.range(key(0)..=key(u64::MAX));
        chains.map(|(key, _)| key.target).collect()
    }

    /// Returns a URL as its redirect chain spells it, with the chain's cookies.
    pub(super) fn in_chain(
        &self,
        host_hash: u64,
        crawl: i32,
        mut pending: PendingUrl,
    ) -> (PendingUrl, Cookies) {
        let key = ChainKey { crawl, host_hash, target: pending.hash };
        let Some(chain) = self.state.chains.get(&key) else { return (pending, Cookies::default()) };
        chain.url.clone_into(&mut pending.url);
        pending.attributes.hops = chain.hops;
        (pending, chain.cookies.clone())
    }

    /// Ends a URL's chain, because its response is not a redirect on its host.
    pub(super) fn chain_finished(
        &mut self,
        host_hash: u64,
        crawl: i32,
        pending: &PendingUrl,
        last: ChainedFetch,
    ) {
        let key = ChainKey { crawl, host_hash, target: pending.hash };
        let chain = self.state.chains.remove(&key);
        let Some(mut chain) = chain else { return self.record_chained(vec![last]) };
        let is_over_limit = last.unrecorded.rejected.of(RejectReason::Redirects) > 0;
        let outcome = (is_over_limit && chain.has_repeated).then_some(Outcome::RedirectLimit);
        chain.add(pending.hash, last);
        self.end(chain, outcome);
    }

    pub(super) fn chain_redirected(
        &mut self,
        host_hash: u64,
        crawl: i32,
        pending: &PendingUrl,
        last: ChainedFetch,
        (target, cookies): (&Link, Cookies),
    ) {
        let key = ChainKey { crawl, host_hash, target: pending.hash };
        let chain = self.state.chains.remove(&key);
        let mut chain = chain.unwrap_or_else(|| RedirectChain::begin(pending));
        chain.add(pending.hash, last);
        if !chain.follow(target, cookies) {
            return self.end(chain, Some(Outcome::RedirectLoop));
        }
        let next = ChainKey { target: target.url.hash(), ..key };
        let targets = self.targets_of(crawl, host_hash);
        if targets.contains(&next.target) {
            return self.end(chain, None);
        }
        if targets.len() >= MAX_CHAINS_PER_HOST {
            return self.restart(next, chain, self.retry_pause(pending.retries));
        }
        if let Some(before) = chain.take(next.target) {
            self.request_again(before);
        }
        let waits = self.state_of(crawl, host_hash, |state| state.is_waiting(next.target));
        if waits != Some(true) {
            return self.end(chain, None);
        }
        // The URL did not kill its holder, so clear the mark, although the URL is not finished.
        if pending.attributes.flags.contains(LinkFlags::IN_PROGRESS) {
            self.state_of(crawl, host_hash, |state| state.clear_in_progress(pending.hash));
            self.changed(crawl, host_hash);
        }
        self.state.chains.insert(next, chain);
    }

    /// Call this if the chain's target will not be requested.
    pub(super) fn end_chain(&mut self, host_hash: u64, crawl: i32, target: UrlHash) {
        if let Some(chain) = self.state.chains.remove(&ChainKey { crawl, host_hash, target }) {
            self.end(chain, None);
        }
    }

    /// Call this if no page is left for the chains' targets.
    pub(super) fn end_chains_of(&mut self, crawl: i32, slot: i16) {
        let is_one = |key: &ChainKey| {
            let host = self.state.hosts.get(&key.host_hash);
            key.crawl == crawl && host.is_none_or(|host| host.slot == slot)
        };
        let waiting = self.state.chains.keys().filter(|key| !self.is_in_flight(key));
        let keys: Vec<ChainKey> = waiting.filter(|key| is_one(key)).copied().collect();
        for ChainKey { crawl, host_hash, target } in keys {
            self.end_chain(host_hash, crawl, target);
        }
    }

    /// Restarts chains that have waited for too long, or that suspended sites cannot finish soon.
    pub(super) fn restart_stale_chains(&mut self) {
        let is_full = self.is_full();
        let waiting = self.state.chains.iter().filter(|(key, _)| !self.is_in_flight(key));
        let waiting = waiting.filter(|(_, chain)| chain.fetched_urls().next().is_some());
        let stale = waiting.filter(|(key, chain)| {
            let site = self.site_in(key.crawl, key.host_hash);
            let is_suspended = site.is_none_or(|site| site.is_suspended);
            let is_stale = chain.is_stale();
            (is_stale || is_suspended)
                && (!self.is_due(key) || is_suspended && (is_full || is_stale))
        });
        let keys: Vec<ChainKey> = stale.map(|(key, _)| *key).collect();
        for key in keys {
            if let Some(chain) = self.state.chains.remove(&key) {
                self.restart(key, chain, Duration::ZERO);
            }
        }
    }

    /// Requests a chain's URLs again after a pause, because otherwise a page behind a cookie wall
    /// would be recorded as a redirect. This costs the first URL a retry.
    fn restart(&mut self, key: ChainKey, chain: RedirectChain<ChainedFetch>, pause: Duration) {
        let ChainKey { crawl, host_hash, .. } = key;
        let first = chain.fetched_urls().next();
        let settings = self.state.crawls.get(&crawl);
        let (Some(first), Some((settings, _))) = (first, settings) else {
            return self.end(chain, None);
        };
        let at_s = unix_s(Utc::now() + pause);
        let retries = settings.retries;
        if self.state_of(crawl, host_hash, |state| state.retry(first, at_s, retries)) != Some(true)
        {
            return self.end(chain, None);
        }
        for fetch in chain.end() {
            self.request_again(fetch);
        }
        self.schedule_host(host_hash, Instant::now());
    }

    fn is_in_flight(&self, key: &ChainKey) -> bool {
        let state = self.known_in(key.crawl, key.host_hash);
        state.is_some_and(|state| state.is_in_flight(key.target))
    }

    pub(super) fn has_due_chain(&self, crawl: i32, host_hash: u64) -> bool {
        let targets = self.targets_of(crawl, host_hash).into_iter();
        let mut keys = targets.map(|target| ChainKey { crawl, host_hash, target });
        keys.any(|key| self.is_due(&key))
    }

    fn is_due(&self, key: &ChainKey) -> bool {
        let state = self.known_in(key.crawl, key.host_hash);
        let host = self.state.hosts.get(&key.host_hash);
        let crawl = self.state.crawls.get(&key.crawl);
        // A paused crawl may stay paused for days, so its chains are not due.
        let (Some(state), Some(host), Some((crawl, true))) = (state, host, crawl) else {
            return false;
        };
        let now = Utc::now();
        let until = |origin| host.origins.paused_for(origin, self.patience_of(crawl));
        let is_paused = state.origin_of(key.target).and_then(until).is_some_and(|at| at > now);
        !is_paused && state.is_due(key.target, unix_s(now))
    }

    /// `outcome` replaces the fetches' own outcomes.
    fn end(&mut self, chain: RedirectChain<ChainedFetch>, outcome: Option<Outcome>) {
        let mut fetches = chain.end();
        if let Some(outcome) = outcome {
            for ChainedFetch { unrecorded, .. } in &mut fetches {
                outcome.as_str().clone_into(&mut unrecorded.row.outcome);
                unrecorded.final_state = final_state_of(outcome, false);
            }
        }
        self.record_chained(fetches);
    }

    /// Records fetches together once all their records are uploaded. If one of them is urgent, all
    /// are.
    fn record_chained(&mut self, mut fetches: Vec<ChainedFetch>) {
        let is_urgent = fetches.iter().any(|fetch| fetch.unrecorded.is_urgent);
        for record in fetches.iter_mut().filter_map(|fetch| fetch.record.as_mut()) {
            record.is_urgent |= is_urgent;
        }
        let together = iter::repeat_n(RecordedTogether::new(), fetches.len());
        for (ChainedFetch { record, unrecorded }, together) in fetches.into_iter().zip(together) {
            match record {
                Some(record) => {
                    let fence = unrecorded.fence;
                    self.write(fence, record, OnUploaded::Fetch(Box::new(unrecorded), together));
                }
                None => self.fetch_uploaded(unrecorded, together, false),
            }
        }
    }

    /// Requests the fetch's URL again. No row will refer to the record of the first request.
    fn request_again(&mut self, ChainedFetch { record, unrecorded }: ChainedFetch) {
        self.forget_fetch(&unrecorded);
        self.changed(unrecorded.row.crawl, unrecorded.row.host_hash);
        if let Some(record) = record {
            self.write(unrecorded.fence, record, OnUploaded::Nothing(unrecorded.fence));
        }
    }
}
