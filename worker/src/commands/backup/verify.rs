//! `restore --verify`: whether a backup would come back as it was, without a place to bring it to.

use std::{collections::HashSet, path::Path, sync::Arc};

use everytab_bundler::object_names;
use everytab_coordinator::{ConnectSettings, Coordinator};
use everytab_postgres::PrivatePostgres;
use everytab_storage::Store;
use futures_util::{StreamExt, stream};
use uuid::Uuid;

use super::{
    copy::{self, COPIES_AT_ONCE},
    format::{Backup, Source},
    rows,
};
use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::stdout,
};

/// Reads every object, loads the rows into a Postgres of their own, and compares. One line on
/// stdout for each fault.
///
/// # Errors
/// When there are faults, the list itself is one, or there is no Postgres to load into.
pub(super) async fn verify(from: &Arc<dyn Store>, temporary: &Path) -> CliResult {
    let backup = Backup::read(&**from).await?;
    backup.check_migrations()?;
    let mut faults = damaged_objects(&**from, &backup).await?;
    let is_dump_whole = !faults.iter().any(|fault| fault.starts_with(&backup.rows.dump.key));
    if is_dump_whole {
        faults.extend(faults_of_rows(&**from, &backup, temporary).await?);
    }
    for fault in &faults {
        stdout::line(fault)?;
    }
    let count: i64 = backup.rows.tables.iter().map(|table| table.rows).sum();
    let (tables, objects) = (backup.rows.tables.len(), backup.objects.len());
    if faults.is_empty() {
        let bytes: u64 = backup.entries().map(|entry| entry.size).sum();
        eprintln!(
            "the backup is whole: {count} rows in {tables} tables came back, {objects} objects, \
             {bytes} bytes in all"
        );
        return Ok(Exit::Done);
    }
    let about_rows = if is_dump_whole { "" } else { "; its rows could not be tried" };
    Err(CliError::new(format!("the backup has {} faults{about_rows}", faults.len())))
}

async fn damaged_objects(from: &dyn Store, backup: &Backup) -> Result<Vec<String>, CliError> {
    let mut faults = Vec::new();
    let mut checks = stream::iter(backup.entries().map(|entry| copy::fault_of(from, entry)))
        .buffered(COPIES_AT_ONCE);
    while let Some(fault) = checks.next().await {
        faults.extend(fault?);
    }
    Ok(faults)
}

/// Loads the rows, and asks them which objects there must be.
async fn faults_of_rows(
    from: &dyn Store,
    backup: &Backup,
    temporary: &Path,
) -> Result<Vec<String>, CliError> {
    let parent = temporary.to_owned();
    let server =
        tokio::task::spawn_blocking(move || PrivatePostgres::start_temporary(&parent)).await??;
    let url = server.admin_url();
    let found = async {
        let coordinator = Coordinator::connect(&url, &ConnectSettings::default()).await?;
        let mut faults = rows::load(&coordinator, &url, from, backup, temporary).await?;
        coordinator.migrate().await?;
        faults.extend(missing_objects(&coordinator, backup).await?);
        coordinator.close().await;
        Ok(faults)
    };
    let found = found.await;
    tokio::task::spawn_blocking(move || server.erase()).await??;
    found
}

/// Archives and bundles that the rows speak of and the list has not.
async fn missing_objects(
    coordinator: &Coordinator,
    backup: &Backup,
) -> Result<Vec<String>, CliError> {
    let id: Uuid = serde_json::from_value(backup.scan["scan_id"].clone())?;
    let Some(number) = coordinator.scan_number(Some(id)).await? else {
        return Ok(vec![format!("the rows know no scan {id}")]);
    };
    let mut expected: Vec<String> = coordinator
        .referenced_archives(number)
        .await?
        .into_iter()
        .map(|(shard, lease)| Source::Archive.backup_key(&object_names::archive(id, shard, lease)))
        .collect();
    let is_finished =
        backup.scan["state"].as_str().is_some_and(|state| state.starts_with("finished"));
    let number_of = |name: &str| backup.scan[name].as_i64().unwrap_or(0);
    if is_finished {
        let bundles = number_of("shards") * number_of("bundles_per_shard");
        expected
            .extend((0..bundles).map(|n| Source::Site.backup_key(&object_names::bundle(id, n))));
    }
    let listed: HashSet<&str> = backup.objects.iter().map(|entry| entry.key.as_str()).collect();
    let is_missing = |key: &String| !listed.contains(key.as_str());
    Ok(expected
        .into_iter()
        .filter(is_missing)
        .map(|key| format!("{key} was not there when the backup was made"))
        .collect())
}
