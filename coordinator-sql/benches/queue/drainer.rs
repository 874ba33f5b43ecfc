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
use tokio_postgres::Client;

use crate::{batch, server::digests};

/// Jobs that one process works on concurrently, as many as the peer's processes do.
const CONCURRENCY: usize = 24;
/// Connections of one process, as many as the peer's have.
const CONNECTIONS: u32 = 10;
/// Jobs in a batch, as many as the peer fetches.
const BATCH: usize = 500;
/// Batches that one process works on concurrently, so that the network is never idle.
const BATCHES: usize = 3;

/// How jobs are leased and completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each job is leased when there is room for it and completes when it is done, as a worker's
    /// jobs do. Completions of one process that overlap in time share a transaction.
    Single,
    /// Each job takes a lease call and a completing transaction of its own.
    Alone,
    /// A lease call takes many jobs, and one transaction completes them all.
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
    let worker_id = format!("drainer-{}", std::process::id());
    match way {
        Way::Batched => {
            for _ in 0..BATCHES {
                let session = batch::connect(url).await;
                tokio::spawn(in_batches(coordinator.clone(), session, worker_id.clone()));
            }
        }
        Way::Single => drop(tokio::spawn(one_by_one(coordinator, worker_id))),
        Way::Alone => {
            for _ in 0..CONNECTIONS {
                // Each has a client of its own, so that no two completions share a transaction.
                let settings = ConnectSettings { max_connections: 1, ..settings.clone() };
                let coordinator = Coordinator::connect(url, &settings).await.unwrap();
                tokio::spawn(alone(coordinator, worker_id.clone()));
            }
        }
    }
    // The parent closes our stdin when the stage is done.
    let stdin = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    stdin.await.unwrap().unwrap();
    std::process::exit(0);
}

/// Leases by incremental scans, and by a full scan when one found nothing.
struct Lessee {
    coordinator: Coordinator,
    worker_id: String,
    cursors: LeaseCursors,
}

impl Lessee {
    fn new(coordinator: Coordinator, worker_id: String) -> Self {
        Self { coordinator, worker_id, cursors: LeaseCursors::default() }
    }

    async fn lease(&mut self, wanted: usize) -> Vec<Lease> {
        let wanted = u32::try_from(wanted).unwrap();
        loop {
            let (worker_id, kinds) = (&self.worker_id, &[JobKind::Search]);
            let digests = digests();
            let asked = self.coordinator.lease(worker_id, kinds, wanted, &digests, &self.cursors);
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

async fn in_batches(coordinator: Coordinator, session: Client, worker_id: String) {
    let mut lessee = Lessee::new(coordinator, worker_id);
    loop {
        let leases = lessee.lease(BATCH).await;
        batch::complete(&session, leases, &json!({})).await;
    }
}

/// Leases as a worker's loop does: one call for all free permits. Each job completes by itself and
/// returns its permit.
async fn one_by_one(coordinator: Coordinator, worker_id: String) {
    let places = Arc::new(Semaphore::new(CONCURRENCY));
    let mut lessee = Lessee::new(coordinator.clone(), worker_id);
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

async fn alone(coordinator: Coordinator, worker_id: String) {
    let mut lessee = Lessee::new(coordinator.clone(), worker_id);
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
