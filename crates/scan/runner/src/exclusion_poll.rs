//! Updates the exclusions of running scans. No request is sent based on a list that is older than a
//! minute: a worker that cannot reach Postgres pauses its requests.

use std::time::{Duration, Instant};

use everytab_coordinator::{Coordinator, Error};
use everytab_fetcher::Exclusions;
use everytab_jobs::{Context, live_exclusions::add_rows};
use tokio::time::timeout;

use crate::metrics;

/// Interval at which a worker polls exclusions, so that 200 workers send at most 20 queries per
/// second.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// Time limit for one poll.
const POLL_TIME: Duration = Duration::from_secs(5);
/// Maximum age of a list before this worker pauses its requests.
const MAX_AGE: Duration = Duration::from_secs(40);
// A poll may be in progress when a list reaches this age.
const _: () = assert!(MAX_AGE.as_secs() + POLL_INTERVAL.as_secs() + POLL_TIME.as_secs() < 60);

pub(crate) async fn poll_exclusions(coordinator: Coordinator, context: Context) {
    let mut known_at = Instant::now();
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let held = context.exclusions.held();
        if held.is_empty() {
            // A job loads the list before it sends any request.
            known_at = Instant::now();
            context.fetcher.hold_back(false);
            continue;
        }
        if known_at.elapsed() > MAX_AGE {
            tracing::warn!("the list of exclusions is out of date; pausing icon requests");
            context.fetcher.hold_back(true);
        }
        let sent_at = Instant::now();
        match timeout(POLL_TIME, refresh(&coordinator, &held)).await {
            Ok(Ok(())) => {
                known_at = sent_at;
                context.fetcher.hold_back(false);
            }
            Ok(Err(error)) => tracing::warn!(%error, "cannot load exclusions"),
            Err(_elapsed) => {
                tracing::warn!("Postgres does not respond to the query for exclusions")
            }
        }
    }
}

async fn refresh(coordinator: &Coordinator, held: &[(i32, Exclusions)]) -> Result<(), Error> {
    for (scan, exclusions) in held {
        let call = coordinator.load_exclusions(*scan, exclusions.version());
        add_rows(exclusions, metrics::call("exclusions", call).await?);
    }
    Ok(())
}
