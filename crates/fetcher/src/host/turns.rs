//! The turns of one host: one request at a time, and the host's delay between the end of one and
//! the start of the next.
//!
//! Nothing of the fetcher is held between two turns but an open connection, and that only as long
//! as servers keep one open.
//! Must not know: which URL is next, other hosts.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use crate::{
    host::delay::{DelaySettings, HostAnswer, HostDelay},
    page::{options::PageOptions, page_fetched::PageFetched, page_request::PageRequest},
    request::{fetcher::Fetcher, pool::ConnectionPool},
    trouble::Trouble,
};

/// The time for which a connection is kept between two requests: Apache closes it after as long
/// unless it is told otherwise, others later.
const KEPT_OPEN_MAX: Duration = Duration::from_secs(5);

/// The turns of one host. The holder of the host has one of these and no more.
pub struct HostTurns {
    fetcher: Fetcher,
    options: Arc<PageOptions>,
    pool: ConnectionPool,
    /// The delay of the host, and what is known of it.
    pub delay: HostDelay,
}

impl HostTurns {
    /// The turns of a host with this delay.
    pub fn new(fetcher: &Fetcher, options: Arc<PageOptions>, delay: HostDelay) -> Self {
        Self { fetcher: fetcher.clone(), options, pool: ConnectionPool::default(), delay }
    }

    /// Waits until the next request may begin, if it is made with these settings.
    pub async fn ready(&self, settings: &DelaySettings) {
        if let Some(free_at) = self.delay.free_at(settings) {
            sleep_until(free_at).await;
        }
    }

    /// Makes a request to the host when it may begin, and records how it ended. A future that is
    /// dropped counts as a request that ended then.
    ///
    /// Redirects that are followed keep the delay of their hosts too: of this one, and of others as
    /// far as they have turns of the same fetcher.
    ///
    /// # Errors
    /// [`Trouble`] of this machine that did not pass within 15 seconds; the host was perhaps asked.
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

/// A request that is under way, and how it ends unless more is learnt; none if the host was not
/// asked.
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
