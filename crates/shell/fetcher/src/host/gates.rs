//! Makes redirects from other hosts obey the delay of a host that this process also crawls.
//!
//! Each crawl request passes the gate of its host, and a gate lets one request pass at a time. A
//! redirect chain is in at most one gate at a time, so that two chains never wait for each other.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::OwnedMutexGuard,
    time::{Instant, sleep_until},
};

use crate::host::delay::RAISED_DELAY_MAX;

/// Minimum number of gates at which idle gates are dropped.
const MIN_GATES_DROPPED: usize = 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestSource {
    /// The host's own client, with this delay. The client waits between its own requests.
    Own(Duration),
    /// A redirect chain that started on another host, with that host's delay.
    Guest(Duration),
}

#[derive(Default)]
pub(crate) struct HostGates(Mutex<Gates>);

#[derive(Default)]
struct Gates {
    by_host: HashMap<String, Arc<Gate>>,
    dropped_from: usize,
}

type Gate = tokio::sync::Mutex<Ends>;

#[derive(Debug, Default)]
struct Ends {
    own: Option<(Instant, Duration)>,
    guest: Option<Instant>,
}

impl Ends {
    fn free_at(&self, source: RequestSource) -> Option<Instant> {
        match source {
            RequestSource::Own(delay) => self.guest.map(|at| at + delay),
            RequestSource::Guest(delay) => {
                let own = self.own.map(|(at, own)| at + own.max(delay));
                own.max(self.guest.map(|at| at + delay))
            }
        }
    }

    fn holds_back(&self, now: Instant) -> bool {
        self.own.is_some_and(|(at, delay)| at + delay > now)
            || self.guest.is_some_and(|at| at + RAISED_DELAY_MAX > now)
    }
}

/// Dropping it marks the end of the request.
pub(crate) struct GatePass {
    ends: OwnedMutexGuard<Ends>,
    source: RequestSource,
}

impl Drop for GatePass {
    fn drop(&mut self) {
        let now = Instant::now();
        match self.source {
            RequestSource::Own(delay) => self.ends.own = Some((now, delay)),
            RequestSource::Guest(_) => self.ends.guest = Some(now),
        }
    }
}

impl HostGates {
    pub(crate) async fn enter(&self, host: &str, source: RequestSource) -> GatePass {
        let ends = self.gate(host).lock_owned().await;
        // Create the pass after taking the lock, because a task that is cancelled while it waits
        // for the lock must not record a request.
        if let Some(at) = ends.free_at(source) {
            sleep_until(at).await;
        }
        GatePass { ends, source }
    }

    fn gate(&self, host: &str) -> Arc<Gate> {
        let mut gates = self.0.lock();
        if gates.by_host.len() >= gates.dropped_from.max(MIN_GATES_DROPPED) {
            let now = Instant::now();
            gates.by_host.retain(|_, gate| match gate.try_lock() {
                Ok(ends) => Arc::strong_count(gate) > 1 || ends.holds_back(now),
                Err(_) => true,
            });
            gates.dropped_from = 2 * gates.by_host.len();
        }
        if let Some(gate) = gates.by_host.get(host) {
            return Arc::clone(gate);
        }
        Arc::clone(gates.by_host.entry(host.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: RequestSource = RequestSource::Own(Duration::from_secs(10));
    const GUEST: RequestSource = RequestSource::Guest(Duration::from_secs(1));

    async fn waits(gates: &HostGates, sources: &[RequestSource]) -> Vec<u64> {
        let mut waits = Vec::new();
        for source in sources {
            let began = Instant::now();
            drop(gates.enter("a.example", *source).await);
            waits.push(began.elapsed().as_secs());
        }
        waits
    }

    #[tokio::test(start_paused = true)]
    async fn a_guest_keeps_the_hosts_delay_and_so_does_the_host_after_it() {
        let gates = HostGates::default();
        assert_eq!(waits(&gates, &[GUEST, GUEST, OWN, OWN, GUEST]).await, [0, 1, 10, 0, 10]);
        drop(gates.enter("b.example", GUEST).await);
        let began = Instant::now();
        drop(gates.enter("b.example", GUEST).await);
        assert_eq!(began.elapsed().as_secs(), 1, "each host has its own gate");
    }

    #[tokio::test(start_paused = true)]
    async fn requests_pass_one_at_a_time() {
        let gates = HostGates::default();
        let pass = gates.enter("a.example", OWN).await;
        let other = gates.enter("a.example", GUEST);
        tokio::pin!(other);
        let early = tokio::time::timeout(Duration::from_secs(60), other.as_mut()).await;
        assert!(early.is_err(), "the first request is still in flight");
        drop(pass);
        let began = Instant::now();
        drop(other.await);
        assert_eq!(began.elapsed().as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn gates_that_hold_nothing_back_are_dropped() {
        let gates = HostGates::default();
        for number in 0..10 * MIN_GATES_DROPPED {
            drop(gates.enter(&format!("{number}.example"), OWN).await);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!(gates.0.lock().by_host.len() <= MIN_GATES_DROPPED + 1);
    }
}
