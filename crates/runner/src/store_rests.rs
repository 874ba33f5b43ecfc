//! Stores that this worker waits for: it takes no jobs that need them until they answer.
//!
//! While a store rests, a task of its own asks for its canary, after pauses that grow. Then one job
//! of each kind that needs the store is taken, and the others once one has been completed: if that
//! job fails for the store again, the pause is longer than the last one.
//! Must not know: what the stores hold, Postgres.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use everytab_coordinator::JobKind;
use everytab_jobs::{Context, ScanStore, StoreOutage};
use tokio::{sync::Notify, task::JoinHandle};

use crate::{
    metrics::{instruments, label},
    pauses::jittered,
};

/// The first pause is this part of a lease: 5 s of 5 minutes.
const FIRST_PAUSE_DIVISOR: u32 = 60;
/// The longest pause, in first pauses: two minutes, so that a store that answers again after hours
/// is used within minutes.
const MAX_PAUSE_FACTOR: u32 = 24;

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

    /// Begins to wait for a store, unless this worker waits for it already. `lease` is the length
    /// of the lease of the job that found the outage.
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

    /// How many jobs of a kind may be performed now.
    pub(crate) fn most(&self, kind: JobKind) -> usize {
        let needed = self.rests.iter().filter(|(store, _)| store.kinds().contains(&kind));
        let most = |rest: &Rest| usize::from(rest.answers.load(Ordering::SeqCst));
        needed.map(|(_, rest)| most(rest)).min().unwrap_or(usize::MAX)
    }

    /// A job of a kind was completed: the stores that it needs serve it.
    pub(crate) fn completed(&mut self, kind: JobKind) {
        self.rests.retain(|store, rest| {
            !store.kinds().contains(&kind) || !rest.answers.load(Ordering::SeqCst)
        });
    }

    /// Waits until a store answers again.
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
            Ok(()) => break,
            Err(error) => tracing::warn!(%error, store, "the store still does not answer"),
        }
        pause = (pause * 2).min(most);
    }
    tracing::info!(store, "the store answers again; taking a job that needs it");
    instruments().stores_resting.record(0, &[label("store", store)]);
    answers.store(true, Ordering::SeqCst);
    answered.notify_one();
}
