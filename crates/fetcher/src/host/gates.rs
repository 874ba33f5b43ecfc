//! Makes redirects to other hosts obey the delay of a host that this process also crawls.
//!
//! A chain whose redirects are followed, such as that of a robots.txt, may lead to any host. This
//! host may have its own [`HostTurns`](crate::HostTurns) in this process, which do not know about
//! the chain. Each request of a crawl therefore passes the gate of its host: one at a time, a guest
//! only after the host's delay, and the host's own next request only after another delay.
//!
//! Invariant: a chain is in at most one gate, so that no two chains wait for each other. Does not
//! depend on the order of a host's requests, or on other processes.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::OwnedMutexGuard,
    time::{Instant, sleep_until},
};

use crate::host::delay::RAISED_DELAY_MAX;

/// Minimum number of gates before idle ones are dropped. After that, the threshold is twice the
/// number that remained. A gate takes some hundred bytes.
const MIN_GATES_DROPPED: usize = 1_024;

/// The source of a request to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visitor {
    /// The host's own requests, with this delay. They wait after their last request themselves.
    Own(Duration),
    /// A chain that started on another host, with this delay.
    Guest(Duration),
}

/// The gates of all hosts that crawls of this process have requested recently.
#[derive(Default)]
pub(crate) struct HostGates(Mutex<Gates>);

#[derive(Default)]
struct Gates {
    by_host: HashMap<String, Arc<Gate>>,
    dropped_from: usize,
}

type Gate = tokio::sync::Mutex<Ends>;

/// When the last requests to a host ended.
#[derive(Debug, Default)]
struct Ends {
    /// The host's own last request, with its delay.
    own: Option<(Instant, Duration)>,
    /// The last request of a guest.
    guest: Option<Instant>,
}

impl Ends {
    /// Returns when a visitor may send a request. `None` if now.
    fn free_at(&self, visitor: Visitor) -> Option<Instant> {
        match visitor {
            Visitor::Own(delay) => self.guest.map(|at| at + delay),
            Visitor::Guest(delay) => {
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

/// A request that has passed a gate. Dropping it marks the end of the request.
pub(crate) struct Passage {
    ends: OwnedMutexGuard<Ends>,
    visitor: Visitor,
}

impl Drop for Passage {
    fn drop(&mut self) {
        let now = Instant::now();
        match self.visitor {
            Visitor::Own(delay) => self.ends.own = Some((now, delay)),
            Visitor::Guest(_) => self.ends.guest = Some(now),
        }
    }
}

impl HostGates {
    /// Waits until a visitor may send a request to a host.
    pub(crate) async fn enter(&self, host: &str, visitor: Visitor) -> Passage {
        let ends = self.gate(host).lock_owned().await;
        // Create the passage after the wait: a visitor that is dropped while it waits has sent
        // nothing.
        if let Some(at) = ends.free_at(visitor) {
            sleep_until(at).await;
        }
        Passage { ends, visitor }
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

    const OWN: Visitor = Visitor::Own(Duration::from_secs(10));
    const GUEST: Visitor = Visitor::Guest(Duration::from_secs(1));

    /// Returns the seconds for which each visitor waits, in order.
    async fn waits(gates: &HostGates, visitors: &[Visitor]) -> Vec<u64> {
        let mut waits = Vec::new();
        for visitor in visitors {
            let began = Instant::now();
            drop(gates.enter("a.example", *visitor).await);
            waits.push(began.elapsed().as_secs());
        }
        waits
    }

    #[tokio::test(start_paused = true)]
    async fn a_guest_keeps_the_hosts_delay_and_so_does_the_host_after_it() {
        let gates = HostGates::default();
        // Between two of its own requests the host waits itself, not the gate.
        assert_eq!(waits(&gates, &[GUEST, GUEST, OWN, OWN, GUEST]).await, [0, 1, 10, 0, 10]);
        drop(gates.enter("b.example", GUEST).await);
        let began = Instant::now();
        drop(gates.enter("b.example", GUEST).await);
        assert_eq!(began.elapsed().as_secs(), 1, "each host has its own gate");
    }

    #[tokio::test(start_paused = true)]
    async fn one_passes_at_a_time() {
        let gates = HostGates::default();
        let passage = gates.enter("a.example", OWN).await;
        let other = gates.enter("a.example", GUEST);
        tokio::pin!(other);
        let early = tokio::time::timeout(Duration::from_secs(60), other.as_mut()).await;
        assert!(early.is_err(), "the first one has not ended");
        drop(passage);
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
