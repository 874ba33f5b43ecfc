//! Addresses that are dead: remembered so that the next host there need not wait to learn it.
//!
//! An (address, port) is dead once it refused or did not connect for two different hosts, and
//! only for a while. That is where skipping equals trying: the outcome kept is the one that
//! trying gave. Memory is bounded; forgetting costs requests, never a different outcome.
//! Must not know: URLs, names beyond telling two apart.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;

use super::outcome::Outcome;

const REMEMBERED: usize = 65_536;
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

struct Failure {
    first_host: String,
    by_two_hosts: bool,
    outcome: Outcome,
    seen: Instant,
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
                let failure = Failure { first_host, by_two_hosts: false, outcome, seen };
                failures.put(endpoint, failure);
            }
        }
    }

    /// Forgets the endpoints that were only silent, before a later pass: that may have been ours.
    pub(crate) fn forget_silence(&self) {
        let mut failures = self.failures();
        let silent: Vec<SocketAddr> = failures
            .iter()
            .filter(|(_, failure)| failure.outcome == Outcome::ConnectTimeout)
            .map(|(endpoint, _)| *endpoint)
            .collect();
        for endpoint in silent {
            failures.pop(&endpoint);
        }
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

    #[test]
    fn silence_is_forgotten_and_a_refusal_is_not() {
        let endpoints = DeadEndpoints::new(true);
        let silent: SocketAddr = "192.0.2.1:443".parse().expect("an address");
        let refusing: SocketAddr = "192.0.2.2:443".parse().expect("an address");
        for host in ["a.example", "b.example"] {
            endpoints.failed(silent, host, Outcome::ConnectTimeout);
            endpoints.failed(refusing, host, Outcome::ConnectRefused);
        }
        assert_eq!(endpoints.verdict(silent), Some(Outcome::ConnectTimeout));
        endpoints.forget_silence();
        assert_eq!(endpoints.verdict(silent), None);
        assert_eq!(endpoints.verdict(refusing), Some(Outcome::ConnectRefused));
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
