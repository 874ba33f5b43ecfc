//! One of the processes that drain: leases, does nothing, completes, until its stdin closes.

use std::{
    io::Read as _,
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{
    Completion, ConnectSettings, Coordinator, JobKind, Lease, LeaseCursors, Output,
};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::server::digests;

/// Jobs at a time, as many as the peer's processes run.
const CONCURRENCY: usize = 24;
/// Connections of a process, as many as the peer's have.
const CONNECTIONS: u32 = 10;
/// Jobs of a batch, as many as the peer takes at once.
const BATCH: usize = 500;
/// Batches at a time: some are on their way while another is worked on.
const BATCHES: usize = 3;

/// How jobs are leased and completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each job completes by itself and as soon as it is done, as a worker's jobs do: nothing is
    /// leased ahead and nothing held back. Calls that meet in a process go together.
    Single,
    /// Each job by a lease call and a transaction of its own.
    Alone,
    /// Many jobs a lease call, and all of them in one completion.
    Batched,
}

impl FromStr for Way {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "single" => Ok(Self::Single),
            "alone" => Ok(Self::Alone),
            "batched" => Ok(Self::Batched),
            _ => Err(format!("no way {word}")),
        }
    }
}

impl Way {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Alone => "alone",
            Self::Batched => "batched",
        }
    }
}

pub(crate) async fn run(url: &str, way: Way) {
    let settings = ConnectSettings { max_connections: CONNECTIONS, ..ConnectSettings::default() };
    let coordinator = Coordinator::connect(url, &settings).await.unwrap();
    let holder = format!("drainer-{}", std::process::id());
    match way {
        Way::Batched => {
            for _ in 0..BATCHES {
                tokio::spawn(in_batches(coordinator.clone(), holder.clone()));
            }
        }
        Way::Single => drop(tokio::spawn(one_by_one(coordinator, holder))),
        Way::Alone => {
            for _ in 0..CONNECTIONS {
                // A client of its own, so that no two of its calls ever meet.
                let settings = ConnectSettings { max_connections: 1, ..settings.clone() };
                let coordinator = Coordinator::connect(url, &settings).await.unwrap();
                tokio::spawn(alone(coordinator, holder.clone()));
            }
        }
    }
    // The parent closes our stdin when the stage is done.
    let stdin = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    stdin.await.unwrap().unwrap();
    std::process::exit(0);
}

/// Leases by incremental scans, and by a full one where that found nothing.
struct Lessee {
    coordinator: Coordinator,
    holder: String,
    cursors: LeaseCursors,
}

impl Lessee {
    fn new(coordinator: Coordinator, holder: String) -> Self {
        Self { coordinator, holder, cursors: LeaseCursors::default() }
    }

    async fn lease(&mut self, wanted: usize) -> Vec<Lease> {
        let wanted = u32::try_from(wanted).unwrap();
        loop {
            let (holder, kinds) = (&self.holder, &[JobKind::Search]);
            let digests = digests();
            let asked = self.coordinator.lease(holder, kinds, wanted, &digests, &self.cursors);
            let leases = asked.await.unwrap();
            if !leases.is_empty() {
                self.cursors.note(&leases);
                return leases;
            }
            self.cursors = LeaseCursors::default();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn in_batches(coordinator: Coordinator, holder: String) {
    let mut lessee = Lessee::new(coordinator.clone(), holder);
    loop {
        let leases = lessee.lease(BATCH).await;
        let leases = leases.into_iter().map(|lease| (lease, json!({}))).collect();
        let completions = coordinator.complete_all(leases, soon()).await.unwrap();
        assert!(completions.iter().all(|completion| *completion == Completion::Recorded));
    }
}

/// As a worker's loop does it: one that leases for all places that are free, and each job by
/// itself completes and makes room.
async fn one_by_one(coordinator: Coordinator, holder: String) {
    let places = Arc::new(Semaphore::new(CONCURRENCY));
    let mut lessee = Lessee::new(coordinator.clone(), holder);
    loop {
        let mut room = Arc::clone(&places).acquire_owned().await.unwrap();
        while let Ok(more) = Arc::clone(&places).try_acquire_owned() {
            room.merge(more);
        }
        for lease in lessee.lease(room.num_permits()).await {
            let (coordinator, place) = (coordinator.clone(), room.split(1));
            tokio::spawn(async move {
                complete(&coordinator, lease).await;
                drop(place);
            });
        }
    }
}

async fn alone(coordinator: Coordinator, holder: String) {
    let mut lessee = Lessee::new(coordinator.clone(), holder);
    loop {
        for lease in lessee.lease(1).await {
            complete(&coordinator, lease).await;
        }
    }
}

async fn complete(coordinator: &Coordinator, lease: Lease) {
    let completion = coordinator.complete(lease, &Output::Nothing, &json!({}), soon()).await;
    assert_eq!(completion.unwrap(), Completion::Recorded);
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}
