//! All limits on requests: per hostname, per address, in total, per second, and on memory.
//!
//! A request acquires its permits in a fixed order (hostname, address, wire, rate, body memory), so
//! that requests cannot deadlock. Permits delay requests, and never decide an outcome.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use everytab_webpage::cdn_ranges::is_of_a_cdn;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};

use crate::{
    local_failure::LocalFailure,
    permits::{
        address_spacing::AddressSpacing,
        keyed_semaphore::{KeyedPermit, KeyedSemaphore},
        rate_limiter::RateLimiter,
        slowdown::Slowdown,
    },
    settings::FetchSettings,
};

/// Bytes per permit for body memory.
const MEMORY_UNIT_BYTES: usize = 1_024;

/// Requests on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// Requests that are on the wire now.
    pub requests: usize,
    /// Maximum requests on the wire.
    pub limit: usize,
}

pub(crate) struct Politeness {
    hosts: Arc<KeyedSemaphore<String>>,
    per_host: usize,
    addresses: Arc<KeyedSemaphore<IpAddr>>,
    slowdown: Slowdown,
    spacing: AddressSpacing,
    address_distance: Duration,
    pub(crate) rate_limiter: RateLimiter,
    wire: Arc<Semaphore>,
    max_in_flight: usize,
    memory: Arc<Semaphore>,
    memory_units: usize,
    idle_connections: Arc<Semaphore>,
    per_address: usize,
    per_cdn_address: usize,
    live_workers: AtomicUsize,
}

impl Politeness {
    pub(crate) fn new(settings: &FetchSettings) -> Self {
        let max_in_flight = settings.in_flight.clamp(1, Semaphore::MAX_PERMITS);
        let memory_units = (settings.body_budget_bytes.max(settings.max_body_bytes)
            / MEMORY_UNIT_BYTES)
            .clamp(1, u32::MAX as usize >> 3);
        Self {
            hosts: KeyedSemaphore::new(),
            per_host: settings.per_host,
            addresses: KeyedSemaphore::new(),
            slowdown: Slowdown::default(),
            spacing: AddressSpacing::default(),
            address_distance: settings.address_distance,
            rate_limiter: RateLimiter::default(),
            wire: Arc::new(Semaphore::new(max_in_flight)),
            max_in_flight,
            memory: Arc::new(Semaphore::new(memory_units)),
            memory_units,
            idle_connections: Arc::new(Semaphore::new(max_in_flight)),
            per_address: settings.per_address,
            per_cdn_address: settings.per_cdn_address.max(settings.per_address),
            live_workers: AtomicUsize::new(1),
        }
    }

    pub(crate) fn share_with(&self, live_workers: usize) {
        if self.live_workers.swap(live_workers.max(1), Ordering::SeqCst) != live_workers.max(1) {
            self.addresses.limits_changed();
        }
    }

    pub(crate) async fn acquire_host(&self, host: &String) -> KeyedPermit<String> {
        self.hosts.acquire(host, || self.per_host).await
    }

    pub(crate) async fn acquire_address(&self, address: IpAddr) -> KeyedPermit<IpAddr> {
        let full = self.full_share(address);
        self.addresses
            .acquire(&address, || self.slowdown.limit(address, full(), Instant::now()))
            .await
    }

    /// Waits until a crawl request to an address may start. The minimum distance applies to the
    /// fleet, so each worker multiplies it by the number of live workers. CDN addresses are not
    /// spaced, because each of them serves many sites.
    pub(crate) async fn space_out(&self, address: IpAddr) {
        let workers = self.live_workers.load(Ordering::SeqCst).max(1);
        let distance = self.address_distance * u32::try_from(workers).unwrap_or(u32::MAX);
        if distance > Duration::ZERO && !is_of_a_cdn(address) {
            sleep_until(self.spacing.reserve(address, distance, Instant::now())).await;
        }
    }

    pub(crate) fn slow_down(&self, address: IpAddr) {
        let full = self.full_share(address)();
        self.slowdown.halve(address, full, Instant::now());
    }

    /// Returns one worker's share of the fleet's limit for an address.
    fn full_share(&self, address: IpAddr) -> impl Fn() -> usize {
        let is_of_a_cdn = is_of_a_cdn(address);
        let fleet = if is_of_a_cdn { self.per_cdn_address } else { self.per_address };
        move || (fleet / self.live_workers.load(Ordering::SeqCst).max(1)).max(1)
    }

    /// A request waits for the rate limit while it holds this permit, so that a throttled worker
    /// appears busy and does not lease more jobs than it can handle.
    pub(crate) async fn acquire_wire(&self) -> Result<OwnedSemaphorePermit, LocalFailure> {
        let wire = Arc::clone(&self.wire);
        let permit = wire.acquire_owned().await.map_err(|_closed| LocalFailure::Memory)?;
        self.rate_limiter.acquire().await;
        Ok(permit)
    }

    pub(crate) fn in_flight(&self) -> InFlight {
        let limit = self.max_in_flight;
        InFlight { requests: limit.saturating_sub(self.wire.available_permits()), limit }
    }

    pub(crate) async fn acquire_memory(
        &self,
        bytes: usize,
    ) -> Result<OwnedSemaphorePermit, LocalFailure> {
        let units = bytes.div_ceil(MEMORY_UNIT_BYTES).clamp(1, self.memory_units);
        let units = u32::try_from(units).unwrap_or(u32::MAX >> 3);
        Arc::clone(&self.memory)
            .acquire_many_owned(units)
            .await
            .map_err(|_closed| LocalFailure::Memory)
    }

    pub(crate) fn shrink_memory(memory: &mut OwnedSemaphorePermit, bytes: usize) {
        let needed = bytes.div_ceil(MEMORY_UNIT_BYTES).max(1);
        if let Some(surplus) = memory.num_permits().checked_sub(needed) {
            drop(memory.split(surplus));
        }
    }

    pub(crate) fn try_acquire_idle(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.idle_connections).try_acquire_owned().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn time_to_begin(politeness: &Politeness, address: &str, requests: usize) -> Duration {
        let address = address.parse().expect("an address");
        let began = Instant::now();
        let waiting = (0..requests).map(|_| politeness.space_out(address));
        futures_util::future::join_all(waiting).await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn all_workers_together_send_ten_requests_per_second_to_an_address() {
        let politeness = Politeness::new(&FetchSettings::default());
        let of = |milliseconds| Duration::from_millis(milliseconds);
        assert_eq!(time_to_begin(&politeness, "93.184.216.34", 11).await, of(1_000));
        politeness.share_with(20);
        assert_eq!(time_to_begin(&politeness, "93.184.216.35", 3).await, of(4_000));
        assert_eq!(time_to_begin(&politeness, "104.16.0.1", 100).await, of(0), "Cloudflare's");
    }
}
