//! Applies crawl owners' limits: minimum delays, rates, robots overrides, and the order of crawls
//! on a host.
//!
//! Invariant: an owner's settings delay only this owner's requests.

use std::time::{Duration, Instant};

use everytab_fetcher::DelaySettings;
use everytab_webpage::RobotsTxt;

use crate::{crawl::Crawl, host::Host, owner_limits::RobotsOverride, scheduler::state::Scheduler};

impl Scheduler {
    pub(super) fn delays_of(&self, host: &Host, crawl: &Crawl) -> DelaySettings {
        let mut settings = crawl.delays(host.is_own);
        let owner_limits = &self.state.owner_limits;
        settings.delay = settings.delay.max(owner_limits.min_delay(&crawl.owner, crawl.number));
        for one in owner_limits.overrides(&crawl.owner, &host.name) {
            settings.delay = settings.delay.max(one.delay(&host.origins));
        }
        settings
    }

    /// Returns when the next request to a host may be sent for a crawl. The fetcher's delay is not
    /// enough, because between the requests of two crawls it applies the shorter delay.
    pub(super) fn spaced_until(
        &self,
        host: &Host,
        crawl: &Crawl,
        delay: Duration,
    ) -> Option<Instant> {
        let owner_limits = &self.state.owner_limits;
        let owners_delay = owner_limits.owners_delay(&crawl.owner);
        let ended = host.last_request_at.iter().filter_map(|(number, ended_at)| {
            if *number == crawl.number {
                return Some(*ended_at + delay);
            }
            let (other, _) = self.state.crawls.get(number)?;
            (other.owner == crawl.owner).then_some(*ended_at + owners_delay)
        });
        ended.max()
    }

    pub(super) fn gated_until(&self, crawl: &Crawl) -> Option<Instant> {
        let open_at = self.state.gates.open_at(&crawl.owner, crawl.number);
        open_at.filter(|at| *at > Instant::now())
    }

    /// Moves a crawl behind all others on its host. Other owners' crawls come first, then the other
    /// crawls of its owner.
    pub(super) fn rotate_crawls(&mut self, host_hash: u64, crawl: &Crawl) {
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        if host.crawls.len() < 2 {
            return;
        }
        let crawls = &self.state.crawls;
        let is_owners =
            |number: &i32| crawls.get(number).is_some_and(|(other, _)| other.owner == crawl.owner);
        let (own, others): (Vec<i32>, Vec<i32>) =
            host.crawls.iter().copied().filter(|of| *of != crawl.number).partition(is_owners);
        host.crawls = others.into_iter().chain(own).chain([crawl.number]).collect();
    }

    pub(super) fn robots_allow(
        &self,
        rules: &RobotsTxt,
        crawl: &Crawl,
        (host_hash, path): (u64, &str),
    ) -> bool {
        let Some(host) = self.state.hosts.get(&host_hash) else { return false };
        let overrides = || self.state.owner_limits.overrides(&crawl.owner, &host.name);
        let mut robots = vec![self.context.fetcher.robot().product()];
        robots.extend(overrides().filter_map(RobotsOverride::token));
        rules.allowed_for_all(&robots, path) && overrides().all(|one| one.allows(path))
    }
}
