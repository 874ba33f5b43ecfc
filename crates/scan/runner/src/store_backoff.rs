//! Pauses the jobs that need an unavailable store until this store responds.
//!
//! A separate task requests the store's canary, with growing pauses. When the store responds, the
//! worker leases one job of each kind that needs it, and more after one has been completed.
//!
//! A store without one scan's token may be the right store for another scan. Therefore, after the
//! maximum pause, this worker leases a job even if the token is missing. Each job checks for its
//! own scan's token.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use everytab_coordinator::JobKind;
use everytab_jobs::{Context, ScanStore, StoreFault, StoreOutage};
use tokio::{sync::Notify, task::JoinHandle};

use crate::metrics::{instruments, label};

/// Divisor of the lease duration for the first pause, which is 5 s for a lease of 5 minutes.
const FIRST_PAUSE_DIVISOR: u32 = 60;
/// Maximum pause as a multiple of the first, so that a store that responds again after hours is
/// used within minutes.
const MAX_PAUSE_FACTOR: u32 = 24;

/// Returns a random pause, so that workers do not send requests in step.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let random = f64::from(uuid::Uuid::new_v4().as_u128() as u32) / f64::from(u32::MAX);
    pause.mul_f64(0.5 + random / 2.0)
}

pub(crate) struct StoreBackoff {
    context: Context,
    backoffs: HashMap<ScanStore, Backoff>,
    became_available: Arc<Notify>,
}

struct Backoff {
    outages: u32,
    is_available: Arc<AtomicBool>,
    polling: JoinHandle<()>,
}

impl Drop for Backoff {
    fn drop(&mut self) {
        self.polling.abort();
    }
}

impl StoreBackoff {
    pub(crate) fn new(context: Context) -> Self {
        Self { context, backoffs: HashMap::new(), became_available: Arc::default() }
    }

    pub(crate) fn begin(&mut self, outage: StoreOutage, lease: Duration) {
        let store = outage.store;
        let known = self.backoffs.get(&store);
        if known.is_some_and(|backoff| !backoff.is_available.load(Ordering::SeqCst)) {
            return;
        }
        let outages = known.map_or(0, |backoff| backoff.outages) + 1;
        let first = lease / FIRST_PAUSE_DIVISOR;
        let most = first * MAX_PAUSE_FACTOR;
        let doublings = 1_u32 << (outages - 1).min(16);
        let pause = first.saturating_mul(doublings).min(most);
        tracing::warn!(%outage, ?pause, "pausing jobs that need the {}", store.as_str());
        instruments().stores_paused.record(1, &[label("store", store.as_str())]);
        let is_available = Arc::new(AtomicBool::new(false));
        let polling = tokio::spawn(poll_until_available(
            self.context.clone(),
            outage,
            (pause, most),
            Arc::clone(&is_available),
            Arc::clone(&self.became_available),
        ));
        self.backoffs.insert(store, Backoff { outages, is_available, polling });
    }

    pub(crate) fn most(&self, kind: JobKind) -> usize {
        let needed = self.backoffs.iter().filter(|(store, _)| store.kinds().contains(&kind));
        let most = |backoff: &Backoff| usize::from(backoff.is_available.load(Ordering::SeqCst));
        needed.map(|(_, backoff)| most(backoff)).min().unwrap_or(usize::MAX)
    }

    /// A completed job shows that the stores for its kind are available.
    pub(crate) fn completed(&mut self, kind: JobKind) {
        self.backoffs.retain(|store, backoff| {
            !store.kinds().contains(&kind) || !backoff.is_available.load(Ordering::SeqCst)
        });
    }

    pub(crate) fn store_available(&self) -> impl Future<Output = ()> + use<> {
        let became_available = Arc::clone(&self.became_available);
        async move { became_available.notified().await }
    }
}

async fn poll_until_available(
    context: Context,
    outage: StoreOutage,
    (mut pause, most): (Duration, Duration),
    is_available: Arc<AtomicBool>,
    became_available: Arc<Notify>,
) {
    let store = outage.store.as_str();
    loop {
        tokio::time::sleep(jittered(pause)).await;
        match outage.check(&context).await {
            Ok(()) => {
                tracing::info!(store, "the store responds again; leasing a job that needs it");
                break;
            }
            Err(StoreFault::OtherStore(reason)) if pause >= most => {
                tracing::warn!(reason, store, "leasing a job, which may belong to another scan");
                break;
            }
            Err(error) => tracing::warn!(%error, store, "the store is still unavailable"),
        }
        pause = (pause * 2).min(most);
    }
    instruments().stores_paused.record(0, &[label("store", store)]);
    is_available.store(true, Ordering::SeqCst);
    became_available.notify_one();
}
