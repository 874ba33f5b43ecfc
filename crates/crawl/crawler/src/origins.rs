//! A host's origins, with their robots.txt and pauses.
//!
//! An origin is paused when its robots.txt cannot be fetched (RFC 9309 2.3.1.4), when the whole
//! origin fails, or when it sends a `Retry-After`. A paused origin gets no requests, but its host's
//! other origins do.

use std::{collections::HashMap, sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use everytab_fetcher::{Outcome, RobotsEffect};
use everytab_frontier::Origin;
use everytab_webpage::{CrawlDelay, RobotsTxt};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::origin_health::{Blame, OriginHealth, PageFailure, Pause};

/// How long a robots.txt is valid. RFC 9309 2.4 allows at most a day.
const HOLDS: TimeDelta = TimeDelta::hours(24);
/// Maximum remembered origins per host. A host usually has one or two.
const MAX_ORIGINS: usize = 64;

pub(crate) enum Permission {
    FetchRobots,
    Wait,
    Rules(Arc<RobotsTxt>),
    /// Only a request for this page, to test whether the whole origin fails.
    Probe(String),
    /// Nothing. The origin's URLs get this result.
    GivenUp(GivenUp),
    Ends(Outcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// The origin's URLs fail with this outcome, because its name could not be resolved.
    Unresolved(Outcome),
    RobotsUnreachable,
    /// It keeps failing, and so do all other origins of its host.
    HostDead,
    /// It keeps failing, but another origin of its host is not paused.
    OriginDead,
    RetryAfterTooLong,
}

impl GivenUp {
    #[cfg(test)]
    pub(crate) const LEFT: [Self; 4] =
        [Self::RobotsUnreachable, Self::HostDead, Self::OriginDead, Self::RetryAfterTooLong];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Unresolved(outcome) => outcome.as_str(),
            Self::RobotsUnreachable => "robots_unreachable",
            Self::HostDead => "host_dead",
            Self::OriginDead => "origin_dead",
            Self::RetryAfterTooLong => "retry_after_too_long",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub lasts: Duration,
    /// When the crawl started. A pause counts against the patience only from then on.
    pub since: DateTime<Utc>,
}

enum Robots {
    Rules(Arc<RobotsTxt>),
    Ends(Outcome),
}

struct KnownRobots {
    robots: Robots,
    until: DateTime<Utc>,
    /// The file to store. `None` if the result is not stored.
    text: Option<Vec<u8>>,
}

#[derive(Default)]
struct OriginState {
    robots: Option<KnownRobots>,
    health: OriginHealth,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    origin: String,
    until: DateTime<Utc>,
    text: String,
}

/// A pause as it is stored, and as status output shows it.
#[derive(Serialize, Deserialize)]
struct KeptPause {
    origin: String,
    #[serde(flatten)]
    pause: Pause,
}

#[derive(Default)]
pub(crate) struct HostOrigins {
    origins: HashMap<Origin, OriginState>,
    is_dirty: bool,
    /// Whether a pause has started or ended since [`HostOrigins::take_pause_change`] was last
    /// called.
    has_pause_changed: bool,
    /// The crawls and origins whose robots.txt records are not uploaded yet. Until then the host's
    /// row gets no robots.txt, because the next holder must fetch it again if this process dies.
    unuploaded_records: Vec<(i32, Origin)>,
}

impl HostOrigins {
    /// Restores what [`HostOrigins::take_unrecorded`] and [`HostOrigins::pauses`] returned.
    /// Malformed JSON counts as empty, so that the robots.txt files are fetched again.
    pub(crate) fn restore(robots: Option<&[u8]>, pauses: Option<&Value>) -> Self {
        let kept: Vec<Kept> =
            robots.and_then(|kept| serde_json::from_slice(kept).ok()).unwrap_or_default();
        let mut origins: HashMap<Origin, OriginState> = HashMap::new();
        for Kept { origin, until, text } in kept {
            let Some(origin) = Origin::of(&origin) else { continue };
            let text = text.into_bytes();
            let robots = Robots::Rules(Arc::new(RobotsTxt::parse(&text)));
            let robots = Some(KnownRobots { robots, until, text: Some(text) });
            origins.entry(origin).or_default().robots = robots;
        }
        let pauses: Vec<KeptPause> =
            pauses.and_then(|pauses| Vec::deserialize(pauses).ok()).unwrap_or_default();
        for KeptPause { origin, pause } in pauses {
            let Some(origin) = Origin::of(&origin) else { continue };
            origins.entry(origin).or_default().health = OriginHealth::restore(pause);
        }
        Self { origins, ..Self::default() }
    }

    /// Includes pauses that are over, if no response without a failure has followed. `None` if
    /// there are none.
    pub(crate) fn pauses(&self, host: &str) -> Option<Value> {
        let origins = self.origins.iter();
        let mut pauses: Vec<KeptPause> = origins
            .filter_map(|(origin, state)| {
                let pause = state.health.pause()?.clone();
                Some(KeptPause { origin: origin.on(host), pause })
            })
            .collect();
        pauses.sort_by(|a, b| a.origin.cmp(&b.origin));
        (!pauses.is_empty()).then(|| serde_json::to_value(pauses).ok()).flatten()
    }

    pub(crate) fn take_pause_change(&mut self) -> bool {
        std::mem::take(&mut self.has_pause_changed)
    }

    /// Returns the https origins to which no connection can be made, with their last outcomes.
    /// Omits origins with a cached robots.txt.
    pub(crate) fn without_https(&self) -> Vec<(Origin, Outcome)> {
        let failed = self.origins.iter().filter_map(|(origin, state)| {
            let is_new = origin.is_https() && state.robots.is_none();
            let pause = state.health.pause().filter(|_| is_new)?;
            let outcome = Outcome::parse(&pause.outcome)?;
            cannot_be_connected(outcome).then_some((*origin, outcome))
        });
        failed.collect()
    }

    pub(crate) fn paused(&self, now: DateTime<Utc>) -> usize {
        let pauses = self.origins.values().filter_map(|origin| origin.health.pause());
        pauses.filter(|pause| now < pause.until).count()
    }

    /// Returns the end of the last pause, which may be in the past. `None` if there are no pauses.
    pub(crate) fn paused_until(&self) -> Option<DateTime<Utc>> {
        self.origins.values().filter_map(|origin| Some(origin.health.pause()?.until)).max()
    }

    fn keep(&self, host: &str) -> Option<(Vec<u8>, DateTime<Utc>)> {
        let kept: Vec<Kept> = self
            .origins
            .iter()
            .filter_map(|(origin, state)| {
                let robots = state.robots.as_ref()?;
                let text = String::from_utf8_lossy(robots.text.as_ref()?).into_owned();
                Some(Kept { origin: origin.on(host), until: robots.until, text })
            })
            .collect();
        let until = kept.iter().map(|one| one.until).max()?;
        Some((serde_json::to_vec(&kept).ok()?, until))
    }

    pub(crate) fn record_begins(&mut self, crawl: i32, origin: Origin) {
        self.unuploaded_records.push((crawl, origin));
    }

    /// Call this when an origin's robots.txt record was uploaded for a crawl, or cannot be written.
    /// If the record is lost, the robots.txt is fetched again.
    pub(crate) fn record_ends(&mut self, crawl: i32, origin: Origin, is_lost: bool) {
        let mut records = self.unuploaded_records.iter();
        if let Some(at) = records.position(|record| *record == (crawl, origin)) {
            self.unuploaded_records.swap_remove(at);
        }
        if is_lost && let Some(state) = self.origins.get_mut(&origin) {
            state.robots = None;
        }
    }

    pub(crate) fn has_unuploaded_record(&self, crawl: i32, origin: Origin) -> bool {
        self.unuploaded_records.contains(&(crawl, origin))
    }

    /// Returns the robots.txt files to store now, with the latest expiry. `None` if none changed,
    /// or if a record is not uploaded yet.
    pub(crate) fn take_unrecorded(&mut self, host: &str) -> Option<(Vec<u8>, DateTime<Utc>)> {
        if !self.unuploaded_records.is_empty() || !std::mem::take(&mut self.is_dirty) {
            return None;
        }
        self.keep(host)
    }

    /// Returns true if no fetched robots.txt waits to be stored.
    pub(crate) fn is_kept(&self) -> bool {
        !self.is_dirty && self.unuploaded_records.is_empty()
    }

    /// `None` if the origin has responded without a failure since its last pause.
    pub(crate) fn pause_end(&self, origin: Origin) -> Option<DateTime<Utc>> {
        Some(self.origins.get(&origin)?.health.pause()?.until)
    }

    pub(crate) fn pause_end_within(
        &self,
        after: DateTime<Utc>,
        before: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        let ends = self.origins.values().filter_map(|origin| Some(origin.health.pause()?.until));
        ends.filter(|end| (after..before).contains(end)).min()
    }

    /// `None` if the origin is not paused, or is given up by a crawl with this patience.
    pub(crate) fn paused_for(&self, origin: Origin, patience: Patience) -> Option<DateTime<Utc>> {
        let pause = self.origins.get(&origin)?.health.pause()?;
        (!pause.is_over(patience.lasts, patience.since)).then_some(pause.until)
    }

    pub(crate) fn permission(
        &self,
        origin: Origin,
        patience: Patience,
        now: DateTime<Utc>,
    ) -> Permission {
        let Some(OriginState { robots, health }) = self.origins.get(&origin) else {
            return Permission::FetchRobots;
        };
        if let Some(pause) = health.pause().filter(|pause| now < pause.until) {
            return if pause.is_over(patience.lasts, patience.since) {
                Permission::GivenUp(self.given_up(pause, robots.is_some()))
            } else {
                Permission::Wait
            };
        }
        let known = robots.as_ref().filter(|known| now < known.until);
        if let (Some(_), Some(url)) = (known, health.probe()) {
            return Permission::Probe(url.to_owned());
        }
        match known {
            None => Permission::FetchRobots,
            Some(KnownRobots { robots: Robots::Rules(rules), .. }) => {
                Permission::Rules(Arc::clone(rules))
            }
            Some(KnownRobots { robots: Robots::Ends(outcome), .. }) => Permission::Ends(*outcome),
        }
    }

    fn given_up(&self, pause: &Pause, has_robots: bool) -> GivenUp {
        let is_dead = |origin: &OriginState| origin.health.pause().is_some();
        match Outcome::parse(&pause.outcome) {
            Some(outcome @ (Outcome::DnsServfail | Outcome::DnsTimeout)) => {
                GivenUp::Unresolved(outcome)
            }
            _ if pause.pause_s == 0 => GivenUp::RetryAfterTooLong,
            _ if !has_robots => GivenUp::RobotsUnreachable,
            _ if self.origins.values().all(is_dead) => GivenUp::HostDead,
            _ => GivenUp::OriginDead,
        }
    }

    /// Returns the maximum `Crawl-delay` for the robot `token` in all origins' robots.txt.
    pub(crate) fn crawl_delay(&self, token: &str) -> Option<Duration> {
        let rules =
            self.origins.values().filter_map(|origin| match &origin.robots.as_ref()?.robots {
                Robots::Rules(rules) => rules.crawl_delay(token).map(seconds),
                Robots::Ends(_) => None,
            });
        rules.max()
    }

    /// Creates the state if necessary. If there are too many origins, drops one that is not paused,
    /// or otherwise the one whose pause ends first.
    fn state_of(&mut self, origin: Origin) -> &mut OriginState {
        if self.origins.len() >= MAX_ORIGINS && !self.origins.contains_key(&origin) {
            let until = |state: &OriginState| state.health.pause().map(|pause| pause.until);
            let first = self.origins.iter().min_by_key(|(origin, state)| (until(state), **origin));
            if let Some(first) = first.map(|(origin, _)| *origin) {
                self.origins.remove(&first);
            }
        }
        self.origins.entry(origin).or_default()
    }

    /// Returns the host's new `Crawl-delay` for `robot`. If robots.txt cannot be fetched, the
    /// origin is paused, at first for `first_pause`.
    pub(crate) fn robots_responded(
        &mut self,
        origin: Origin,
        (outcome, body): (Outcome, &[u8]),
        (robot, first_pause): (&str, Duration),
        now: DateTime<Utc>,
    ) -> Option<Duration> {
        let rules = |text: &[u8]| Robots::Rules(Arc::new(RobotsTxt::parse(text)));
        let found = match outcome.robots_effect() {
            _ if ends_its_urls(outcome) => Some((Robots::Ends(outcome), None)),
            RobotsEffect::Rules => Some((rules(body), Some(body.to_vec()))),
            RobotsEffect::NoRules | RobotsEffect::Allowed => Some((rules(b""), Some(Vec::new()))),
            RobotsEffect::Forbidden | RobotsEffect::NoResponse => None,
        };
        let state = self.state_of(origin);
        let Some((robots, text)) = found else {
            state.robots = None;
            state.health.failed(outcome, first_pause, now);
            self.has_pause_changed = true;
            return self.crawl_delay(robot);
        };
        let has_text = text.is_some();
        let until = now + HOLDS;
        state.robots = Some(KnownRobots { robots, until, text });
        // If a probe is due, the pause continues, because robots.txt and the pages may come from
        // different servers.
        let was_paused = state.health.probe().is_none() && state.health.responded();
        self.has_pause_changed |= was_paused;
        self.is_dirty |= has_text;
        self.crawl_delay(robot)
    }

    /// `page` is the URL if a whole page was received.
    pub(crate) fn page_responded(&mut self, origin: Origin, page: Option<&str>) {
        let health = &mut self.state_of(origin).health;
        page.inspect(|url| health.gave(url));
        let was_paused = health.responded();
        self.has_pause_changed |= was_paused;
    }

    /// Returns false again if a later probe did not return a whole page.
    pub(crate) fn has_served_page(&self, origin: Origin) -> bool {
        self.origins.get(&origin).is_some_and(|state| state.health.has_served_page())
    }

    /// After a failure, the origin is paused, at first for `first_pause`.
    pub(crate) fn probed(
        &mut self,
        origin: Origin,
        result: ProbeResult,
        first_pause: Duration,
        now: DateTime<Utc>,
    ) {
        let health = &mut self.state_of(origin).health;
        match result {
            ProbeResult::Failed(outcome) => {
                health.failed(outcome, first_pause, now);
                self.has_pause_changed = true;
            }
            ProbeResult::Answered { is_page } => {
                if !is_page {
                    health.forget_probe();
                }
                let was_paused = health.responded();
                self.has_pause_changed |= was_paused;
            }
        }
    }

    pub(crate) fn page_failed(
        &mut self,
        origin: Origin,
        failure: &PageFailure,
        first_pause: Duration,
        now: DateTime<Utc>,
    ) -> Blame {
        let health = &mut self.state_of(origin).health;
        let before = health.pause().map(|pause| pause.until);
        let blame = health.page_failed(failure, first_pause, now);
        self.has_pause_changed |= health.pause().map(|pause| pause.until) != before;
        blame
    }

    pub(crate) fn requested_pause(
        &mut self,
        origin: Origin,
        outcome: Outcome,
        pause: Duration,
        now: DateTime<Utc>,
    ) {
        self.state_of(origin).health.requested_pause(outcome, pause, now);
        self.has_pause_changed = true;
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum ProbeResult {
    Failed(Outcome),
    Answered { is_page: bool },
}

fn cannot_be_connected(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::ConnectRefused
            | Outcome::ConnectUnreachable
            | Outcome::ConnectTimeout
            | Outcome::ConnectReset
            | Outcome::TlsHandshake
            | Outcome::TlsUnsupported
            | Outcome::TlsTimeout
    )
}

/// Returns true if each URL on an origin gets the same outcome as its robots.txt.
fn ends_its_urls(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::DnsNxdomain | Outcome::DnsNoAddress | Outcome::IpBlocked | Outcome::OptedOut
    )
}

/// Converts a `Crawl-delay`. If it is too long to obey, it becomes one second longer than the
/// maximum.
pub(crate) fn seconds(delay: CrawlDelay) -> Duration {
    match delay {
        CrawlDelay::Wait(delay) => delay,
        CrawlDelay::TooLong => everytab_fetcher::CRAWL_DELAY_MAX + Duration::from_secs(1),
    }
}

#[cfg(test)]
mod tests;
