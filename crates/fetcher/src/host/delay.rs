//! The delay between two requests to one host.
//!
//! It is the longest of what the crawl sets, what robots.txt asks for, what the operator adds, and
//! a multiple of the host's response time. An answer of 429 or 503 doubles it, unless it says with
//! `Retry-After` for how long its origin is to be left alone, which the caller does.
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
/// The shortest delay after a 429 or 503 without a usable `Retry-After`, also where the setting is
/// no delay at all.
const RAISED_DELAY_MIN: Duration = Duration::from_secs(1);
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
    /// Milliseconds from the saving until the next request may begin: the column `free_at`, by
    /// whichever clock the caller has.
    pub free_in_ms: u32,
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
    /// No answer came, or the request was given up.
    Void,
}

/// The delay of one host. The default is that of a host that was never asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostDelay {
    /// The delay to which complaints raised it.
    raised: Duration,
    response: Duration,
    crawl_delay: Duration,
    /// When the last request ended, and with which settings it was made.
    last: Option<(Instant, DelaySettings)>,
    /// The end of what was loaded.
    not_before: Option<Instant>,
}

impl HostDelay {
    /// Takes up what was saved.
    pub fn restore(saved: SavedDelay, now: Instant) -> Self {
        let time = |ms: u32| Duration::from_millis(ms.into());
        Self {
            raised: time(saved.delay_ms).min(RAISED_DELAY_MAX),
            response: time(saved.response_ms),
            crawl_delay: time(saved.crawl_delay_ms),
            last: None,
            not_before: (saved.free_in_ms > 0).then(|| now + time(saved.free_in_ms)),
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

    /// Returns true if robots.txt asks for a delay over [`CRAWL_DELAY_MAX`]: then nothing more is
    /// requested from the host.
    pub fn is_crawl_delay_too_long(&self) -> bool {
        self.crawl_delay > CRAWL_DELAY_MAX
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
                self.learn(took);
                if is_complaint {
                    self.complained(retry_after, settings);
                } else {
                    self.relent(settings);
                }
            }
            HostAnswer::Void => {}
        }
        self.last = Some((now, *settings));
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

    /// Doubles the delay, unless a `Retry-After` asks for a longer pause, which the caller keeps.
    fn complained(&mut self, retry_after: Option<Duration>, settings: &DelaySettings) {
        let delay = self.delay(settings);
        if retry_after.is_none_or(|wait| wait <= delay) {
            self.raised = (delay * 2).clamp(RAISED_DELAY_MIN, RAISED_DELAY_MAX);
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

/// Milliseconds of a time, rounded up: what is saved never lets a request begin earlier.
fn whole_ms(time: Duration) -> u32 {
    u32::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
