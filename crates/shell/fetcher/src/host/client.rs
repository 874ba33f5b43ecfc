//! Sends the requests to one host: one at a time, with the host's delay between the end of one and
//! the start of the next.
//!
//! Between two requests it only keeps an open connection, and only for as long as servers keep one
//! open. Does not depend on which URL is next, or on other hosts.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use crate::{
    host::delay::{DelaySettings, HostDelay, HostResult},
    local_failure::LocalFailure,
    page::{options::PageOptions, page_fetch_result::PageFetchResult, page_request::PageRequest},
    request::{fetcher::Fetcher, pool::ConnectionPool},
};

/// Maximum time to keep an idle connection. By default, Apache closes it after this time, and
/// others later.
const KEPT_OPEN_MAX: Duration = Duration::from_secs(5);

/// The requests to one host. The host's holder has exactly one of these.
pub struct HostClient {
    fetcher: Fetcher,
    options: Arc<PageOptions>,
    pool: ConnectionPool,
    /// The delay of the host and its state.
    pub delay: HostDelay,
}

impl HostClient {
    /// Creates the client of a host with this delay.
    pub fn new(fetcher: &Fetcher, options: Arc<PageOptions>, delay: HostDelay) -> Self {
        Self { fetcher: fetcher.clone(), options, pool: ConnectionPool::default(), delay }
    }

    /// Waits until the next request may start, if it is made with these settings.
    pub async fn ready(&self, settings: &DelaySettings) {
        if let Some(free_at) = self.delay.free_at(settings) {
            sleep_until(free_at).await;
        }
    }

    /// Sends a request to the host as soon as it may start, and records its result. Dropping the
    /// future counts as the end of the request.
    ///
    /// Followed redirects also obey the delays of their hosts: this host, and others that the same
    /// fetcher crawls.
    ///
    /// # Errors
    /// Returns a [`LocalFailure`] that lasted for more than 15 seconds. The host may have been
    /// contacted.
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

/// A request in flight, and the result to record unless a better one is known. `None` if the host
/// was not contacted.
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
