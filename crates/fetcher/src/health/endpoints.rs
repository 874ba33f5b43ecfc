//! Addresses that are dead: remembered so that the next host there need not wait to learn it.
//!
//! An (address, port) is dead once it refused or did not connect for two different hosts, and
//! only for a while. That is where skipping equals trying: the outcome kept is the one that
//! trying gave. What was only silent is asked once more by the first later pass that needs it, for
//! all of them. Memory is bounded; forgetting costs requests, never a different outcome.
//! Must not know: URLs, names beyond telling two apart.

use std::{
    future::Future,
    net::SocketAddr,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use lru::LruCache;
use tokio::sync::OnceCell;

use crate::outcome::{Outcome, Trouble};

const REMEMBERED: usize = 65_536;
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

struct Failure {
    first_host: String,
    by_two_hosts: bool,
    outcome: Outcome,
    seen: Instant,
    /// Whether it took a connection when it was asked once more.
    again: Arc<OnceCell<bool>>,
}

/// The dead endpoints of one fetcher, over all its shards.
pub(crate) struct DeadEndpoints {
    failures: Mutex<LruCache<SocketAddr, Failure>>,
    remembers: bool,
}

impl DeadEndpoints {
    pub(crate) fn new(remembers: bool) -> DeadEndpoints {
        let size = NonZeroUsize::new(REMEMBERED).unwrap_or(NonZeroUsize::MIN);
        DeadEndpoints { failures: Mutex::new(LruCache::new(size)), remembers }
    }

    /// The outcome that dialling `endpoint` would have, if it is known to be dead.
    pub(crate) fn verdict(&self, endpoint: SocketAddr) -> Option<Outcome> {
        let mut failures = self.failures();
        let failure = failures.get(&endpoint)?;
        if failure.seen.elapsed() > FORGOTTEN_AFTER {
            failures.pop(&endpoint);
            return None;
        }
        failure.by_two_hosts.then_some(failure.outcome)
    }

    /// Dialling `endpoint` for `host` ended so. Outcomes that say nothing about the endpoint
    /// itself are ignored.
    pub(crate) fn failed(&self, endpoint: SocketAddr, host: &str, outcome: Outcome) {
        let is_its_own = matches!(outcome, Outcome::ConnectRefused | Outcome::ConnectTimeout);
        if !is_its_own || !self.remembers {
            return;
        }
        let mut failures = self.failures();
        let seen = Instant::now();
        match failures.get_mut(&endpoint) {
            Some(failure) if failure.outcome == outcome => {
                failure.by_two_hosts |= failure.first_host != host;
                failure.seen = seen;
            }
            // Another outcome than before: its two hosts are counted anew.
            _ => {
                let first_host = host.to_owned();
                let again = Arc::default();
                let failure = Failure { first_host, by_two_hosts: false, outcome, seen, again };
                failures.put(endpoint, failure);
            }
        }
    }

    /// Whether a dead endpoint takes a connection now, and whether it was this call that found out
    /// by `asking`. Others who want to know meanwhile wait for the answer; it stays until the
    /// endpoint is forgotten. A refusal is never asked again.
    pub(crate) async fn ask_again(
        &self,
        endpoint: SocketAddr,
        asking: impl Future<Output = Result<bool, Trouble>>,
    ) -> Result<(bool, bool), Trouble> {
        let again = match self.failures().get(&endpoint) {
            None => return Ok((true, false)),
            Some(failure) if failure.outcome != Outcome::ConnectTimeout => {
                return Ok((false, false));
            }
            Some(failure) => Arc::clone(&failure.again),
        };
        let mut was_asked = false;
        let asking = async {
            was_asked = true;
            asking.await
        };
        let is_alive = *again.get_or_try_init(|| asking).await?;
        if is_alive {
            self.connected(endpoint);
        }
        Ok((is_alive, was_asked))
    }

    /// `endpoint` accepted a connection.
    pub(crate) fn connected(&self, endpoint: SocketAddr) {
        self.failures().pop(&endpoint);
    }

    fn failures(&self) -> MutexGuard<'_, LruCache<SocketAddr, Failure>> {
        // Each change is one call on the map, so a panic elsewhere cannot leave it half changed.
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
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
    async fn silence_is_asked_about_once_more_for_all_and_a_refusal_is_not() {
        let endpoints = DeadEndpoints::new(true);
        let silent: SocketAddr = "192.0.2.1:443".parse().expect("an address");
        let refusing: SocketAddr = "192.0.2.2:443".parse().expect("an address");
        for host in ["a.example", "b.example"] {
            endpoints.failed(silent, host, Outcome::ConnectTimeout);
            endpoints.failed(refusing, host, Outcome::ConnectRefused);
        }
        let answer = |alive: bool| std::future::ready(Ok(alive));
        assert_eq!(endpoints.ask_again(silent, answer(false)).await, Ok((false, true)));
        assert_eq!(endpoints.ask_again(silent, answer(true)).await, Ok((false, false)));
        assert_eq!(endpoints.verdict(silent), Some(Outcome::ConnectTimeout));
        assert_eq!(endpoints.ask_again(refusing, answer(true)).await, Ok((false, false)));
        assert_eq!(endpoints.verdict(refusing), Some(Outcome::ConnectRefused));
    }

    #[tokio::test]
    async fn an_endpoint_that_is_alive_again_is_dead_for_nobody() {
        let endpoints = DeadEndpoints::new(true);
        let silent: SocketAddr = "192.0.2.1:443".parse().expect("an address");
        for host in ["a.example", "b.example"] {
            endpoints.failed(silent, host, Outcome::ConnectTimeout);
        }
        let ours = std::future::ready(Err(Trouble::FileDescriptors));
        let asked = endpoints.ask_again(silent, ours).await;
        assert_eq!(asked, Err(Trouble::FileDescriptors), "and nothing is learnt by it");
        let alive = endpoints.ask_again(silent, std::future::ready(Ok(true))).await;
        assert_eq!(alive, Ok((true, true)));
        assert_eq!(endpoints.verdict(silent), None);
    }

    #[test]
    fn what_is_not_about_the_endpoint_is_not_remembered() {
        let endpoints = DeadEndpoints::new(true);
        let endpoint: SocketAddr = "192.0.2.1:443".parse().expect("an address");
        for host in ["a.example", "b.example"] {
            endpoints.failed(endpoint, host, Outcome::TlsTimeout);
        }
        assert_eq!(endpoints.verdict(endpoint), None);
    }
}
