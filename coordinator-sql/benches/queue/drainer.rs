//! One of the processes that drain: leases, does nothing, completes, until its stdin closes.

use std::{
    io::Read as _,
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{Completion, ConnectSettings, Coordinator, JobKind, Lease, Output};
use serde_json::json;

use crate::server::ENCODER;

/// Jobs at a time, as many as the peer's processes run.
const CONCURRENCY: usize = 24;
/// Connections of a process, as many as the peer's have.
const CONNECTIONS: u32 = 10;

/// How jobs are leased and completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each job by a lease call and a completion of its own.
    Single,
}

impl FromStr for Way {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "single" => Ok(Self::Single),
            _ => Err(format!("no way {word}")),
        }
    }
}

impl Way {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
        }
    }
}

pub(crate) async fn run(url: &str, way: Way) {
    let settings = ConnectSettings { max_connections: CONNECTIONS, ..ConnectSettings::default() };
    let coordinator = Coordinator::connect(url, &settings).await.unwrap();
    let holder: Arc<str> = format!("drainer-{}", std::process::id()).into();
    for _ in 0..CONCURRENCY {
        let (coordinator, holder) = (coordinator.clone(), Arc::clone(&holder));
        match way {
            Way::Single => tokio::spawn(one_by_one(coordinator, holder)),
        };
    }
    // The parent closes our stdin when the stage is done.
    let stdin = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    stdin.await.unwrap().unwrap();
    std::process::exit(0);
}

async fn one_by_one(coordinator: Coordinator, holder: Arc<str>) {
    let mut hint = 0;
    loop {
        let leases = coordinator.lease(&holder, &[JobKind::Search], 1, ENCODER, hint).await;
        let mut leases = leases.unwrap();
        let Some(lease) = leases.pop() else {
            hint = 0;
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        hint = lease.fence.job_id;
        complete(&coordinator, lease).await;
    }
}

async fn complete(coordinator: &Coordinator, lease: Lease) {
    let until = Instant::now() + Duration::from_secs(60);
    let completion = coordinator.complete(lease, &Output::Nothing, &json!({}), until).await;
    assert_eq!(completion.unwrap(), Completion::Recorded);
}
