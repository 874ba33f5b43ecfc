//! Counts an origin's consecutive failures, and derives its pauses.
//!
//! A transient failure is caused either by its URL or by the whole origin. If no connection can be
//! made, the cause is the origin. Otherwise a probe decides after several failures: it fetches a
//! page again that the origin served before. If the probe fails, or if the origin served no page
//! before, the origin is paused, longer each time, and its URLs keep their retries.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use everytab_fetcher::Outcome;
use everytab_frontier::UrlHash;
use serde::{Deserialize, Serialize};

/// Number of consecutive failures after which an origin is probed or paused. Fewer failures may be
/// due to single pages.
pub(crate) const FAILURES_BEFORE_PAUSE: usize = 5;
/// Maximum pause between two requests to a failing origin.
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(60 * 60);

#[derive(Debug, Clone, Copy)]
pub(crate) struct PageFailure {
    pub outcome: Outcome,
    pub url: UrlHash,
    /// Whether no connection could be made, so the cause is not the URL.
    pub is_of_origin: bool,
    /// Whether this URL has a single retry left, and its origin has fewer than
    /// [`FAILURES_BEFORE_PAUSE`] pending URLs.
    pub is_last_but_one: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    Url,
    Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pause {
    pub since: DateTime<Utc>,
    pub until: DateTime<Utc>,
    /// Length of the pause in seconds, without `Retry-After`. The next pause is twice as long. 0 if
    /// only `Retry-After` caused this pause.
    pub pause_s: u32,
    pub failures: u32,
    pub outcome: String,
    /// The page to fetch as a probe after the pause. `None` if no probe is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
}

impl Pause {
    /// Returns true if the pause ends more than `patience` after `since`, or after `wanted_since`
    /// if this is later. The origin's URLs should then be given up.
    pub(crate) fn is_over(&self, patience: Duration, wanted_since: DateTime<Utc>) -> bool {
        let waited = self.until - self.since.max(wanted_since);
        waited.to_std().is_ok_and(|waited| waited > patience)
    }
}

/// An origin's failures since its last response without a failure.
#[derive(Debug, Clone, Default)]
pub(crate) struct OriginHealth {
    /// Kept after its end, because the next failure doubles it.
    pause: Option<Pause>,
    failures: u32,
    /// Failures that count towards the next probe or pause. A URL for which a connection was made
    /// counts once.
    failed: Vec<Option<UrlHash>>,
    failing_since: Option<DateTime<Utc>>,
    good_page: Option<String>,
    is_probed: bool,
}

impl OriginHealth {
    pub(crate) fn restore(pause: Pause) -> Self {
        Self {
            failed: vec![None; FAILURES_BEFORE_PAUSE],
            failures: pause.failures,
            failing_since: Some(pause.since),
            is_probed: pause.probe.is_some(),
            good_page: pause.probe.clone(),
            pause: Some(pause),
        }
    }

    pub(crate) fn pause(&self) -> Option<&Pause> {
        self.pause.as_ref()
    }

    pub(crate) fn probe(&self) -> Option<&str> {
        self.good_page.as_deref().filter(|_| self.is_probed)
    }

    /// Returns true if the origin was paused.
    pub(crate) fn responded(&mut self) -> bool {
        self.failed.clear();
        self.failures = 0;
        self.failing_since = None;
        self.is_probed = false;
        self.pause.take().is_some()
    }

    pub(crate) fn gave(&mut self, url: &str) {
        self.good_page.get_or_insert_with(|| url.to_owned());
    }

    pub(crate) fn has_served_page(&self) -> bool {
        self.good_page.is_some()
    }

    pub(crate) fn forget_probe(&mut self) {
        self.good_page = None;
    }

    pub(crate) fn failed(&mut self, outcome: Outcome, first_pause: Duration, now: DateTime<Utc>) {
        self.failures = self.failures.saturating_add(1);
        self.pause_for(outcome, first_pause, now);
    }

