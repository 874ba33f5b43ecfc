//! Limits for owners and their crawls in addition to the crawls' settings: rates, minimum delays,
//! and stricter robots rules.
//!
//! Invariant: an override never allows more paths and never shortens a delay.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{OpenCrawl, RobotsOverrideRow};
use everytab_webpage::RobotsTxt;

use crate::origins::{HostOrigins, seconds};

/// After a late request, the next ones may make up for the delay, by at most this much. Otherwise a
/// rate of hundreds of requests per second would not be reached, because timers are a few
/// milliseconds late.
const CATCH_UP: Duration = Duration::from_millis(50);
/// Maximum interval between a worker's requests that a rate can cause.
const MAX_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);
/// The robot name for matching additional rules, which are in the group for every robot.
const EVERY_ROBOT: &str = "*";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Limits {
    interval: Option<Duration>,
    min_delay: Duration,
}

impl Limits {
    fn new(rate: Option<f64>, holders: i32, delay_ms: Option<i32>) -> Self {
        let interval = rate.map(|rate| {
            let seconds = f64::from(holders.max(1)) / rate;
            Duration::try_from_secs_f64(seconds).unwrap_or(MAX_INTERVAL).min(MAX_INTERVAL)
        });
        let delay_ms = delay_ms.unwrap_or_default().max(0).unsigned_abs();
        Self { interval, min_delay: Duration::from_millis(delay_ms.into()) }
    }
}

#[derive(Debug, Default)]
pub(crate) struct OwnerLimits {
    owners: HashMap<Arc<str>, Owner>,
    crawls: HashMap<i32, Limits>,
}

#[derive(Debug, Default)]
struct Owner {
    limits: Limits,
    overrides: Vec<RobotsOverride>,
}

impl OwnerLimits {
    pub(crate) fn new(crawls: &[OpenCrawl], overrides: &[RobotsOverrideRow]) -> Self {
        let mut owner_limits = Self::default();
        for open in crawls {
            let limits = Limits::new(open.rate, open.holders, open.min_delay_ms);
            owner_limits.crawls.insert(open.crawl, limits);
            let owner = owner_limits.owners.entry(open.owner.as_str().into()).or_default();
            owner.limits =
                Limits::new(open.owner_rate, open.owner_holders, open.owner_min_delay_ms);
        }
        for row in overrides {
            if let Some(owner) = owner_limits.owners.get_mut(row.owner.as_str()) {
                owner.overrides.push(RobotsOverride::new(row));
            }
        }
        owner_limits
    }

    pub(crate) fn min_delay(&self, owner: &str, crawl: i32) -> Duration {
        let own = self.crawls.get(&crawl).map(|limits| limits.min_delay);
        own.unwrap_or_default().max(self.owners_delay(owner))
    }

    /// Returns the minimum delay per host between any two requests for an owner.
    pub(crate) fn owners_delay(&self, owner: &str) -> Duration {
        self.owners.get(owner).map(|owner| owner.limits.min_delay).unwrap_or_default()
    }

    /// Yields an owner's overrides for a hostname in lower case.
    pub(crate) fn overrides<'a>(
        &'a self,
        owner: &str,
        host: &'a str,
    ) -> impl Iterator<Item = &'a RobotsOverride> + use<'a> {
        let overrides = self.owners.get(owner).map(|owner| owner.overrides.as_slice());
        overrides.unwrap_or_default().iter().filter(move |one| one.is_for(host))
    }
}

#[derive(Debug)]
pub(crate) struct RobotsOverride {
    /// The domain to which the override applies, with all hosts below it. `None` means every host.
    site: Option<String>,
    token: Option<String>,
    rules: Option<RobotsTxt>,
    delay: Duration,
}

impl RobotsOverride {
    fn new(row: &RobotsOverrideRow) -> Self {
        let rules = row.rules.as_ref().map(|rules| {
            RobotsTxt::parse(format!("User-agent: {EVERY_ROBOT}\n{rules}").as_bytes())
        });
        let delay_ms = row.delay_ms.unwrap_or_default().max(0).unsigned_abs();
        Self {
            site: row.site.clone(),
            token: row.user_agent.clone(),
            rules,
            delay: Duration::from_millis(delay_ms.into()),
        }
    }

    fn is_for(&self, host: &str) -> bool {
        let Some(site) = &self.site else { return true };
        let above = host.strip_suffix(site.as_str());
        above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    pub(crate) fn allows(&self, path: &str) -> bool {
        self.rules.as_ref().is_none_or(|rules| rules.allowed(EVERY_ROBOT, path))
    }

    /// Returns a host's minimum delay, including its `Crawl-delay` for the robot in `token`.
    pub(crate) fn delay(&self, origins: &HostOrigins) -> Duration {
        let by_token = self.token.as_ref().and_then(|token| origins.crawl_delay(token));
        let by_rules = self.rules.as_ref().and_then(|rules| rules.crawl_delay(EVERY_ROBOT));
        let by_rules = by_rules.map(seconds);
        let delay = self.delay.max(by_token.unwrap_or_default());
        delay.max(by_rules.unwrap_or_default()).min(everytab_fetcher::CRAWL_DELAY_MAX)
    }
}

#[derive(Debug, Clone, Copy)]
struct Gate {
    interval: Duration,
    open_at: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct RateGates {
    owners: HashMap<Arc<str>, Gate>,
    crawls: HashMap<i32, Gate>,
}

impl RateGates {
    /// Applies new rates. A gate keeps its opening time, but opens no later than one new interval
    /// from now.
    pub(crate) fn set(&mut self, owner_limits: &OwnerLimits, now: Instant) {
        let gate = |interval: Duration, before: Option<&Gate>| {
            let open_at = before.map_or(now, |gate| gate.open_at.min(now + interval));
            Gate { interval, open_at }
        };
        let owners = owner_limits.owners.iter().filter_map(|(name, owner)| {
            let interval = owner.limits.interval?;
            Some((Arc::clone(name), gate(interval, self.owners.get(name))))
        });
        let owners = owners.collect();
        let crawls = owner_limits.crawls.iter().filter_map(|(crawl, limits)| {
            Some((*crawl, gate(limits.interval?, self.crawls.get(crawl))))
        });
        self.crawls = crawls.collect();
        self.owners = owners;
    }

    /// `None` if neither the owner nor the crawl has a rate.
    pub(crate) fn open_at(&self, owner: &str, crawl: i32) -> Option<Instant> {
        let owner = self.owners.get(owner).map(|gate| gate.open_at);
        owner.max(self.crawls.get(&crawl).map(|gate| gate.open_at))
    }

    pub(crate) fn took(&mut self, owner: &str, crawl: i32, now: Instant) {
        let gates = [self.owners.get_mut(owner), self.crawls.get_mut(&crawl)];
        for gate in gates.into_iter().flatten() {
            let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
            gate.open_at = gate.open_at.max(earliest) + gate.interval;
        }
    }
}

#[cfg(test)]
mod tests;
