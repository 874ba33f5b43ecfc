//! An endpoint is dead for ten minutes if connections to it were refused or timed out for two
//! different hosts. Skipping it has the same result as dialling it, because the recorded outcome is
//! used. If a shard's later pass needs an endpoint that timed out, the first fetch there dials it
//! once more, and all other fetches of later passes use the result.

use std::{
    future::Future,
    net::SocketAddr,
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::{
    local_failure::LocalFailure,
    outcome::{Dead, Outcome},
};

/// Maximum number of endpoints to remember, at about 200 bytes each.
const MAX_ENDPOINTS: usize = 65_536;
/// Time after the last failure until an endpoint is forgotten, because it may have been repaired.
const REMEMBERED_FOR: Duration = Duration::from_secs(600);

struct EndpointFailure {
    first_host: String,
    by_two_hosts: bool,
    outcome: Outcome,
    seen: Instant,
    tried_again: Arc<OnceCell<bool>>,
}

pub(crate) struct DeadEndpoints {
    failures: Mutex<LruCache<SocketAddr, EndpointFailure>>,
    remembers: bool,
}

impl DeadEndpoints {
    pub(crate) fn new(remembers: bool) -> Self {
        let size = NonZeroUsize::new(MAX_ENDPOINTS).unwrap_or(NonZeroUsize::MIN);
        Self { failures: Mutex::new(LruCache::new(size)), remembers }
    }

    pub(crate) fn verdict(&self, endpoint: SocketAddr) -> Option<Outcome> {
        let mut failures = self.failures.lock();
        let failure = failures.get(&endpoint)?;
        if failure.seen.elapsed() > REMEMBERED_FOR {
            failures.pop(&endpoint);
            return None;
        }
        failure.by_two_hosts.then_some(failure.outcome)
    }

    pub(crate) fn failed(&self, endpoint: SocketAddr, host: &str, outcome: Outcome) {
        if outcome.dead() != Dead::Endpoint || !self.remembers {
            return;
        }
        let mut failures = self.failures.lock();
        let seen = Instant::now();
        match failures.get_mut(&endpoint) {
            Some(failure) if failure.outcome == outcome => {
                failure.by_two_hosts |= failure.first_host != host;
                failure.seen = seen;
            }
            _ => {
                let failure = EndpointFailure {
                    first_host: host.to_owned(),
                    by_two_hosts: false,
                    outcome,
                    seen,
                    tried_again: Arc::default(),
                };
                failures.put(endpoint, failure);
            }
        }
    }

    /// Returns whether a dead endpoint accepts a connection now, and whether this call ran
    /// `attempt` to find out. An endpoint that refused a connection is not tried again, and a
    /// forgotten endpoint counts as accepting one.
    pub(crate) async fn try_again(
        &self,
        endpoint: SocketAddr,
        attempt: impl Future<Output = Result<bool, LocalFailure>>,
    ) -> Result<(bool, bool), LocalFailure> {
        let tried_again = match self.failures.lock().get(&endpoint) {
            None => return Ok((true, false)),
            Some(failure) if failure.outcome != Outcome::ConnectTimeout => {
                return Ok((false, false));
            }
            Some(failure) => Arc::clone(&failure.tried_again),
        };
        let mut was_tried = false;
        let attempt = async {
            was_tried = true;
            attempt.await
        };
        let is_alive = *tried_again.get_or_try_init(|| attempt).await?;
        if is_alive {
            self.connected(endpoint);
        }
        Ok((is_alive, was_tried))
    }

    pub(crate) fn connected(&self, endpoint: SocketAddr) {
        self.failures.lock().pop(&endpoint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_dead_only_after_two_different_hosts() {
        let endpoints = DeadEndpoints::new(true);
        let endpoint: SocketAddr = "192.0.2.1:443".parse().expect("an address");
        endpoints.failed(endpoint, "a.example", Outcome::ConnectRefused);
        endpoints.failed(endpoint, "a.example", Outcome::ConnectRefused);
        assert_eq!(endpoints.verdict(endpoint), None);
        endpoints.failed(endpoint, "b.example", Outcome::ConnectRefused);
        assert_eq!(endpoints.verdict(endpoint), Some(Outcome::ConnectRefused));
        let other_port: SocketAddr = "192.0.2.1:80".parse().expect("an address");
        assert_eq!(endpoints.verdict(other_port), None);
        endpoints.connected(endpoint);
        assert_eq!(endpoints.verdict(endpoint), None);
    }

    #[tokio::test]
    async fn a_silent_endpoint_is_retried_once_for_all_and_a_refusing_one_is_not() {
        let endpoints = DeadEndpoints::new(true);
        let silent: SocketAddr = "192.0.2.1:443".parse().expect("an address");
        let refusing: SocketAddr = "192.0.2.2:443".parse().expect("an address");
        for host in ["a.example", "b.example"] {
            endpoints.failed(silent, host, Outcome::ConnectTimeout);
            endpoints.failed(refusing, host, Outcome::ConnectRefused);
        }
        let answer = |alive: bool| std::future::ready(Ok(alive));
        assert_eq!(endpoints.try_again(silent, answer(false)).await, Ok((false, true)));
        assert_eq!(endpoints.try_again(silent, answer(true)).await, Ok((false, false)));
        assert_eq!(endpoints.verdict(silent), Some(Outcome::ConnectTimeout));
        assert_eq!(endpoints.try_again(refusing, answer(true)).await, Ok((false, false)));
        assert_eq!(endpoints.verdict(refusing), Some(Outcome::ConnectRefused));
    }

    #[tokio::test]
    async fn an_endpoint_that_is_alive_again_is_not_dead_for_any_host() {
        let endpoints = DeadEndpoints::new(true);
        let silent: SocketAddr = "192.0.2.1:443".parse().expect("an address");
        for host in ["a.example", "b.example"] {
            endpoints.failed(silent, host, Outcome::ConnectTimeout);
        }
        let ours = std::future::ready(Err(LocalFailure::FileDescriptors));
        let tried = endpoints.try_again(silent, ours).await;
        assert_eq!(
            tried,
            Err(LocalFailure::FileDescriptors),
            "a local failure says nothing about the endpoint"
        );
        let alive = endpoints.try_again(silent, std::future::ready(Ok(true))).await;
        assert_eq!(alive, Ok((true, true)));
        assert_eq!(endpoints.verdict(silent), None);
    }

    #[test]
    fn outcomes_that_do_not_depend_on_the_endpoint_are_ignored() {
        let endpoints = DeadEndpoints::new(true);
        let endpoint: SocketAddr = "192.0.2.1:443".parse().expect("an address");
        for host in ["a.example", "b.example"] {
            endpoints.failed(endpoint, host, Outcome::TlsTimeout);
        }
        assert_eq!(endpoints.verdict(endpoint), None);
    }
}
