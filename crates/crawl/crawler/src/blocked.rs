//! Keeps the blocklist up to date while this process crawls.
//!
//! Invariant: no request is sent before the list was read, or while it is more than a minute old.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use everytab_coordinator::{BlockedHost, Coordinator, Error};
use everytab_fetcher::{Exclusion, Exclusions, Fetcher};
use tokio::time::timeout;

/// Interval between polls for added hosts.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// Time limit for a poll.
const POLL_TIME: Duration = Duration::from_secs(5);
/// If the list is older than this, requests wait.
const MAX_AGE: Duration = Duration::from_secs(40);
/// How far back each poll reads. This is longer than any transaction that adds hosts, so that no
/// host is missed.
const OVERLAP: TimeDelta = TimeDelta::minutes(10);
const _: () = assert!(MAX_AGE.as_secs() + POLL_INTERVAL.as_secs() + POLL_TIME.as_secs() < 60);

pub(crate) async fn read_all(
    coordinator: &Coordinator,
    exclusions: &Exclusions,
) -> Result<(), Error> {
    let hosts = coordinator.load_blocked_hosts(DateTime::UNIX_EPOCH).await?;
    tracing::info!(patterns = hosts.len(), "read the blocklist");
    add(exclusions, hosts);
    Ok(())
}

/// Polls for added hosts until the future is dropped. The fetcher waits while the list is too old.
pub(crate) async fn poll_blocklist(
    coordinator: Coordinator,
    fetcher: Fetcher,
    exclusions: Exclusions,
) {
    let mut known_at = Instant::now();
    let mut after = Utc::now() - OVERLAP;
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let (requested_at, time) = (Instant::now(), Utc::now());
        match timeout(POLL_TIME, coordinator.load_blocked_hosts(after)).await {
            Ok(Ok(hosts)) => {
                add(&exclusions, hosts);
                (known_at, after) = (requested_at, time - OVERLAP);
                fetcher.hold_back(false);
            }
            Ok(Err(error)) => tracing::warn!(%error, "cannot read the blocklist"),
            Err(_elapsed) => tracing::warn!("reading the blocklist timed out"),
        }
        if known_at.elapsed() > MAX_AGE {
            tracing::warn!("the blocklist is out of date; pausing requests");
            fetcher.hold_back(true);
        }
    }
}

fn add(exclusions: &Exclusions, hosts: Vec<BlockedHost>) {
    let hosts = hosts.into_iter().map(|BlockedHost { kind, pattern }| match kind.as_str() {
        "suffix" => Exclusion::Suffix(pattern),
        _ => Exclusion::Hostname(pattern),
    });
    exclusions.add(hosts, 0);
}
