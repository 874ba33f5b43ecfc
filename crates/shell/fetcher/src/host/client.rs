//! Sends the requests to one host, one at a time, with the host's delay between the end of one
//! request and the start of the next.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use crate::{
    host::delay::{DelaySettings, HostDelay, HostResult},
    local_failure::LocalFailure,
    page::{options::PageOptions, page_fetch_result::PageFetchResult, page_request::PageRequest},
    request::{fetcher::Fetcher, pool::ConnectionPool},
};

/// Maximum time to keep an idle connection. By default, Apache closes an idle connection after this
/// time.
const KEPT_OPEN_MAX: Duration = Duration::from_secs(5);

/// Sends the requests to one host. The worker that holds the host's slot has exactly one client for
/// it.
pub struct HostClient {
    fetcher: Fetcher,
    options: Arc<PageOptions>,
    pool: ConnectionPool,
    /// The host's delay and its state.
    pub delay: HostDelay,
}

impl HostClient {
    /// Creates the client.
    pub fn new(fetcher: &Fetcher, options: Arc<PageOptions>, delay: HostDelay) -> Self {
        Self { fetcher: fetcher.clone(), options, pool: ConnectionPool::default(), delay }
    }

    /// Waits until a request with these settings may start.
    pub async fn ready(&self, settings: &DelaySettings) {
        if let Some(free_at) = self.delay.free_at(settings) {
            sleep_until(free_at).await;
        }
    }

    /// Sends a request to the host as soon as it may start, and records its result. If the future
    /// is dropped during the request, it records that there was no response.
    ///
    /// Redirects that are followed also obey the delay of a target host that the same fetcher
    /// crawls.
    ///
    /// # Errors
    /// Returns a [`LocalFailure`] if local failures voided every attempt, over more than 15
    /// seconds. The host may have been contacted.
    pub async fn fetch(
        &mut self,
        request: &PageRequest<'_>,
        settings: &DelaySettings,
    ) -> Result<PageFetchResult, LocalFailure> {
        self.ready(settings).await;
        let pause = self.delay.delay(settings);
        if self.delay.ended_at().is_some_and(|at| at.elapsed() > KEPT_OPEN_MAX) {
            self.pool = ConnectionPool::default();
        }
        let mut in_flight = RequestInFlight {
            delay: &mut self.delay,
            settings,
            result: Some(HostResult::NoResponse),
        };
        let fetched = self.fetcher.fetch_page_in(&self.options, &self.pool, request, pause).await;
        if let Ok(fetched) = &fetched {
            in_flight.result = fetched.host_result();
        }
        drop(in_flight);
        if self.delay.delay(settings) > KEPT_OPEN_MAX {
            self.pool = ConnectionPool::default();
        }
        fetched
    }
}

struct RequestInFlight<'a> {
    delay: &'a mut HostDelay,
    settings: &'a DelaySettings,
    result: Option<HostResult>,
}

impl Drop for RequestInFlight<'_> {
    fn drop(&mut self) {
        if let Some(result) = self.result {
            self.delay.ended(result, self.settings, Instant::now());
        }
    }
}
