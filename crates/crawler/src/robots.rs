//! What robots.txt of a host's origins says, and how it is kept with the host.
//!
//! An origin whose robots.txt cannot be had is not asked for anything: robots.txt is asked for
//! again, with longer and longer pauses, and in the end its URLs are left (RFC 9309 2.3.1.4).
//! Must not know: how robots.txt is fetched, which URL is next.

use std::{collections::HashMap, sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use everytab_fetcher::{Outcome, RobotsAnswer};
use everytab_webpage::{CrawlDelay, RobotsTxt};
use serde::{Deserialize, Serialize};

/// How long a robots.txt holds: RFC 9309 2.4 asks for at most a day.
const HOLDS: TimeDelta = TimeDelta::hours(24);
/// The first pause before a robots.txt that cannot be had is asked for again; each doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause before a robots.txt is asked for again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);
/// Most origins of a host that are remembered: a host has one or two.
const MAX_ORIGINS: usize = 16;

/// What may be asked of an origin.
pub(crate) enum Permission {
    /// Nothing before robots.txt is asked for.
    AskRobots,
    /// Nothing before this time.
    Wait(DateTime<Utc>),
    /// What these rules allow.
    Rules(Arc<RobotsTxt>),
    /// Nothing: its URLs are left.
    Left,
    /// Nothing: each of its URLs ends as robots.txt did.
    Ends(Outcome),
}

enum Known {
    Rules(Arc<RobotsTxt>),
    Unreachable { since: DateTime<Utc>, pause: Duration },
    Ends(Outcome),
}

struct Origin {
    known: Known,
    /// Until when it holds; of an origin that cannot be reached, when it is asked again.
    until: DateTime<Utc>,
    /// The text, to be kept.
    text: Option<Vec<u8>>,
}

/// A robots.txt as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    origin: String,
    until: DateTime<Utc>,
    text: String,
}

/// What is known of the robots.txt of a host's origins.
#[derive(Default)]
pub(crate) struct HostRobots {
    origins: HashMap<String, Origin>,
    /// Whether something is to be kept that was not.
    is_dirty: bool,
    /// The crawls, each with an origin, for which records were written that are not put yet. Until
    /// they are, nothing is kept: who takes the host up after the death of this process asks again,
    /// so that the crawl has a record.
    unput: Vec<(i32, String)>,
}

impl HostRobots {
    /// Takes up what was kept. What cannot be read is asked for again.
    pub(crate) fn restore(kept: &[u8]) -> Self {
        let kept: Vec<Kept> = serde_json::from_slice(kept).unwrap_or_default();
        let origins = kept.into_iter().map(|Kept { origin, until, text }| {
            let text = text.into_bytes();
            let known = Known::Rules(Arc::new(RobotsTxt::parse(&text)));
            (origin, Origin { known, until, text: Some(text) })
        });
        Self { origins: origins.collect(), is_dirty: false, unput: Vec::new() }
    }

    /// What is to be kept, and until when it holds at the longest; none if nothing is known.
    fn keep(&self) -> Option<(Vec<u8>, DateTime<Utc>)> {
        let kept: Vec<Kept> = self
            .origins
            .iter()
            .filter_map(|(origin, known)| {
                let text = String::from_utf8_lossy(known.text.as_ref()?).into_owned();
                Some(Kept { origin: origin.clone(), until: known.until, text })
            })
            .collect();
        let until = kept.iter().map(|one| one.until).max()?;
        Some((serde_json::to_vec(&kept).ok()?, until))
    }

    /// The record of an origin's robots.txt is to be put for a crawl.
    pub(crate) fn record_begins(&mut self, crawl: i32, origin: &str) {
        self.unput.push((crawl, origin.to_owned()));
    }

    /// The record of an origin's robots.txt was put for a crawl, cannot be written, or is lost with
    /// its archive: then it is asked for again.
    pub(crate) fn record_ends(&mut self, crawl: i32, origin: &str, is_lost: bool) {
        let is_it = |(of, name): &(i32, String)| *of == crawl && name == origin;
        if let Some(at) = self.unput.iter().position(is_it) {
            self.unput.swap_remove(at);
        }
        if is_lost {
            self.origins.remove(origin);
        }
    }

    /// Whether the record of an origin's robots.txt is to be put for a crawl.
    pub(crate) fn is_unput(&self, crawl: i32, origin: &str) -> bool {
        self.unput.iter().any(|(of, name)| *of == crawl && name == origin)
    }

    /// What is to be kept now, and until when it holds at the longest.
    pub(crate) fn take_unkept(&mut self) -> Option<(Vec<u8>, DateTime<Utc>)> {
        if !self.unput.is_empty() || !std::mem::take(&mut self.is_dirty) {
            return None;
        }
        self.keep()
    }

    /// Whether all that is known of it is kept, or costs a look-up of a name to know again.
    pub(crate) fn is_kept(&self) -> bool {
        let is_kept = |origin: &Origin| !matches!(origin.known, Known::Unreachable { .. });
        !self.is_dirty && self.unput.is_empty() && self.origins.values().all(is_kept)
    }

    /// What may be asked of an origin now.
    pub(crate) fn permission(
        &self,
        origin: &str,
        patience: Duration,
        now: DateTime<Utc>,
    ) -> Permission {
        let Some(Origin { known, until, .. }) = self.origins.get(origin) else {
            return Permission::AskRobots;
        };
        if let Known::Unreachable { since, .. } = known
            && (*until - *since).to_std().is_ok_and(|tried| tried > patience)
        {
            // Who comes a day later may find it answering.
            let is_old = now >= *until + HOLDS;
            return if is_old { Permission::AskRobots } else { Permission::Left };
        }
        match known {
            Known::Unreachable { .. } if now < *until => Permission::Wait(*until),
            _ if now >= *until => Permission::AskRobots,
            Known::Unreachable { .. } => Permission::AskRobots,
            Known::Rules(rules) => Permission::Rules(Arc::clone(rules)),
            Known::Ends(outcome) => Permission::Ends(*outcome),
        }
    }

