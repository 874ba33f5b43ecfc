//! Waiting our turn: per hostname, per address, over all, by time, and for memory.
//!
//! A request takes its places in one fixed order (host, address, slot, pace, body bytes) and
//! whoever holds a later place never waits for an earlier one, so nothing can wait in a circle.
//! Places only delay, they never decide an outcome.
//! Must not know: what is fetched, how, and with what result.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use everytab_webpage::cdn_ranges::is_of_a_cdn;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use crate::{
    outcome::Trouble,
    permits::{
        keyed_semaphore::{Gates, Place},
        pace::Pace,
        slowdown::Slowdown,
    },
    settings::FetchSettings,
};

/// The grain of the body budget.
const BUDGET_UNIT_BYTES: usize = 1_024;

/// All the places of one fetcher.
pub(crate) struct Politeness {
    hosts: Arc<Gates<String>>,
    per_host: usize,
    addresses: Arc<Gates<IpAddr>>,
    slowdown: Slowdown,
    pub(crate) pace: Pace,
    slots: Arc<Semaphore>,
    slots_total: usize,
    budget: Arc<Semaphore>,
    budget_units: usize,
    idle_connections: Arc<Semaphore>,
    per_address: usize,
    per_cdn_address: usize,
    live_workers: AtomicUsize,
}

impl Politeness {
    pub(crate) fn new(settings: &FetchSettings) -> Politeness {
        let slots_total = settings.in_flight.clamp(1, Semaphore::MAX_PERMITS);
        let budget_units = (settings.body_budget_bytes.max(settings.max_body_bytes)
            / BUDGET_UNIT_BYTES)
            .clamp(1, u32::MAX as usize >> 3);
        Politeness {
            hosts: Gates::new(),
            per_host: settings.per_host,
            addresses: Gates::new(),
            slowdown: Slowdown::default(),
            pace: Pace::default(),
            slots: Arc::new(Semaphore::new(slots_total)),
            slots_total,
            budget: Arc::new(Semaphore::new(budget_units)),
            budget_units,
            idle_connections: Arc::new(Semaphore::new(slots_total)),
            per_address: settings.per_address,
            per_cdn_address: settings.per_cdn_address.max(settings.per_address),
            live_workers: AtomicUsize::new(1),
        }
    }

    /// The limit per address belongs to the fleet: each live worker takes its part.
    pub(crate) fn share_with(&self, live_workers: usize) {
        if self.live_workers.swap(live_workers.max(1), Ordering::SeqCst) != live_workers.max(1) {
            self.addresses.reconsider();
        }
    }

    /// Waits for the turn of one more request to a hostname.
    pub(crate) async fn enter_host(&self, host: &String) -> Place<String> {
        self.hosts.enter(host, || self.per_host).await
    }

    /// Waits for the turn of one more request to an address.
    pub(crate) async fn enter_address(&self, address: IpAddr) -> Place<IpAddr> {
        let full = self.full_share(address);
        self.addresses
            .enter(&address, || self.slowdown.limit(address, full(), Instant::now()))
            .await
    }

    /// An address said that it is asked too much.
    pub(crate) fn slow_down(&self, address: IpAddr) {
        let full = self.full_share(address)();
        self.slowdown.halve(address, full, Instant::now());
    }

    /// What one worker of the fleet may have open to an address that does not complain.
    fn full_share(&self, address: IpAddr) -> impl Fn() -> usize {
        let is_of_a_cdn = is_of_a_cdn(address);
        let fleet = if is_of_a_cdn { self.per_cdn_address } else { self.per_address };
        move || (fleet / self.live_workers.load(Ordering::SeqCst).max(1)).max(1)
    }

    /// A slot: the right to one request on the wire. The pace is kept inside it, so a worker that
    /// is held back looks as busy as it is, and leases no more than it can do.
    pub(crate) async fn slot(&self) -> Result<OwnedSemaphorePermit, Trouble> {
        let slots = Arc::clone(&self.slots);
        let slot = slots.acquire_owned().await.map_err(|_closed| Trouble::Memory)?;
        self.pace.turn().await;
        Ok(slot)
    }

    /// Slots taken, and all there are.
    pub(crate) fn slots(&self) -> (usize, usize) {
        (self.slots_total.saturating_sub(self.slots.available_permits()), self.slots_total)
    }

    /// Room for a body of at most `bytes`. More than the whole budget gives the whole budget.
    pub(crate) async fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Trouble> {
        let units = bytes.div_ceil(BUDGET_UNIT_BYTES).clamp(1, self.budget_units);
        let units = u32::try_from(units).unwrap_or(u32::MAX >> 3);
        Arc::clone(&self.budget).acquire_many_owned(units).await.map_err(|_closed| Trouble::Memory)
    }

    /// Gives back what a body of `bytes` did not need.
    pub(crate) fn shrink(room: &mut OwnedSemaphorePermit, bytes: usize) {
        let needed = bytes.div_ceil(BUDGET_UNIT_BYTES).max(1);
        if let Some(surplus) = room.num_permits().checked_sub(needed) {
            drop(room.split(surplus));
        }
    }

    /// The right to keep one connection open without a request on it, if there is one left.
    pub(crate) fn try_keep_idle(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.idle_connections).try_acquire_owned().ok()
    }
}
