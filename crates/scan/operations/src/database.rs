//! Connects to the scans' database, and finds an operation's scan.

use std::time::Duration;

use everytab_console::OperationError;
use everytab_coordinator::{ConnectSettings, Coordinator};
use uuid::Uuid;

/// Connects, and checks that the schema matches this program.
///
/// # Errors
/// Returns an error if the database cannot be reached or has another schema.
pub async fn connect(url: &str) -> Result<Coordinator, OperationError> {
    let coordinator = connect_unchecked(url).await?;
    coordinator.check_schema().await?;
    Ok(coordinator)
}

/// Connects without checking the schema.
///
/// # Errors
/// Returns an error if the database cannot be reached.
pub async fn connect_unchecked(url: &str) -> Result<Coordinator, OperationError> {
    Ok(Coordinator::connect(url, &ConnectSettings::default()).await?)
}

/// Works like [`connect`], but waits up to `patience` for a database that is starting.
///
/// # Errors
/// Returns an error if it does not start in time, or rejects the connection permanently.
pub async fn connect_patiently(
    url: &str,
    patience: Duration,
) -> Result<Coordinator, OperationError> {
    let give_up = tokio::time::Instant::now() + patience;
    let mut pause = Duration::from_millis(200);
    loop {
        match Coordinator::connect(url, &ConnectSettings::default()).await {
            Ok(coordinator) => {
                coordinator.check_schema().await?;
                return Ok(coordinator);
            }
            Err(error) if error.is_transient() && tokio::time::Instant::now() + pause < give_up => {
                tracing::warn!(%error, "cannot connect; retrying");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns the number of the given scan, or of the newest.
///
/// # Errors
/// Returns an error if this scan does not exist.
pub async fn scan_number(
    coordinator: &Coordinator,
    scan: Option<Uuid>,
) -> Result<i32, OperationError> {
    coordinator.scan_number(scan).await?.ok_or_else(|| match scan {
        Some(id) => OperationError::new(format!("there is no scan {id}; `scan list` shows them")),
        None => {
            OperationError::new("there is no scan yet; `everytab-worker scan start` starts one")
        }
    })
}