    /// The longest `Crawl-delay` that an origin's robots.txt asks of the robot `token`.
    pub(crate) fn crawl_delay(&self, token: &str) -> Option<Duration> {
        let rules = self.origins.values().filter_map(|origin| match &origin.known {
            Known::Rules(rules) => rules.crawl_delay(token).map(seconds),
            Known::Unreachable { .. } | Known::Ends(_) => None,
        });
        rules.max()
    }

    /// robots.txt of an origin was asked for, and ended so. Returns the `Crawl-delay` that holds
    /// for `robot` from now on: the longest of the host's origins, for the host is asked for all of
    /// them in turn.
    pub(crate) fn answered(
        &mut self,
        origin: &str,
        outcome: Outcome,
        body: &[u8],
        robot: &str,
        now: DateTime<Utc>,
    ) -> Option<Duration> {
        if self.origins.len() >= MAX_ORIGINS && !self.origins.contains_key(origin) {
            self.origins.clear();
        }
        let rules = |text: &[u8]| Known::Rules(Arc::new(RobotsTxt::parse(text)));
        let (known, holds, text) = match outcome.robots_answer() {
            _ if ends_its_urls(outcome) => (Known::Ends(outcome), HOLDS, None),
            RobotsAnswer::Rules => (rules(body), HOLDS, Some(body.to_vec())),
            RobotsAnswer::NoRules | RobotsAnswer::Allowed => (rules(b""), HOLDS, Some(Vec::new())),
            RobotsAnswer::Forbidden | RobotsAnswer::NoAnswer => {
                let (since, pause) = match self.origins.get(origin).map(|before| &before.known) {
                    Some(Known::Unreachable { since, pause }) => {
                        (*since, (*pause * 2).min(LONGEST_PAUSE))
                    }
                    _ => (now, FIRST_PAUSE),
                };
                let holds = TimeDelta::from_std(pause).unwrap_or(HOLDS);
                (Known::Unreachable { since, pause }, holds, None)
            }
        };
        self.is_dirty |= text.is_some();
        self.origins.insert(origin.to_owned(), Origin { known, until: now + holds, text });
        self.crawl_delay(robot)
    }
}

/// Whether each URL of an origin ends as its robots.txt did: it has no address, or none that may
/// be asked.
fn ends_its_urls(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::DnsNxdomain | Outcome::DnsNoAddress | Outcome::IpBlocked | Outcome::OptedOut
    )
}

/// A delay that is too long to be obeyed is one second longer than the longest that is.
pub(crate) fn seconds(delay: CrawlDelay) -> Duration {
    match delay {
        CrawlDelay::Wait(delay) => delay,
        CrawlDelay::TooLong => everytab_fetcher::CRAWL_DELAY_MAX + Duration::from_secs(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn the_longest_crawl_delay_of_a_hosts_origins_holds() {
        let mut robots = HostRobots::default();
        let now = Utc::now();
        let mut delay = |origin, outcome, body: &str| {
            robots.answered(origin, outcome, body.as_bytes(), "everytab", now)
        };
        let slow = "User-agent: *\nCrawl-delay: 20";
        assert_eq!(delay("https://a.com", Outcome::Ok, slow), Some(Duration::from_secs(20)));
        assert_eq!(delay("http://a.com", Outcome::Ok, ""), Some(Duration::from_secs(20)));
        assert_eq!(delay("https://a.com", Outcome::Ok, ""), None);
    }

    #[test]
    fn an_origin_that_was_given_up_is_asked_again_a_day_later() {
        let mut robots = HostRobots::default();
        let (origin, mut now) = ("http://a.com", Utc::now());
        for _ in 0..40 {
            robots.answered(origin, Outcome::ConnectRefused, b"", "everytab", now);
            now += TimeDelta::hours(1);
        }
        let permission = |now| robots.permission(origin, DAY, now);
        assert!(matches!(permission(now), Permission::Left));
        assert!(matches!(permission(now + TimeDelta::hours(25)), Permission::AskRobots));
    }

    #[test]
    fn what_it_says_is_kept_when_its_record_is_put() {
        let (now, origin) = (Utc::now(), "http://a.test");
        let mut robots = HostRobots::default();
        let answered = |robots: &mut HostRobots, origin| {
            robots.answered(origin, Outcome::Ok, b"Disallow: /", "everytab", now);
            robots.record_begins(1, origin);
        };
        answered(&mut robots, origin);
        answered(&mut robots, "https://a.test");
        assert!(robots.take_unkept().is_none());
        assert!(robots.is_unput(1, origin) && !robots.is_unput(2, origin));
        robots.record_ends(1, origin, false);
        assert!(robots.take_unkept().is_none() && !robots.is_kept(), "one is not put");
        assert!(!robots.is_unput(1, origin) && robots.is_unput(1, "https://a.test"));
        robots.record_ends(1, "https://a.test", false);
        assert!(!robots.is_unput(1, "https://a.test"));
        let (kept, _) = robots.take_unkept().unwrap();
        assert!(robots.is_kept() && robots.take_unkept().is_none(), "it is kept once");
        let restored = HostRobots::restore(&kept);
        assert!(matches!(restored.permission(origin, DAY, now), Permission::Rules(_)));

        answered(&mut robots, origin);
        robots.record_ends(1, origin, true);
        assert!(matches!(robots.permission(origin, DAY, now), Permission::AskRobots));
        assert!(matches!(robots.permission("https://a.test", DAY, now), Permission::Rules(_)));
    }
}
