//! This worker's share of the fleet's limits. Only this module sets the fetcher's rate, the
//! sources' rate and the number of live workers.

use std::sync::atomic::{AtomicU32, Ordering};

use everytab_coordinator::Renewal;
use everytab_jobs::Context;

use crate::metrics::instruments;

/// Number of live workers that a worker assumes until it learns the real one. Its share is then too
/// small for a few seconds.
const ASSUMED_WORKERS: u32 = 200;

pub(crate) struct FleetLimits {
    context: Context,
    live_workers: AtomicU32,
}

impl FleetLimits {
    pub(crate) fn new(context: Context) -> Self {
        Self { context, live_workers: AtomicU32::new(0) }
    }

    pub(crate) fn live_workers(&self) -> Option<u32> {
        Some(self.live_workers.load(Ordering::SeqCst)).filter(|workers| *workers > 0)
    }

    pub(crate) fn renewed(&self, renewal: &Renewal) {
        let workers = renewal.live_workers;
        self.context.fetcher.share_addresses_with(usize::try_from(workers).unwrap_or(usize::MAX));
        instruments().fleet_workers.record(workers.into(), &[]);
        if !renewal.held.is_empty() {
            self.live_workers.store(workers, Ordering::SeqCst);
            self.set_rates(renewal.rate, renewal.archive_rate);
        }
    }

    pub(crate) fn set_rates(&self, rate: Option<i32>, archive_rate: Option<i32>) {
        let workers = f64::from(self.live_workers().unwrap_or(ASSUMED_WORKERS).max(1));
        let share = |rate: Option<i32>| rate.map(|rate| f64::from(rate.max(1)) / workers);
        self.context.fetcher.set_rate(share(rate));
        self.context.allow_source_requests(share(archive_rate));
    }

    /// A worker without a lease does not learn when the number changes.
    pub(crate) fn forget_live_workers(&self) {
        self.live_workers.store(0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use everytab_fetcher::{FetchSettings, Fetcher};
    use everytab_storage::StoreSettings;

    use super::*;

    #[tokio::test]
    async fn each_live_worker_takes_its_share_of_the_archive_rate() {
        let fetcher = Fetcher::new(FetchSettings::default()).unwrap();
        let context = Context::new(StoreSettings::default(), fetcher, std::env::temp_dir());
        let limits = FleetLimits::new(context.clone());
        let rate = || context.source_requests().unwrap();
        assert_eq!(context.source_requests(), None);
        limits.set_rates(None, Some(1_000));
        let unknown = rate();
        let renewal = |live_workers| Renewal {
            live_workers,
            held: [1].into(),
            archive_rate: Some(1_000),
            ..Renewal::default()
        };
        limits.renewed(&renewal(1));
        let alone = rate();
        assert!(alone > 100.0 * unknown, "{alone} {unknown}");
        limits.renewed(&renewal(8));
        assert!((rate() - alone / 8.0).abs() < 1e-9, "{} of {alone}", rate());
        limits.set_rates(None, None);
        assert_eq!(context.source_requests(), None);
    }
}
