//! Redirects to other hosts keep the delay of a host that this process requests anyway.
//!
//! A chain whose redirects are followed, such as that of a robots.txt, may lead to any host. That
//! host may have its own turns in this process ([`HostTurns`](crate::HostTurns)), which know
//! nothing of the chain. So each request of a crawl passes the gate of its host: one at a time, a
//! guest only after the host's delay, and the host's own next request only after its delay again.
//! Invariant: a chain is in one gate at most, so that no two wait for each other. Does not depend
//! on turns, on which URL is next, or on other processes.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::OwnedMutexGuard,
    time::{Instant, sleep_until},
};

use crate::host::delay::RAISED_DELAY_MAX;

/// Number of gates from which on those are dropped that no longer hold anything back; afterwards
/// twice what remains. A gate takes some hundred bytes.
const MIN_GATES_DROPPED: usize = 1_024;

/// Who requests something from a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visitor {
    /// The turns of the host, whose delay this is. They wait for their last request themselves.
    Own(Duration),
    /// A chain that began on another host, whose delay this is.
    Guest(Duration),
}

/// The gates of all hosts that crawls of this process have requested lately.
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
    /// The last request of the host's own turns, with their delay.
    own: Option<(Instant, Duration)>,
    /// The last request of a guest.
    guest: Option<Instant>,
}

impl Ends {
    /// Returns from when on a visitor may send a request. `None` if now.
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

/// A request that is in a gate. When it is dropped, the request has ended.
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
        // Before it waits: one that is given up meanwhile has sent nothing.
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

    /// The seconds for which each visitor waits, one after the other.
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
        // Between two of its own the host's turns wait, and not the gate.
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
