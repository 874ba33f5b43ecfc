//! What limits the crawls of an owner beside their settings: rates, least delays, and stricter
//! rules for robots.
//!
//! Invariant: with an override less is allowed, or as much, and no delay is shorter. Must not know:
//! slots, which host is next, who sets this.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{OpenCrawl, RobotsOverrideRow};
use everytab_webpage::RobotsTxt;

use crate::origins::{HostOrigins, seconds};

/// How much of a rate may be made up for when its time has passed unused: timers are a few
/// milliseconds late, and a rate of hundreds a second would lose as many requests.
const CATCH_UP: Duration = Duration::from_millis(50);
/// The longest time between two requests of a rate: a day, at which a rate is one request a day.
const MAX_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);
/// The name that extra rules are matched with: their group is that of every robot.
const EVERY_ROBOT: &str = "*";

/// What limits a crawl, or all crawls of an owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Limits {
    /// Time between two requests of this worker.
    interval: Option<Duration>,
    /// Least delay of a host.
    least_delay: Duration,
}

impl Limits {
    fn new(rate: Option<f64>, holders: i32, delay_ms: Option<i32>) -> Self {
        let interval = rate.map(|rate| {
            let seconds = f64::from(holders.max(1)) / rate;
            Duration::try_from_secs_f64(seconds).unwrap_or(MAX_INTERVAL).min(MAX_INTERVAL)
        });
        let delay_ms = delay_ms.unwrap_or_default().max(0).unsigned_abs();
        Self { interval, least_delay: Duration::from_millis(delay_ms.into()) }
    }
}

/// What limits the open crawls and their owners.
#[derive(Debug, Default)]
pub(crate) struct Tenants {
    owners: HashMap<Arc<str>, Tenant>,
    crawls: HashMap<i32, Limits>,
}

#[derive(Debug, Default)]
struct Tenant {
    limits: Limits,
    overrides: Vec<RobotsOverride>,
}

impl Tenants {
    /// Reads what was listed.
    pub(crate) fn new(crawls: &[OpenCrawl], overrides: &[RobotsOverrideRow]) -> Self {
        let mut tenants = Self::default();
        for open in crawls {
            let limits = Limits::new(open.rate, open.holders, open.min_delay_ms);
            tenants.crawls.insert(open.crawl, limits);
            let owner = tenants.owners.entry(open.owner.as_str().into()).or_default();
            owner.limits =
                Limits::new(open.owner_rate, open.owner_holders, open.owner_min_delay_ms);
        }
        for row in overrides {
            if let Some(owner) = tenants.owners.get_mut(row.owner.as_str()) {
                owner.overrides.push(RobotsOverride::new(row));
            }
        }
        tenants
    }

    /// The least delay of a host that a crawl or its owner asks for.
    pub(crate) fn least_delay(&self, owner: &str, crawl: i32) -> Duration {
        let own = self.crawls.get(&crawl).map(|limits| limits.least_delay);
        own.unwrap_or_default().max(self.owners_delay(owner))
    }

    /// The least delay of a host that an owner asks for, between any two requests for it.
    pub(crate) fn owners_delay(&self, owner: &str) -> Duration {
        self.owners.get(owner).map(|tenant| tenant.limits.least_delay).unwrap_or_default()
    }

    /// The overrides of an owner that are for a host, in lower case.
    pub(crate) fn overrides<'a>(
        &'a self,
        owner: &str,
        host: &'a str,
    ) -> impl Iterator<Item = &'a RobotsOverride> + use<'a> {
        let overrides = self.owners.get(owner).map(|tenant| tenant.overrides.as_slice());
        overrides.unwrap_or_default().iter().filter(move |one| one.is_for(host))
    }
}

/// What an owner obeys beside the robots.txt of a site.
#[derive(Debug)]
pub(crate) struct RobotsOverride {
    /// The domain that it is for, with all hosts below; none: every host.
    site: Option<String>,
    /// Another robot whose rules are obeyed too.
    token: Option<String>,
    /// Rules that no site has.
    rules: Option<RobotsTxt>,
    /// Least delay.
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

    /// The robot that a site's robots.txt must allow a path as well.
    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Whether its own rules leave a path allowed.
    pub(crate) fn allows(&self, path: &str) -> bool {
        self.rules.as_ref().is_none_or(|rules| rules.allowed(EVERY_ROBOT, path))
    }

    /// The least delay of a host; its robots.txt says what it asks of the other robot.
    pub(crate) fn delay(&self, origins: &HostOrigins) -> Duration {
        let by_token = self.token.as_ref().and_then(|token| origins.crawl_delay(token));
        let by_rules = self.rules.as_ref().and_then(|rules| rules.crawl_delay(EVERY_ROBOT));
        let by_rules = by_rules.map(seconds);
        let delay = self.delay.max(by_token.unwrap_or_default());
        delay.max(by_rules.unwrap_or_default()).min(everytab_fetcher::CRAWL_DELAY_MAX)
    }
}

/// A rate that is kept.
#[derive(Debug, Clone, Copy)]
struct Gate {
    interval: Duration,
    open_at: Instant,
}

/// When crawls and owners with a rate may ask again.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    owners: HashMap<Arc<str>, Gate>,
    crawls: HashMap<i32, Gate>,
}

impl Gates {
    /// Takes up rates. What is open or closed stays so, for no longer than the new rate says.
    pub(crate) fn set(&mut self, tenants: &Tenants, now: Instant) {
        let gate = |interval: Duration, before: Option<&Gate>| {
            let open_at = before.map_or(now, |gate| gate.open_at.min(now + interval));
            Gate { interval, open_at }
        };
        let owners = tenants.owners.iter().filter_map(|(owner, tenant)| {
            let interval = tenant.limits.interval?;
            Some((Arc::clone(owner), gate(interval, self.owners.get(owner))))
        });
        let owners = owners.collect();
        let crawls = tenants.crawls.iter().filter_map(|(crawl, limits)| {
            Some((*crawl, gate(limits.interval?, self.crawls.get(crawl))))
        });
        self.crawls = crawls.collect();
        self.owners = owners;
    }

    /// When a crawl of an owner may ask again; none if neither has a rate.
    pub(crate) fn open_at(&self, owner: &str, crawl: i32) -> Option<Instant> {
        let owner = self.owners.get(owner).map(|gate| gate.open_at);
        owner.max(self.crawls.get(&crawl).map(|gate| gate.open_at))
    }

    /// A crawl of an owner asks now.
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
