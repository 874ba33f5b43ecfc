//! The delay between two requests to one host.
//!
//! It is the longest of what the crawl sets, what robots.txt asks for, what the operator adds, and
//! a multiple of the host's response time. A host that answers 429 or 503 is left alone for its
//! `Retry-After`, or for twice the delay; one that does not answer rests, longer each time, and in
//! the end is left.
//! Invariant: no answer makes the delay shorter than the settings and robots.txt ask for, and what
//! a server can ask for is bounded.
//! Must not know: clocks (the caller says what time it is), URLs, crawls.

use std::time::Duration;

use tokio::time::Instant;

/// The longest `Crawl-delay` that is obeyed: at 12 requests an hour a host of a hundred pages takes
/// a working day.
pub const CRAWL_DELAY_MAX: Duration = Duration::from_secs(5 * 60);
/// The longest delay to which 429 and 503 without a usable `Retry-After` raise it.
pub const RAISED_DELAY_MAX: Duration = Duration::from_secs(10 * 60);
/// The longest `Retry-After` that is obeyed: as long as the longest rest of a host that does not
/// answer.
pub const RETRY_AFTER_MAX: Duration = REST_MAX;
/// The shortest delay after a 429 or 503 without a usable `Retry-After`, also where the setting is
/// no delay at all.
const RAISED_DELAY_MIN: Duration = Duration::from_secs(1);
/// Requests in a row without an answer after which a host rests.
const FAILURES_BEFORE_REST: u32 = 5;
/// The first rest; each further failure doubles it.
const REST_MIN: Duration = Duration::from_secs(30);
/// The longest rest.
const REST_MAX: Duration = Duration::from_secs(60 * 60);
/// Rests of a host: 30 seconds, 1, 2, 4, 8, 16, 32 and 60 minutes. After the last one it is left.
const RESTS: u32 = 8;
/// Requests in a row without an answer after which a host is left.
const FAILURES_WHEN_DEAD: u32 = FAILURES_BEFORE_REST + RESTS;
/// The longest response time that counts; requests have shorter time limits.
const RESPONSE_MAX: Duration = Duration::from_secs(10 * 60);
/// The weight of earlier response times against the latest one.
const SMOOTHING: u32 = 3;

/// What a crawl and the operator ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelaySettings {
    /// The delay that the crawl sets.
    pub delay: Duration,
    /// The multiple of the response time that the delay is at least.
    pub factor: f64,
    /// The most that the multiple of the response time makes of the delay.
    pub max_delay: Duration,
    /// A delay that is set for the host or site beside the crawl's; zero for none.
    pub override_delay: Duration,
}

impl Default for DelaySettings {
    fn default() -> Self {
        Self {
            delay: Duration::from_secs(1),
            factor: 2.0,
            max_delay: Duration::from_secs(60),
            override_delay: Duration::ZERO,
        }
    }
}

/// What is kept of a host's delay, as plain numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SavedDelay {
    /// Milliseconds to which 429 and 503 raised the delay; 0 if they did not.
    pub delay_ms: u32,
    /// The smoothed response time in milliseconds; 0 if none is known.
    pub response_ms: u32,
    /// The `Crawl-delay` of robots.txt in milliseconds; 0 if there is none.
    pub crawl_delay_ms: u32,
    /// The requests in a row that got no answer.
    pub failures: u32,
    /// Milliseconds from the saving until the next request may begin: the column `free_at`, by
    /// whichever clock the caller has.
    pub free_in_ms: u32,
}

/// Why a host is asked for nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostLeft {
    /// robots.txt asks for a delay over [`CRAWL_DELAY_MAX`].
    CrawlDelayTooLong,
    /// It did not answer before any of its rests, and not after the last.
    HostDead,
    /// It asks for a longer pause than there is patience for.
    RetryAfterTooLong,
}

impl HostLeft {
    /// All reasons.
    pub const ALL: [Self; 3] = [Self::CrawlDelayTooLong, Self::HostDead, Self::RetryAfterTooLong];

