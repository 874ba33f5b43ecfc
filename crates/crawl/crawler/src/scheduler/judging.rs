//! Applies changed includes and excludes of a running crawl to its pending URLs.
//!
//! URLs on loaded hosts are checked in batches when the change is listed, and others when their
//! hosts are loaded. A URL that no longer matches is left as `excluded` or `not_included`.
//! Invariant: no URL is requested that the newest patterns known to this worker exclude, because
//! each URL is checked again before its fetch.

use std::{collections::HashMap, sync::Arc, time::Instant};

use everytab_frontier::{CanonicalUrl, FinalState, LinkFlags, UrlHash};

use crate::{
    crawl::{ChangedRules, Crawl},
    scheduler::{
        slices::end_of_slice,
        state::{Judging, Scheduler},
    },
};

/// Maximum fetches per slot that may wait for a checkpoint before the check pauses.
const MAX_UNRECORDED: usize = 5_000;

impl Scheduler {
    pub(super) fn patterns_versions(&self) -> HashMap<i32, i32> {
        let crawls = self.state.crawls.iter();
        crawls.map(|(number, (crawl, _))| (*number, crawl.patterns_version())).collect()
    }

    pub(super) fn change_rules(&mut self, changed: Vec<ChangedRules>, before: &HashMap<i32, i32>) {
        for changed in changed {
            if let Some((crawl, _)) = self.state.crawls.get(&changed.crawl) {
                crawl.change_rules(changed);
            }
        }
        let mut changed = self.patterns_versions();
        changed.retain(|number, version| before.get(number).is_some_and(|old| old != version));
        for (number, version) in changed {
            tracing::info!(crawl = number, version, "the includes and excludes have changed");
            self.forget_judging(number);
            let sites = self.state.sites.iter().filter(|(key, _)| key.crawl == number);
            let hosts = sites.flat_map(|(_, site)| site.hosts.keys().copied()).collect();
            self.judge_hosts(number, hosts);
        }
    }

    /// Queues the hosts' pending URLs for a check, unless the crawl's patterns have never changed.
    pub(super) fn judge_hosts(&mut self, crawl: i32, hosts: Vec<u64>) {
        let found = self.state.crawls.get(&crawl);
        let is_changed = found.is_some_and(|(crawl, _)| crawl.patterns_version() > 1);
        if is_changed && !self.state.is_stopping {
            self.state.judging.hosts.extend(hosts.into_iter().map(|host| (crawl, host)));
        }
    }

    pub(super) fn forget_judging(&mut self, crawl: i32) {
        let Judging { hosts, current, .. } = &mut self.state.judging;
        hosts.retain(|(of, _)| *of != crawl);
        current.take_if(|((of, _), _)| *of == crawl);
    }

    pub(super) fn may_judge(&self) -> bool {
        let Judging { hosts, current, is_held } = &self.state.judging;
        !is_held && (current.is_some() || !hosts.is_empty())
    }

    pub(super) fn judge_more(&mut self) {
        self.state.judging.is_held = false;
        let until = end_of_slice();
        while Instant::now() < until {
            let Some(((crawl, host_hash), hash)) = self.next_to_judge() else { return };
            if self.has_much_unrecorded(crawl, host_hash) {
                self.state.judging.is_held = true;
                return;
            }
            if let Some((_, hashes)) = &mut self.state.judging.current {
                hashes.pop();
            }
            self.judge(crawl, host_hash, hash);
        }
    }

    /// Returns the next URL to check. It remains in the queue.
    fn next_to_judge(&mut self) -> Option<((i32, u64), UrlHash)> {
        loop {
            if let Some((of, hashes)) = &self.state.judging.current
                && let Some(hash) = hashes.last()
            {
                return Some((*of, *hash));
            }
            self.state.judging.current = None;
            let (crawl, host_hash) = self.state.judging.hosts.pop_front()?;
            // A host that left memory is checked when it is loaded again.
            let hashes = self.state_of(crawl, host_hash, |state| state.waiting_hashes());
            self.state.judging.current = hashes.map(|hashes| ((crawl, host_hash), hashes));
        }
    }

    /// If this is true, the function also requests a checkpoint or an upload.
    fn has_much_unrecorded(&mut self, crawl: i32, host_hash: u64) -> bool {
        let Some(host) = self.state.hosts.get(&host_hash) else { return false };
        let slot = host.slot;
        if self.has_many_awaiting_robots(host_hash, crawl) {
            self.upload_robots(crawl, slot);
            return true;
        }
        let Some(slot) = self.state.slots.get_mut(&slot) else { return false };
        let is_much = slot.unrecorded() >= MAX_UNRECORDED;
        slot.wants_checkpoint |= is_much;
        is_much
    }

    /// If the slot is being released, the next holder checks the URL.
    fn judge(&mut self, crawl: i32, host_hash: u64, hash: UrlHash) {
        let slot = self.state.hosts.get(&host_hash).map(|host| host.slot);
        let slot = slot.and_then(|slot| self.state.slots.get(&slot));
        if slot.is_none_or(|slot| slot.is_leaving) {
            return;
        }
        let Some((context, _)) = self.state.crawls.get(&crawl) else { return };
        let context = Arc::clone(context);
        let pending = self.state_of(crawl, host_hash, |state| state.waiting(hash)).flatten();
        let reason = pending.as_ref().and_then(|pending| {
            self.pattern_refusal(&context, &pending.url, pending.attributes.flags)
        });
        let Some(reason) = reason else { return };
        let taken = self.state_of(crawl, host_hash, |state| state.take_waiting(hash)).flatten();
        if let Some(pending) = taken {
            self.record_without_request(host_hash, &context, &pending, (FinalState::Left, reason));
        }
    }

    /// `None` if the patterns allow the URL or have never changed.
    pub(super) fn pattern_refusal(
        &self,
        crawl: &Crawl,
        url: &str,
        flags: LinkFlags,
    ) -> Option<&'static str> {
        if crawl.patterns_version() <= 1 {
            return None;
        }
        let url = CanonicalUrl::parse(url, &self.context.parameters).ok()?;
        let rules = crawl.rules();
        let matches = rules.patterns.matches(&url);
        rules.pattern_refusal(&matches, flags).map(|reason| reason.as_str())
    }
}
