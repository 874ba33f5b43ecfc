//! Sends the requests to one host: one at a time, with the host's delay between the end of one and
//! the start of the next.
//!
//! Between two requests it only keeps an open connection, and only for as long as servers keep one
//! open. Does not depend on which URL is next, or on other hosts.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use crate::{
    host::delay::{DelaySettings, HostAnswer, HostDelay},
    page::{options::PageOptions, page_fetched::PageFetched, page_request::PageRequest},
    request::{fetcher::Fetcher, pool::ConnectionPool},
    trouble::Trouble,
};

/// Maximum time for which an idle connection is kept. By default, Apache closes it after this time,
/// others later.
const KEPT_OPEN_MAX: Duration = Duration::from_secs(5);

/// The requests to one host. The host's holder has exactly one of these.
pub struct HostTurns {
    fetcher: Fetcher,
    options: Arc<PageOptions>,
    pool: ConnectionPool,
    /// The delay of the host and its state.
    pub delay: HostDelay,
}

impl HostTurns {
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

    /// Sends a request to the host when it may start, and records how it ended. Dropping the future
    /// counts as the end of the request.
    ///
    /// Redirects that are followed obey the delays of their hosts too: of this one, and of others
    /// that the same fetcher crawls.
    ///
    /// # Errors
    /// Returns a [`Trouble`] that lasted for more than 15 seconds. The host may have been
    /// contacted.
    pub async fn fetch(
        &mut self,
        request: &PageRequest<'_>,
        settings: &DelaySettings,
    ) -> Result<PageFetched, Trouble> {
        self.ready(settings).await;
        let pause = self.delay.delay(settings);
        if self.delay.ended_at().is_some_and(|at| at.elapsed() > KEPT_OPEN_MAX) {
            self.pool = ConnectionPool::default();
        }
        let mut turn = Turn { delay: &mut self.delay, settings, answer: Some(HostAnswer::Void) };
        let fetched = self.fetcher.fetch_page_in(&self.options, &self.pool, request, pause).await;
        if let Ok(fetched) = &fetched {
            turn.answer = fetched.host_answer();
        }
        drop(turn);
        if self.delay.delay(settings) > KEPT_OPEN_MAX {
            self.pool = ConnectionPool::default();
        }
        fetched
    }
}

/// A request in flight, and the result to record unless a better one is known. `None` if the host
/// was not contacted.
struct Turn<'a> {
    delay: &'a mut HostDelay,
    settings: &'a DelaySettings,
    answer: Option<HostAnswer>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(answer) = self.answer {
            self.delay.ended(answer, self.settings, Instant::now());
        }
    }
}
