//! Checks whether this host's link to the network works. It works if a connection was made in the
//! last second, or if an address that accepted one before accepts one now.
//!
//! A link that drops packets looks like a silent peer. If a fetch times out and no known address
//! can be reached, this is therefore a local failure. While too few good addresses are known, we
//! assume that the peer is the cause.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use parking_lot::Mutex;
use tokio::{net::TcpStream, time::timeout};

use crate::local_failure::LocalFailure;

/// Maximum age of a connection that proves that the link works.
const FRESH: Duration = Duration::from_secs(1);
/// Maximum number of good addresses to remember.
const MAX_GOOD_ADDRESSES: usize = 8;
/// Minimum number of good addresses for a check. If there are fewer, all of them may be down.
const MIN_GOOD_ADDRESSES: usize = 3;
/// Time limit for the connections of a check. It is shorter than the time limit for connecting, but
/// long enough to resend one lost packet.
pub(crate) const CHECK_TIMEOUT: Duration = Duration::from_millis(3_500);

#[derive(Default)]
struct GoodAddresses {
    last_connected: Option<Instant>,
    /// The end of the last interval longer than [`FRESH`] without a connection.
    last_quiet: Option<Instant>,
    endpoints: VecDeque<SocketAddr>,
}

#[derive(Default)]
pub(crate) struct Connectivity {
    good: Mutex<GoodAddresses>,
    /// Held during a check, so that concurrent callers wait for its result.
    checking: tokio::sync::Mutex<()>,
}

impl Connectivity {
    pub(crate) fn connected(&self, endpoint: SocketAddr) {
        let mut good = self.good.lock();
        let now = Instant::now();
        if good.last_connected.is_some_and(|last| now.duration_since(last) > FRESH) {
            good.last_quiet = Some(now);
        }
        good.last_connected = Some(now);
        good.endpoints.retain(|known| known.ip() != endpoint.ip());
        good.endpoints.push_front(endpoint);
        good.endpoints.truncate(MAX_GOOD_ADDRESSES);
    }

    pub(crate) async fn check(&self) -> Result<(), LocalFailure> {
        let asked = Instant::now();
        if self.has_connected_since(asked.checked_sub(FRESH)) {
            return Ok(());
        }
        let _checking = self.checking.lock().await;
        if self.has_connected_since(Some(asked)) {
            return Ok(());
        }
        let good: Vec<SocketAddr> = self.good.lock().endpoints.iter().copied().collect();
        if good.len() < MIN_GOOD_ADDRESSES {
            return Ok(());
        }
        let mut attempts: FuturesUnordered<_> = good
            .into_iter()
            .map(|endpoint| async move {
                let connected = timeout(CHECK_TIMEOUT, TcpStream::connect(endpoint)).await;
                connected.is_ok_and(|connected| connected.is_ok()).then_some(endpoint)
            })
            .collect();
        while let Some(attempt) = attempts.next().await {
            if let Some(endpoint) = attempt {
                self.connected(endpoint);
                return Ok(());
            }
        }
        Err(LocalFailure::NetworkUnreachable)
    }

    /// Returns true if an interval of more than [`FRESH`] without a connection ended after `began`,
    /// because the link may have been down then.
    pub(crate) fn was_quiet_since(&self, began: Instant) -> bool {
        let good = self.good.lock();
        let is_known = good.endpoints.len() >= MIN_GOOD_ADDRESSES;
        is_known && good.last_quiet.is_some_and(|end| end > began)
    }

    fn has_connected_since(&self, since: Option<Instant>) -> bool {
        let last = self.good.lock().last_connected;
        last.is_some_and(|last| since.is_none_or(|since| last >= since))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn closed() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address")
    }

    fn age(connectivity: &Connectivity) {
        connectivity.good.lock().last_connected = None;
    }

    #[tokio::test]
    async fn a_link_is_dead_when_no_good_address_can_be_reached_any_more() {
        let connectivity = Connectivity::default();
        assert_eq!(connectivity.check().await, Ok(()), "before the first connection");
        for last in 1..=3 {
            let mut endpoint = closed();
            endpoint.set_ip([127, 0, 0, last].into());
            assert_eq!(connectivity.check().await, Ok(()), "{last}");
            connectivity.connected(endpoint);
            age(&connectivity);
        }
        assert_eq!(connectivity.check().await, Err(LocalFailure::NetworkUnreachable));
        connectivity.connected(closed());
        assert_eq!(connectivity.check().await, Ok(()), "a connection was just made");
    }

    #[tokio::test]
    async fn a_link_may_have_been_cut_while_no_connection_was_made() {
        let connectivity = Connectivity::default();
        let began = Instant::now();
        let quiet = || connectivity.good.lock().last_connected = began.checked_sub(FRESH * 2);
        for last in 1..=3 {
            quiet();
            assert!(
                !connectivity.was_quiet_since(began),
                "{last}: fewer addresses than the minimum"
            );
            let mut endpoint = closed();
            endpoint.set_ip([127, 0, 0, last].into());
            connectivity.connected(endpoint);
        }
        assert!(connectivity.was_quiet_since(began));
        let later = Instant::now();
        connectivity.connected(closed());
        assert!(!connectivity.was_quiet_since(later), "connections were made all the time");
    }

    #[tokio::test]
    async fn one_address_that_can_be_reached_is_enough() {
        let connectivity = Connectivity::default();
        let listener = TcpListener::bind("127.0.0.9:0").expect("a port");
        connectivity.connected(listener.local_addr().expect("an address"));
        for last in 1..=MAX_GOOD_ADDRESSES as u8 - 1 {
            let mut endpoint = closed();
            endpoint.set_ip([127, 0, 0, last].into());
            connectivity.connected(endpoint);
        }
        age(&connectivity);
        assert_eq!(connectivity.check().await, Ok(()));
    }
}
