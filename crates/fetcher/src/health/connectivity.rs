//! Is our own link alive? Told by others: by a connection made just now, or by one made on purpose
//! to addresses that took one before.
//!
//! A link that swallows packets looks like a peer that is silent; what times out while nobody
//! at all can be reached is our own trouble and no outcome. Where too few addresses are known to
//! be good, nothing can be told and the peer is to blame.
//! Must not know: what timed out, names.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::{net::TcpStream, time::timeout};

use crate::outcome::Trouble;

/// A connection that is no older says that the link is alive.
const FRESH: Duration = Duration::from_secs(1);
/// Addresses remembered, the latest first.
const REMEMBERED: usize = 8;
/// Fewer say nothing: they may have gone away themselves.
const TELLING: usize = 3;
/// Less than a connect deadline, so that the answer is about now; more than one lost packet.
const PATIENCE: Duration = Duration::from_millis(3_500);

#[derive(Default)]
struct Memory {
    last_sign: Option<Instant>,
    good: VecDeque<SocketAddr>,
}

/// The link of one fetcher.
#[derive(Default)]
pub(crate) struct Uplink {
    memory: Mutex<Memory>,
    turn: tokio::sync::Mutex<()>,
}

impl Uplink {
    /// `endpoint` took a connection.
    pub(crate) fn connected(&self, endpoint: SocketAddr) {
        let mut memory = self.memory();
        memory.last_sign = Some(Instant::now());
        memory.good.retain(|known| known.ip() != endpoint.ip());
        memory.good.push_front(endpoint);
        memory.good.truncate(REMEMBERED);
    }

    /// Asks whether anything can be reached; one asks for all who ask at the same time.
    ///
    /// Errors: nothing can, and much could before.
    pub(crate) async fn check(&self) -> Result<(), Trouble> {
        let asked = Instant::now();
        if self.has_sign_since(asked.checked_sub(FRESH)) {
            return Ok(());
        }
        let _turn = self.turn.lock().await;
        if self.has_sign_since(Some(asked)) {
            return Ok(());
        }
        let good: Vec<SocketAddr> = self.memory().good.iter().copied().collect();
        if good.len() < TELLING {
            return Ok(());
        }
        let mut asking: FuturesUnordered<_> = good
            .into_iter()
            .map(|endpoint| async move {
                let connected = timeout(PATIENCE, TcpStream::connect(endpoint)).await;
                connected.is_ok_and(|connected| connected.is_ok()).then_some(endpoint)
            })
            .collect();
        while let Some(answer) = asking.next().await {
            if let Some(endpoint) = answer {
                self.connected(endpoint);
                return Ok(());
            }
        }
        Err(Trouble::NetworkUnreachable)
    }

    fn has_sign_since(&self, since: Option<Instant>) -> bool {
        let last = self.memory().last_sign;
        last.is_some_and(|last| since.is_none_or(|since| last >= since))
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // A list with one address too few is still a list.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn nobody() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address")
    }

    /// As if every sign were old.
    fn age(uplink: &Uplink) {
        uplink.memory().last_sign = None;
    }

    #[tokio::test]
    async fn a_link_is_dead_when_nobody_can_be_reached_any_more() {
        let uplink = Uplink::default();
        assert_eq!(uplink.check().await, Ok(()), "nothing is known");
        for last in 1..=3 {
            let mut endpoint = nobody();
            endpoint.set_ip([127, 0, 0, last].into());
            assert_eq!(uplink.check().await, Ok(()), "{last}");
            uplink.connected(endpoint);
            age(&uplink);
        }
        assert_eq!(uplink.check().await, Err(Trouble::NetworkUnreachable));
        uplink.connected(nobody());
        assert_eq!(uplink.check().await, Ok(()), "a connection was just made");
    }

    #[tokio::test]
    async fn one_that_can_be_reached_is_enough() {
        let uplink = Uplink::default();
        let listener = TcpListener::bind("127.0.0.9:0").expect("a port");
        uplink.connected(listener.local_addr().expect("an address"));
        for last in 1..=REMEMBERED as u8 - 1 {
            let mut endpoint = nobody();
            endpoint.set_ip([127, 0, 0, last].into());
            uplink.connected(endpoint);
        }
        age(&uplink);
        assert_eq!(uplink.check().await, Ok(()));
    }
}