    /// The stable name, by which URLs that are left are counted.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CrawlDelayTooLong => "crawl_delay_too_long",
            Self::HostDead => "host_dead",
            Self::RetryAfterTooLong => "retry_after_too_long",
        }
    }
}

/// How a request to a host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAnswer {
    /// It answered.
    Answered {
        /// The time that the server took.
        took: Duration,
        /// Whether the status was 429 or 503.
        is_complaint: bool,
        /// The `Retry-After` of such an answer.
        retry_after: Option<Duration>,
    },
    /// No answer came: no connection, no head of an answer, or none in time.
    Failed,
    /// It was not this host that made the request fail, or the request was given up.
    Void,
}

/// The delay of one host. The default is that of a host that was never asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostDelay {
    /// The delay to which complaints raised it.
    raised: Duration,
    response: Duration,
    crawl_delay: Duration,
    failures: u32,
    /// When the last request ended, and with which settings it was made.
    last: Option<(Instant, DelaySettings)>,
    /// The end of a rest, of a `Retry-After`, or of what was loaded.
    not_before: Option<Instant>,
    /// Whether it was taken up after its pause: then it is asked once more, whatever it did before.
    is_asked_once_more: bool,
}

impl HostDelay {
    /// Takes up what was saved. A host that was left as dead is asked once more when the pause
    /// after its last rest is over.
    pub fn restore(saved: SavedDelay, now: Instant) -> Self {
        let time = |ms: u32| Duration::from_millis(ms.into());
        let may_be_asked = saved.free_in_ms == 0;
        let most_failures = if may_be_asked { FAILURES_WHEN_DEAD - 1 } else { u32::MAX };
        Self {
            raised: time(saved.delay_ms).min(RAISED_DELAY_MAX),
            response: time(saved.response_ms),
            crawl_delay: time(saved.crawl_delay_ms),
            failures: saved.failures.min(most_failures),
            last: None,
            not_before: (!may_be_asked).then(|| now + time(saved.free_in_ms)),
            is_asked_once_more: may_be_asked,
        }
    }

    /// What to keep of the delay.
    pub fn save(&self, now: Instant) -> SavedDelay {
        let free_at = match &self.last {
            Some((_, settings)) => self.free_at(settings),
            None => self.not_before,
        };
        let free_in = free_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        SavedDelay {
            delay_ms: whole_ms(self.raised),
            response_ms: whole_ms(self.response),
            crawl_delay_ms: whole_ms(self.crawl_delay),
            failures: self.failures,
            free_in_ms: whole_ms(free_in),
        }
    }

    /// Sets the `Crawl-delay` of robots.txt; none if it has none.
    pub fn set_crawl_delay(&mut self, crawl_delay: Option<Duration>) {
        self.crawl_delay = crawl_delay.unwrap_or_default();
    }

    /// Lets no request begin before `at`, as a new holder of the host does that knows nothing of
    /// the requests of one that died.
    pub fn wait_until(&mut self, at: Instant) {
        self.not_before = self.not_before.max(Some(at));
    }

    /// When the last request ended; none if none was made since the delay was taken up.
    pub fn ended_at(&self) -> Option<Instant> {
        self.last.map(|(ended_at, _)| ended_at)
    }

    /// Whether the host is asked for nothing more, and why. One that does not answer is left before
    /// a rest that would end later than `patience` after the first one began, or when it had all,
    /// and one that asks with 429 or 503 for a pause of which more than `patience` is to come.
    pub fn left(&self, patience: Duration, now: Instant) -> Option<HostLeft> {
        let rests = match self.is_asked_once_more {
            true => 0,
            false => self.failures.saturating_sub(FAILURES_BEFORE_REST - 1).min(RESTS),
        };
        let rested: Duration = (0..rests).map(rest_after).sum();
        // Of what was loaded it is not known whether the delay or the host asked for the pause.
        let longest = patience.max(self.crawl_delay).max(self.raised);
        let pause = self.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        if self.crawl_delay > CRAWL_DELAY_MAX {
            Some(HostLeft::CrawlDelayTooLong)
        } else if self.failures >= FAILURES_WHEN_DEAD || rested > patience {
            Some(HostLeft::HostDead)
        } else if pause > longest {
            Some(HostLeft::RetryAfterTooLong)
        } else {
            None
        }
    }

