//! Checks keys with Postgres, in at most 200 statements per second.
//!
//! After a key is accepted once, it passes immediately until Postgres rejects it. All other keys
//! wait for the next check, which takes at most [`MAX_PER_NETWORK`] keys from each network, so that
//! a flood of wrong keys delays only keys from its own network. Wrong keys are not remembered, so
//! that a key works as soon as it is added.
//!
//! Invariant: memory is limited by the connections and by [`MAX_ACCEPTED`].

use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
    time::Duration,
};

use axum::{http::StatusCode, response::Response};
use everytab_coordinator::{ApiCaller, Coordinator};
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep},
};

use crate::problem::{BusyFor, Problem, ProblemCode};

/// Minimum pause between two checks.
const PAUSE: Duration = Duration::from_millis(5);
/// The pause is this many times as long as the last check, up to [`MAX_PAUSE`], so that checks
/// usually take at most a fifth of one connection's time.
const PAUSE_PER_CHECK: u32 = 4;
/// Maximum pause, so that one slow check delays no client for long.
const MAX_PAUSE: Duration = Duration::from_millis(500);
/// Maximum keys from one network per check. A network is an IPv4 address or an IPv6 /64, because
/// providers give a customer one of these.
const MAX_PER_NETWORK: usize = 64;
/// Maximum keys per check. Keys beyond this limit wait for a later check.
const MAX_PER_CHECK: usize = 1_024;
/// Maximum requests that can arrive between two checks. Requests beyond this limit are rejected.
const MAX_ARRIVING: usize = 16_384;
/// Maximum accepted keys that are remembered. When this is reached, all are forgotten and checked
/// again.
const MAX_ACCEPTED: usize = 10_000;
/// Seconds after which a client may retry if too many keys are waiting.
const RETRY_S: u64 = 1;

const _: () = assert!(MAX_PER_NETWORK <= MAX_PER_CHECK);

#[derive(Debug)]
struct Waiting {
    caller: ApiCaller,
    network: IpAddr,
    answer: oneshot::Sender<Result<(), Problem>>,
}

/// Accepted keys, each with the time until which its bucket is full.
type Accepted = Arc<Mutex<HashMap<ApiCaller, Instant>>>;

#[derive(Debug)]
pub(crate) struct KeyChecks {
    accepted: Accepted,
    arriving: mpsc::Sender<Waiting>,
}

impl KeyChecks {
    pub(crate) fn start(coordinator: Coordinator) -> Self {
        let (arriving, waiting) = mpsc::channel(MAX_ARRIVING);
        let accepted = Accepted::default();
        tokio::spawn(check_all(waiting, coordinator, Arc::clone(&accepted)));
        Self { accepted, arriving }
    }

    /// Waits until the key is accepted.
    ///
    /// # Errors
    /// Returns a problem if the key is invalid, its bucket is full, too many keys are waiting, or
    /// Postgres cannot be reached.
    pub(crate) async fn check(&self, caller: &ApiCaller, address: IpAddr) -> Result<(), Problem> {
        let free_at = self.accepted.lock().get(caller).copied();
        if let Some(free_at) = free_at {
            let busy_for = free_at.saturating_duration_since(Instant::now());
            return if busy_for.is_zero() { Ok(()) } else { Err(Problem::throttled(busy_for)) };
        }
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting { caller: caller.clone(), network: network_of(address), answer };
        let too_many = || Problem::unavailable("too many keys are waiting to be checked", RETRY_S);
        self.arriving.try_send(waiting).map_err(|_| too_many())?;
        answered.await.unwrap_or_else(|_| Err(Problem::new(ProblemCode::Internal)))
    }

    /// Updates a key's state from the response to its request: it may be rejected, or its bucket
    /// full.
    pub(crate) fn note(&self, caller: &ApiCaller, response: &Response) {
        if response.status() == StatusCode::UNAUTHORIZED {
            self.accepted.lock().remove(caller);
        } else if let Some(BusyFor(time)) = response.extensions().get()
            && let Some(free_at) = self.accepted.lock().get_mut(caller)
            && let Some(later) = Instant::now().checked_add(*time)
        {
            *free_at = later;
        }
    }
}

