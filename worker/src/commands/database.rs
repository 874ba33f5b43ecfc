//! Connecting as a command does: the URL from the option or the environment, and clear refusals.

use std::time::Duration;

use everytab_coordinator::{ConnectSettings, Coordinator};
use uuid::Uuid;

use crate::{cli_error::CliError, options::DatabaseArgs};

/// The URL, or what to do without one.
///
/// # Errors
/// When there is none.
pub fn url(args: &DatabaseArgs) -> Result<&str, CliError> {
    args.database_url.as_deref().filter(|url| !url.is_empty()).ok_or_else(|| {
        CliError::usage(
            "no database: give --database-url or set DATABASE_URL (or use `everytab-worker local`, \
             which brings its own)",
        )
    })
}

/// Connects, and checks that the schema is this program's.
///
/// # Errors
/// When the database cannot be reached or has another schema.
pub async fn connect(args: &DatabaseArgs) -> Result<Coordinator, CliError> {
    let coordinator = connect_unchecked(url(args)?).await?;
    coordinator.check_schema().await?;
    Ok(coordinator)
}

/// Connects to whatever is there.
///
/// # Errors
/// When the database cannot be reached.
pub async fn connect_unchecked(url: &str) -> Result<Coordinator, CliError> {
    Ok(Coordinator::connect(url, &ConnectSettings::default()).await?)
}

/// As [`connect`], but waits for a database that is on its way up, up to `patience`.
///
/// # Errors
/// When it does not come up, or refuses for good.
pub async fn connect_patiently(
    args: &DatabaseArgs,
    patience: Duration,
) -> Result<Coordinator, CliError> {
    let url = url(args)?;
    let give_up = tokio::time::Instant::now() + patience;
    let mut pause = Duration::from_millis(200);
    loop {
        match Coordinator::connect(url, &ConnectSettings::default()).await {
            Ok(coordinator) => {
                coordinator.check_schema().await?;
                return Ok(coordinator);
            }
            Err(error) if error.is_transient() && tokio::time::Instant::now() + pause < give_up => {
                tracing::warn!(%error, "trying again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The scan that a command is about: the one named, else the newest.
///
/// # Errors
/// When there is none.
pub async fn scan_number(coordinator: &Coordinator, scan: Option<Uuid>) -> Result<i32, CliError> {
    coordinator.scan_number(scan).await?.ok_or_else(|| match scan {
        Some(id) => CliError::new(format!("there is no scan {id}; `scan list` shows them")),
        None => CliError::new("there is no scan yet; `everytab-worker scan start` starts one"),
    })
}