    /// The delay between two requests that are made with these settings.
    pub fn delay(&self, settings: &DelaySettings) -> Duration {
        self.delay_without_complaints(settings).max(self.raised)
    }

    /// When the next request may begin, if it is made with these settings; none for immediately.
    /// After a request with a longer delay of its crawl, the shorter of both delays counts, so that
    /// one crawl's long delay spaces that crawl's requests alone; its own caller keeps it.
    pub fn free_at(&self, settings: &DelaySettings) -> Option<Instant> {
        let after_last = self.last.map(|(ended_at, before)| {
            let delay = settings.delay.min(before.delay);
            ended_at + self.delay(&DelaySettings { delay, ..*settings })
        });
        after_last.max(self.not_before)
    }

    /// A request that was made with these settings ended now.
    pub fn ended(&mut self, answer: HostAnswer, settings: &DelaySettings, now: Instant) {
        match answer {
            HostAnswer::Answered { took, is_complaint, retry_after } => {
                self.failures = 0;
                self.learn(took);
                if is_complaint {
                    self.complained(retry_after, settings, now);
                } else {
                    self.relent(settings);
                }
            }
            HostAnswer::Failed => {
                self.failures = self.failures.saturating_add(1);
                if let Some(rests) = self.failures.checked_sub(FAILURES_BEFORE_REST) {
                    self.wait_until(now + rest_after(rests));
                }
            }
            HostAnswer::Void => {}
        }
        self.last = Some((now, *settings));
        self.is_asked_once_more = false;
    }

    fn delay_without_complaints(&self, settings: &DelaySettings) -> Duration {
        let multiple_ms = self.response.as_millis() as f64 * settings.factor;
        let max_ms = settings.max_delay.as_millis() as f64;
        // The conversion takes what is no number or negative as 0.
        let multiple_ms = if multiple_ms > max_ms { max_ms } else { multiple_ms };
        let multiple = Duration::from_millis(multiple_ms as u64);
        settings.delay.max(self.crawl_delay).max(settings.override_delay).max(multiple)
    }

    /// Smooths the response time: the latest one counts for a quarter.
    fn learn(&mut self, took: Duration) {
        let took = took.max(Duration::from_millis(1)).min(RESPONSE_MAX);
        self.response = match self.response {
            Duration::ZERO => took,
            before => (before * SMOOTHING + took) / (SMOOTHING + 1),
        };
    }

    /// Obeys a `Retry-After` that asks for more than the delay, and doubles the delay otherwise.
    fn complained(
        &mut self,
        retry_after: Option<Duration>,
        settings: &DelaySettings,
        now: Instant,
    ) {
        let delay = self.delay(settings);
        match retry_after.filter(|wait| *wait > delay) {
            Some(wait) => self.wait_until(now + wait.min(RETRY_AFTER_MAX)),
            None => self.raised = (delay * 2).clamp(RAISED_DELAY_MIN, RAISED_DELAY_MAX),
        }
    }

    /// Halves the delay that complaints raised, and ends it where the settings ask for as much.
    fn relent(&mut self, settings: &DelaySettings) {
        self.raised /= 2;
        if self.raised < self.delay_without_complaints(settings).max(RAISED_DELAY_MIN) {
            self.raised = Duration::ZERO;
        }
    }
}

/// The rest of a host that had this many before.
fn rest_after(rests: u32) -> Duration {
    (REST_MIN * (1 << rests.min(RESTS))).min(REST_MAX)
}

/// Milliseconds of a time, rounded up: what is saved never lets a request begin earlier.
fn whole_ms(time: Duration) -> u32 {
    u32::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