async fn check_all(
    mut arriving: mpsc::Receiver<Waiting>,
    coordinator: Coordinator,
    accepted: Accepted,
) {
    let mut waiting = VecDeque::new();
    loop {
        if waiting.is_empty() {
            let Some(first) = arriving.recv().await else { return };
            waiting.push_back(first);
        }
        while let Ok(next) = arriving.try_recv() {
            waiting.push_back(next);
        }
        let together = take_turns(&mut waiting);
        let began = Instant::now();
        check(&coordinator, &accepted, together).await;
        let pause = began.elapsed().saturating_mul(PAUSE_PER_CHECK);
        sleep(pause.clamp(PAUSE, MAX_PAUSE)).await;
    }
}

/// Removes and returns the requests for the next check. Drops those whose clients disconnected.
fn take_turns(waiting: &mut VecDeque<Waiting>) -> Vec<Waiting> {
    let mut per_network = HashMap::new();
    let mut taken = Vec::new();
    let mut rest = VecDeque::new();
    for one in waiting.drain(..).filter(|one| !one.answer.is_closed()) {
        let count: &mut usize = per_network.entry(one.network).or_default();
        if taken.len() < MAX_PER_CHECK && *count < MAX_PER_NETWORK {
            *count += 1;
            taken.push(one);
        } else {
            rest.push_back(one);
        }
    }
    *waiting = rest;
    taken
}

async fn check(coordinator: &Coordinator, accepted: &Accepted, together: Vec<Waiting>) {
    let callers: Vec<ApiCaller> = together.iter().map(|one| one.caller.clone()).collect();
    let results: Vec<Result<(), Problem>> = match coordinator.api_valid_keys(&callers).await {
        Ok(are_valid) => {
            let unauthorized = || Problem::new(ProblemCode::Unauthorized);
            are_valid
                .into_iter()
                .map(|valid| valid.then_some(()).ok_or_else(unauthorized))
                .collect()
        }
        Err(error) => {
            let problem = Problem::from(error);
            callers.iter().map(|_| Err(problem.clone())).collect()
        }
    };
    for (one, result) in together.into_iter().zip(results) {
        if result.is_ok() {
            let mut accepted = accepted.lock();
            if accepted.len() >= MAX_ACCEPTED {
                accepted.clear();
            }
            accepted.insert(one.caller, Instant::now());
        }
        one.answer.send(result).ok();
    }
}

fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(address: &str) -> (Waiting, oneshot::Receiver<Result<(), Problem>>) {
        let caller = ApiCaller { key: address.to_owned(), secret_sha256: [0; 32] };
        let (answer, answered) = oneshot::channel();
        let network = network_of(address.parse().unwrap());
        (Waiting { caller, network, answer }, answered)
    }

    #[test]
    fn each_check_has_a_limited_share_per_network_in_order() {
        let mut queue = VecDeque::new();
        let mut clients = Vec::new();
        let flood = (0..200).map(|number| format!("2001:db8:0:1::{number:x}"));
        for address in flood.chain(["192.0.2.1".to_owned(), "::ffff:192.0.2.1".to_owned()]) {
            let (one, client) = waiting(&address);
            queue.push_back(one);
            clients.push(client);
        }
        clients.remove(0);
        let first = take_turns(&mut queue);
        assert_eq!(first.len(), MAX_PER_NETWORK + 2);
        assert_eq!(first[0].caller.key, "2001:db8:0:1::1");
        assert_eq!(first[MAX_PER_NETWORK].network, first[MAX_PER_NETWORK + 1].network);
        let second = take_turns(&mut queue);
        assert_eq!(second.len(), MAX_PER_NETWORK);
        assert_eq!(second[0].caller.key, "2001:db8:0:1::41");
        assert_eq!(queue.len(), 199 - 2 * MAX_PER_NETWORK);
    }
}
