//! The delay between two requests to one host.
//!
//! It is the maximum of the crawl's setting, the Crawl-delay of robots.txt, the override for the
//! host, and a multiple of the host's response time. A 429 or 503 response doubles the delay,
//! unless its `Retry-After` specifies a longer pause. Responses never make the delay shorter than
//! the settings and robots.txt require.

use std::time::Duration;

use tokio::time::Instant;

/// Maximum `Crawl-delay` that is obeyed. A host with a hundred pages then takes a working day.
pub const CRAWL_DELAY_MAX: Duration = Duration::from_secs(5 * 60);
/// Maximum delay after 429 and 503 responses whose `Retry-After` is missing or shorter than the
/// delay.
pub const RAISED_DELAY_MAX: Duration = Duration::from_secs(10 * 60);
/// Minimum delay after 429 and 503 responses whose `Retry-After` is missing or shorter than the
/// delay.
const RAISED_DELAY_MIN: Duration = Duration::from_secs(1);
/// Maximum response time that counts.
const RESPONSE_MAX: Duration = Duration::from_secs(10 * 60);
/// Weight of the smoothed response time. The latest response time has weight 1.
const SMOOTHING: u32 = 3;

/// Delay settings of the crawl and the operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelaySettings {
    /// The crawl's delay.
    pub delay: Duration,
    /// The delay is at least this many times the response time.
    pub factor: f64,
    /// Upper bound for the delay that the response time causes.
    pub max_delay: Duration,
    /// Another minimum delay for the host or its site.
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

/// The state of a host's delay, as plain numbers for storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SavedDelay {
    /// The delay in milliseconds after 429 and 503 responses raised it. 0 if it was not raised.
    pub delay_ms: u32,
    /// Smoothed response time in milliseconds. 0 if unknown.
    pub response_ms: u32,
    /// The `Crawl-delay` in robots.txt, in milliseconds. 0 if it has no such line.
    pub crawl_delay_ms: u32,
    /// Milliseconds from saving until the next request may start. The caller stores this as a time,
    /// in the column `free_at`.
    pub free_in_ms: u32,
}

/// The result of a request to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostResult {
    /// The host responded.
    Responded {
        /// The server's response time.
        took: Duration,
        /// Whether the status was 429 or 503.
        is_rate_limited: bool,
        /// The `Retry-After` of this response.
        retry_after: Option<Duration>,
    },
    /// There was no response, or the request was cancelled.
    NoResponse,
}

/// The delay of one host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostDelay {
    raised: Duration,
    response: Duration,
    crawl_delay: Duration,
    last: Option<(Instant, DelaySettings)>,
    not_before: Option<Instant>,
}

impl HostDelay {
    /// Restores the saved state.
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

    /// Returns the state to save.
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

    /// Sets the `Crawl-delay` from robots.txt.
    pub fn set_crawl_delay(&mut self, crawl_delay: Option<Duration>) {
        self.crawl_delay = crawl_delay.unwrap_or_default();
    }

    /// Delays the next request until `at`. A host's new holder calls this, because it does not know
    /// when a holder that died sent its last request.
    pub fn wait_until(&mut self, at: Instant) {
        self.not_before = self.not_before.max(Some(at));
    }

    /// Returns when the last request since the restore ended.
    pub fn ended_at(&self) -> Option<Instant> {
        self.last.map(|(ended_at, _)| ended_at)
    }

    /// Returns whether the delay in robots.txt exceeds [`CRAWL_DELAY_MAX`].
    pub fn is_crawl_delay_too_long(&self) -> bool {
        self.crawl_delay > CRAWL_DELAY_MAX
    }

    /// Returns the delay between two requests with these settings.
    pub fn delay(&self, settings: &DelaySettings) -> Duration {
        self.base_delay(settings).max(self.raised)
    }

    /// Returns the earliest start of the next request with these settings, which may be in the
    /// past. `None` if there is no reason to wait. If the last request was for another crawl, the
    /// shorter of the two crawls' delays counts, and the caller must enforce the longer delay
    /// between two requests of its own crawl.
    pub fn free_at(&self, settings: &DelaySettings) -> Option<Instant> {
        let after_last = self.last.map(|(ended_at, before)| {
            let delay = settings.delay.min(before.delay);
            ended_at + self.delay(&DelaySettings { delay, ..*settings })
        });
        after_last.max(self.not_before)
    }

    /// Records the end of a request that was made with these settings.
    pub fn ended(&mut self, answer: HostResult, settings: &DelaySettings, now: Instant) {
        match answer {
            HostResult::Responded { took, is_rate_limited, retry_after } => {
                self.learn(took);
                if is_rate_limited {
                    self.raise(retry_after, settings);
                } else {
                    self.lower(settings);
                }
            }
            HostResult::NoResponse => {}
        }
        self.last = Some((now, *settings));
    }

    fn base_delay(&self, settings: &DelaySettings) -> Duration {
        let multiple_ms = self.response.as_millis() as f64 * settings.factor;
        let max_ms = settings.max_delay.as_millis() as f64;
        // The cast maps NaN and negative numbers to 0.
        let multiple_ms = if multiple_ms > max_ms { max_ms } else { multiple_ms };
        let multiple = Duration::from_millis(multiple_ms as u64);
        settings.delay.max(self.crawl_delay).max(settings.override_delay).max(multiple)
    }

    fn learn(&mut self, took: Duration) {
        let took = took.max(Duration::from_millis(1)).min(RESPONSE_MAX);
        self.response = match self.response {
            Duration::ZERO => took,
            before => (before * SMOOTHING + took) / (SMOOTHING + 1),
        };
    }

    /// If `Retry-After` specifies a longer pause, the caller pauses the origin instead.
    fn raise(&mut self, retry_after: Option<Duration>, settings: &DelaySettings) {
        let delay = self.delay(settings);
        if retry_after.is_none_or(|wait| wait <= delay) {
            self.raised = (delay * 2).clamp(RAISED_DELAY_MIN, RAISED_DELAY_MAX);
        }
    }

    fn lower(&mut self, settings: &DelaySettings) {
        self.raised /= 2;
        if self.raised < self.base_delay(settings).max(RAISED_DELAY_MIN) {
            self.raised = Duration::ZERO;
        }
    }
}

/// Rounds up, so that no request starts too early after a restore.
fn whole_ms(time: Duration) -> u32 {
    u32::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
