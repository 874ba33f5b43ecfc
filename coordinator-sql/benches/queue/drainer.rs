//! A client process of the benchmark `drain`, which leases and completes no-op jobs until its stdin
//! is closed.

use std::{
    io::Read as _,
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{
    Completion, ConnectSettings, Coordinator, JobKind, Lease, LeaseCursors, Output,
};
use tokio::sync::Semaphore;
use tokio_postgres::Client;

use crate::{batch, samples, server::digests};

/// Concurrent jobs per process, equal to the peer's setting.
const CONCURRENCY: usize = 24;
/// Connections per process, equal to the peer's setting.
const CONNECTIONS: u32 = 10;
/// Jobs per batch, equal to the peer's setting.
const BATCH: usize = 500;
/// Batches that one process completes concurrently, so that Postgres never waits for the client.
const BATCHES: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseMode {
    /// Like a worker: leases a job when a permit is free, and completes it by a separate call.
    Single,
    Alone,
    Batched,
}

impl FromStr for LeaseMode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "single" => Ok(Self::Single),
            "alone" => Ok(Self::Alone),
            "batched" => Ok(Self::Batched),
            _ => Err(format!("no mode {name}")),
        }
    }
}

impl LeaseMode {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Alone => "alone",
            Self::Batched => "batched",
        }
    }
}

pub(crate) async fn run(url: &str, mode: LeaseMode) {
    let settings = ConnectSettings { max_connections: CONNECTIONS, ..ConnectSettings::default() };
    let coordinator = Coordinator::connect(url, &settings).await.unwrap();
    let worker_id = format!("drainer-{}", std::process::id());
    match mode {
        LeaseMode::Batched => {
            for _ in 0..BATCHES {
                let session = batch::connect(url).await;
                tokio::spawn(in_batches(coordinator.clone(), session, worker_id.clone()));
            }
        }
        LeaseMode::Single => drop(tokio::spawn(one_by_one(coordinator, worker_id))),
        LeaseMode::Alone => {
            for _ in 0..CONNECTIONS {
                // With its own client, a task never shares a transaction.
                let settings = ConnectSettings { max_connections: 1, ..settings.clone() };
                let coordinator = Coordinator::connect(url, &settings).await.unwrap();
                tokio::spawn(alone(coordinator, worker_id.clone()));
            }
        }
    }
    // The parent process closes our stdin when the stage is done.
    let stdin = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    stdin.await.unwrap().unwrap();
    std::process::exit(0);
}

/// Uses a full scan if an incremental scan finds nothing.
struct Leaser {
    coordinator: Coordinator,
    worker_id: String,
    cursors: LeaseCursors,
}

impl Leaser {
    fn new(coordinator: Coordinator, worker_id: String) -> Self {
        Self { coordinator, worker_id, cursors: LeaseCursors::default() }
    }

    async fn lease(&mut self, wanted: usize) -> Vec<Lease> {
        let wanted = u32::try_from(wanted).unwrap();
        loop {
            let worker_id = &self.worker_id;
            let kinds = &[JobKind::Search];
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
    let mut leaser = Leaser::new(coordinator, worker_id);
    loop {
        let leases = leaser.lease(BATCH).await;
        batch::complete(&session, leases, &samples::least_stats(0)).await;
    }
}

async fn one_by_one(coordinator: Coordinator, worker_id: String) {
    let permits = Arc::new(Semaphore::new(CONCURRENCY));
    let mut leaser = Leaser::new(coordinator.clone(), worker_id);
    loop {
        let mut free = Arc::clone(&permits).acquire_owned().await.unwrap();
        while let Ok(more) = Arc::clone(&permits).try_acquire_owned() {
            free.merge(more);
        }
        for lease in leaser.lease(free.num_permits()).await {
            let coordinator = coordinator.clone();
            let permit = free.split(1);
            tokio::spawn(async move {
                complete(&coordinator, lease).await;
                drop(permit);
            });
        }
    }
}

async fn alone(coordinator: Coordinator, worker_id: String) {
    let mut leaser = Leaser::new(coordinator.clone(), worker_id);
    loop {
        for lease in leaser.lease(1).await {
            complete(&coordinator, lease).await;
        }
    }
}

async fn complete(coordinator: &Coordinator, lease: Lease) {
    let stats = samples::least_stats(0);
    let completion = coordinator.complete(lease, &Output::Nothing, &stats, deadline()).await;
    assert_eq!(completion.unwrap(), Completion::Recorded);
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(60)
}
