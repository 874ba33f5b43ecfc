//! Unavailable stores: this worker leases no jobs that need them until they respond.
//!
//! While a store rests, a separate task requests its canary, with growing pauses. When it responds,
//! one job of each kind that needs the store is leased, and the others after one was completed. If
//! that job fails because of the store again, the pause is longer than last time.
//!
//! A store without the token of one scan may be the right one for another scan, and the former may
//! never return. So after the maximum pause a job is leased whether the token is there or not; each
//! job looks for the token of its own scan.
//!
//! Does not depend on the contents of stores, or on Postgres.

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

/// Divisor of the lease's duration for the first pause: 5 s for 5 minutes.
const FIRST_PAUSE_DIVISOR: u32 = 60;
/// Maximum pause as a multiple of the first: two minutes, so that a store that responds again after
/// hours is used within minutes.
const MAX_PAUSE_FACTOR: u32 = 24;

/// Returns a random duration between half the pause and all of it, so that workers do not send
/// requests in step.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let random = f64::from(uuid::Uuid::new_v4().as_u128() as u32) / f64::from(u32::MAX);
    pause.mul_f64(0.5 + random / 2.0)
}

/// The stores that this worker waits for.
pub(crate) struct StoreRests {
    context: Context,
    rests: HashMap<ScanStore, Rest>,
    answered: Arc<Notify>,
}

struct Rest {
    /// Outages since a job that needs the store was completed.
    outages: u32,
    answers: Arc<AtomicBool>,
    asking: JoinHandle<()>,
}

impl Drop for Rest {
    fn drop(&mut self) {
        self.asking.abort();
    }
}

impl StoreRests {
    pub(crate) fn new(context: Context) -> Self {
        Self { context, rests: HashMap::new(), answered: Arc::default() }
    }

    /// Starts waiting for a store, unless this worker already does. `lease` is the lease duration
    /// of the job that detected the outage.
    pub(crate) fn begin(&mut self, outage: StoreOutage, lease: Duration) {
        let store = outage.store;
        let known = self.rests.get(&store);
        if known.is_some_and(|rest| !rest.answers.load(Ordering::SeqCst)) {
            return;
        }
        let outages = known.map_or(0, |rest| rest.outages) + 1;
        let first = lease / FIRST_PAUSE_DIVISOR;
        let most = first * MAX_PAUSE_FACTOR;
        let doublings = 1_u32 << (outages - 1).min(16);
        let pause = first.saturating_mul(doublings).min(most);
        tracing::warn!(%outage, ?pause, "no jobs are taken that need the {}", store.as_str());
        instruments().stores_resting.record(1, &[label("store", store.as_str())]);
        let answers = Arc::new(AtomicBool::new(false));
        let asking = tokio::spawn(ask_until_it_answers(
            self.context.clone(),
            outage,
            (pause, most),
            Arc::clone(&answers),
            Arc::clone(&self.answered),
        ));
        self.rests.insert(store, Rest { outages, answers, asking });
    }

    /// Returns how many jobs of a kind may run concurrently now.
    pub(crate) fn most(&self, kind: JobKind) -> usize {
        let needed = self.rests.iter().filter(|(store, _)| store.kinds().contains(&kind));
        let most = |rest: &Rest| usize::from(rest.answers.load(Ordering::SeqCst));
        needed.map(|(_, rest)| most(rest)).min().unwrap_or(usize::MAX)
    }

    /// Handles the completion of a job: the stores that its kind needs are available.
    pub(crate) fn completed(&mut self, kind: JobKind) {
        self.rests.retain(|store, rest| {
            !store.kinds().contains(&kind) || !rest.answers.load(Ordering::SeqCst)
        });
    }

    /// Waits until a store responds again.
    pub(crate) fn store_answered(&self) -> impl Future<Output = ()> + use<> {
        let answered = Arc::clone(&self.answered);
        async move { answered.notified().await }
    }
}

async fn ask_until_it_answers(
    context: Context,
    outage: StoreOutage,
    (mut pause, most): (Duration, Duration),
    answers: Arc<AtomicBool>,
    answered: Arc<Notify>,
) {
    let store = outage.store.as_str();
    loop {
        tokio::time::sleep(jittered(pause)).await;
        match outage.check(&context).await {
            Ok(()) => {
                tracing::info!(store, "the store answers again; taking a job that needs it");
                break;
            }
            Err(StoreFault::OtherStore(reason)) if pause >= most => {
                tracing::warn!(reason, store, "taking a job, which may be of another scan");
                break;
            }
            Err(error) => tracing::warn!(%error, store, "the store still does not answer"),
        }
        pause = (pause * 2).min(most);
    }
    instruments().stores_resting.record(0, &[label("store", store)]);
    answers.store(true, Ordering::SeqCst);
    answered.notify_one();
}