    fn pause_for(&mut self, outcome: Outcome, first_pause: Duration, now: DateTime<Utc>) {
        let before = self.pause.as_ref().filter(|pause| pause.pause_s > 0);
        let doubled = before.map(|pause| Duration::from_secs(pause.pause_s.into()) * 2);
        let pause = doubled.unwrap_or(first_pause).min(PAUSE_MAX);
        self.pause_until(outcome, pause, now + time_delta(pause), now);
    }

    /// Records that the origin sent a `Retry-After`. This does not double the next pause.
    pub(crate) fn requested_pause(
        &mut self,
        outcome: Outcome,
        pause: Duration,
        now: DateTime<Utc>,
    ) {
        let before_s = self.pause.as_ref().map_or(0, |before| before.pause_s);
        let before = Duration::from_secs(before_s.into());
        self.pause_until(outcome, before, now + time_delta(pause.min(PAUSE_MAX)), now);
    }

    fn pause_until(
        &mut self,
        outcome: Outcome,
        doubled: Duration,
        until: DateTime<Utc>,
        now: DateTime<Utc>,
    ) {
        let since = *self.failing_since.get_or_insert(now);
        self.pause = Some(Pause {
            since,
            until: self.pause.as_ref().map_or(until, |before| before.until.max(until)),
            pause_s: u32::try_from(doubled.as_millis().div_ceil(1_000)).unwrap_or(u32::MAX),
            failures: self.failures,
            outcome: outcome.as_str().to_owned(),
            probe: self.probe().map(str::to_owned),
        });
    }

    /// If the whole origin fails, it is paused, at first for `first_pause`.
    pub(crate) fn page_failed(
        &mut self,
        failure: &PageFailure,
        first_pause: Duration,
        now: DateTime<Utc>,
    ) -> Blame {
        let PageFailure { outcome, url, is_of_origin, is_last_but_one } = *failure;
        self.failures = self.failures.saturating_add(1);
        self.failing_since.get_or_insert(now);
        let url = (!is_of_origin).then_some(url);
        let is_counted = url.is_some() && self.failed.contains(&url);
        if !is_counted && self.failed.len() < FAILURES_BEFORE_PAUSE {
            self.failed.push(url);
        }
        let blame = if is_of_origin { Blame::Origin } else { Blame::Url };
        // Without this probe, the last few URLs of a site would lose all their retries in an
        // outage.
        let is_probe_due = is_last_but_one && self.good_page.is_some();
        if self.failed.len() < FAILURES_BEFORE_PAUSE && !is_probe_due {
            return blame;
        }
        if !is_of_origin && !self.is_probed && self.good_page.is_some() {
            self.is_probed = true;
            return blame;
        }
        self.pause_for(outcome, first_pause, now);
        Blame::Origin
    }
}

fn time_delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(30);
    const PAUSES: [i64; 9] = [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600];

    fn failure(outcome: Outcome, url: u64) -> PageFailure {
        let is_of_origin = outcome == Outcome::ConnectRefused;
        PageFailure { outcome, url: UrlHash(url), is_of_origin, is_last_but_one: false }
    }

    fn paused_s(health: &OriginHealth, now: DateTime<Utc>) -> i64 {
        health.pause().map_or(0, |pause| (pause.until - now).num_seconds().max(0))
    }

    #[test]
    fn consecutive_failures_of_several_urls_pause_the_origin_and_cost_no_retries() {
        let mut health = OriginHealth::default();
        let now = Utc::now();
        for url in 0..4 {
            let blame = health.page_failed(&failure(Outcome::Http5xx, url), FIRST, now);
            assert_eq!((blame, health.pause()), (Blame::Url, None), "{url}");
        }
        for pause in PAUSES {
            let blame = health.page_failed(&failure(Outcome::Http5xx, 9), FIRST, now);
            assert_eq!((blame, paused_s(&health, now)), (Blame::Origin, pause));
        }
        let pause = health.pause().unwrap().clone();
        assert!(pause.is_over(FIRST, now) && !pause.is_over(PAUSE_MAX, now));
        assert!(health.responded() && health.pause().is_none());
        assert!(!health.responded());
    }

