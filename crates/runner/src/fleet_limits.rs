//! This worker's share of the limits that belong to the whole fleet.
//!
//! Invariant: nothing else sets the fetcher's rate or the number of live workers.
//! Must not know: leases.

use std::sync::atomic::{AtomicU32, Ordering};

use everytab_fetcher::Fetcher;

use crate::metrics::instruments;

/// The number of live workers that this worker assumes while it does not know it: a small share of
/// the fleet's rate is wrong for a few seconds only.
const ASSUMED_WORKERS: u32 = 200;

/// The fleet's limits, of which each live worker takes its share.
pub(crate) struct FleetLimits {
    fetcher: Fetcher,
    /// The number of live workers at the last renewal; 0 while it is not known.
    live_workers: AtomicU32,
}

impl FleetLimits {
    pub(crate) fn new(fetcher: Fetcher) -> Self {
        Self { fetcher, live_workers: AtomicU32::new(0) }
    }

    /// The number of workers that share the fleet's limits, if it is known.
    pub(crate) fn live_workers(&self) -> Option<u32> {
        Some(self.live_workers.load(Ordering::SeqCst)).filter(|workers| *workers > 0)
    }

    /// Records the number of live workers that a renewal brought, and the fleet's requests a second
    /// if the renewal brought back a lease.
    pub(crate) fn renewed(&self, live_workers: u32, holds_leases: bool, rate: Option<i32>) {
        let share = usize::try_from(live_workers).unwrap_or(usize::MAX);
        self.fetcher.share_addresses_with(share);
        instruments().fleet_workers.record(live_workers.into(), &[]);
        if holds_leases {
            self.live_workers.store(live_workers, Ordering::SeqCst);
            self.set_rate(rate);
        }
    }

    /// Sets the fleet's requests a second; none takes the limit away. While the number of workers
    /// is not known, this worker takes a small share.
    pub(crate) fn set_rate(&self, rate: Option<i32>) {
        let workers = self.live_workers().unwrap_or(ASSUMED_WORKERS).max(1);
        self.fetcher.set_rate(rate.map(|rate| f64::from(rate.max(1)) / f64::from(workers)));
    }

    /// Forgets the number of live workers: without a lease this worker does not learn of changes.
    pub(crate) fn forget_live_workers(&self) {
        self.live_workers.store(0, Ordering::SeqCst);
    }
}
