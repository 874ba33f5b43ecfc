//! Checks whether the store of the keys' crawls can be read.
//!
//! Invariant: this process checks the store at most once every [`POLL_INTERVAL`], regardless of the
//! number of probes.

use std::time::Duration;

use everytab_storage::{StorageError, StorageErrorKind, StoreSettings};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

/// Interval between checks. Proxies probe every few seconds, and a request to S3 costs money.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Time limit for a check, including its retry. Probes before the first result wait for it, and
/// usually time out after 5 to 10 seconds.
const CHECK_TIME: Duration = Duration::from_secs(4);
/// The object to read. This object need not exist, and it has the only prefix that the service may
/// read.
const PROBE: &str = "crawl-data/probe";

/// `None` until the first check has finished, then the error, if any. The error is for clients, so
/// it does not contain the store's name.
pub(crate) type StoreHealth = watch::Receiver<Option<Result<(), &'static str>>>;

pub(crate) fn start(
    url: String,
    settings: StoreSettings,
    mut stop: watch::Receiver<bool>,
) -> StoreHealth {
    let (sender, health) = watch::channel(None);
    tokio::spawn(async move {
        let polling = async {
            loop {
                let found = check(&url, &settings).await;
                report(&url, *sender.borrow(), &found);
                sender.send_replace(Some(found.map_err(|(told, _)| told)));
                sleep(POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            () = polling => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    });
    health
}

/// The error has one message for clients, and one for the log.
async fn check(url: &str, settings: &StoreSettings) -> Result<(), (&'static str, String)> {
    let checking = async { everytab_storage::open(url, settings).await?.check(PROBE).await };
    match timeout(CHECK_TIME, checking).await {
        Ok(checked) => checked.map_err(|error| (told(&error), error.to_string())),
        Err(_) => {
            let seconds = CHECK_TIME.as_secs();
            Err(("cannot reach the store", format!("no response within {seconds} s")))
        }
    }
}

fn told(error: &StorageError) -> &'static str {
    match error.kind() {
        StorageErrorKind::NotFound | StorageErrorKind::Invalid => "the store does not exist",
        StorageErrorKind::Denied => "the store denies access to this service",
        _ => "cannot reach the store",
    }
}

fn report(
    store: &str,
    before: Option<Result<(), &'static str>>,
    found: &Result<(), (&'static str, String)>,
) {
    match found {
        Err((told, error)) if before != Some(Err(*told)) => {
            tracing::error!(store, error, "not ready: {told}");
        }
        Ok(()) if matches!(before, Some(Err(_))) => {
            tracing::info!(store, "the store is available again");
        }
        _ => {}
    }
}