    #[test]
    fn a_probe_distinguishes_failing_pages_from_an_outage() {
        let mut health = OriginHealth::default();
        let now = Utc::now();
        health.gave("http://a.com/");
        health.gave("http://a.com/other");
        for round in 0..3 {
            for url in 0..5 {
                assert_eq!(health.probe(), None, "{round} {url}");
                let blame = health.page_failed(&failure(Outcome::Http5xx, url), FIRST, now);
                assert_eq!((blame, health.pause()), (Blame::Url, None), "{round} {url}");
            }
            assert_eq!(health.probe(), Some("http://a.com/"));
            assert!(!health.responded());
        }
        (0..5).for_each(|url| {
            health.page_failed(&failure(Outcome::Http5xx, url), FIRST, now);
        });
        for pause in PAUSES {
            health.failed(Outcome::Http5xx, FIRST, now);
            assert_eq!((paused_s(&health, now), health.probe()), (pause, Some("http://a.com/")));
        }
        let mut restored = OriginHealth::restore(health.pause().unwrap().clone());
        assert_eq!(restored.probe(), Some("http://a.com/"), "the next holder probes too");
        assert!(restored.responded() && restored.probe().is_none());
        restored.forget_probe();
        (0..5).for_each(|url| {
            restored.page_failed(&failure(Outcome::Http5xx, url), FIRST, now);
        });
        assert_eq!((restored.probe(), paused_s(&restored, now)), (None, 30));
    }

    #[test]
    fn a_few_pages_that_always_fail_run_out_of_retries() {
        let mut health = OriginHealth::default();
        let now = Utc::now();
        for _ in 0..=10 {
            for url in 0..4 {
                let failure = failure(Outcome::BodyTruncated, url);
                assert_eq!(health.page_failed(&failure, FIRST, now), Blame::Url);
            }
        }
        assert!(health.pause().is_none());
    }

    #[test]
    fn a_known_good_page_is_probed_before_a_last_retry() {
        let mut health = OriginHealth::default();
        let now = Utc::now();
        let last = PageFailure { is_last_but_one: true, ..failure(Outcome::Http5xx, 1) };
        assert_eq!(health.page_failed(&last, FIRST, now), Blame::Url);
        assert_eq!((health.probe(), health.pause()), (None, None), "no page was served");
        health.gave("http://a.com/");
        assert_eq!(health.page_failed(&last, FIRST, now), Blame::Url);
        assert_eq!((health.probe(), health.pause()), (Some("http://a.com/"), None));
        health.failed(Outcome::Http5xx, FIRST, now);
        assert_eq!(paused_s(&health, now), 30);
    }

    #[test]
    fn connection_failures_never_blame_a_url() {
        let mut health = OriginHealth::default();
        let now = Utc::now();
        health.gave("http://a.com/");
        for number in 1..=5 {
            let blame = health.page_failed(&failure(Outcome::ConnectRefused, 1), FIRST, now);
            assert_eq!(blame, Blame::Origin);
            assert_eq!(health.pause().is_some(), number == 5);
        }
        let mut restored = OriginHealth::restore(health.pause().unwrap().clone());
        restored.page_failed(&failure(Outcome::ConnectRefused, 2), FIRST, now);
        assert_eq!(paused_s(&restored, now), 60, "the next holder continues the pauses");
    }

    #[test]
    fn a_retry_after_sets_the_pause_and_doubles_nothing() {
        let mut health = OriginHealth::default();
        let now = Utc::now();
        health.requested_pause(Outcome::Http429, Duration::from_secs(7), now);
        assert_eq!(paused_s(&health, now), 7);
        health.failed(Outcome::Http5xx, FIRST, now);
        assert_eq!(paused_s(&health, now), 30);
        health.requested_pause(Outcome::Http429, Duration::from_secs(50), now);
        assert_eq!(paused_s(&health, now), 50);
        health.failed(Outcome::Http5xx, FIRST, now);
        assert_eq!(paused_s(&health, now), 60);
        health.requested_pause(Outcome::Http429, Duration::MAX, now);
        assert_eq!(paused_s(&health, now), 3_600);
    }
}
