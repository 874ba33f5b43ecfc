//! Verifies that a backup can be restored, without restoring its objects.

use std::{collections::HashSet, path::Path, sync::Arc};

use everytab_bundler::object_names;
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{ConnectSettings, Coordinator};
use everytab_storage::Store;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use uuid::Uuid;

use super::{
    copy::{self, CONCURRENT_COPIES, open},
    format::{Backup, StoreKind},
    rows,
};

/// A verification, with the faults found so far.
#[derive(Debug)]
pub struct Verification {
    from: Arc<dyn Store>,
    backup: Backup,
    faults: Vec<String>,
}

impl Verification {
    /// Reads the backup's list at the URL `from`, and compares every object with this list.
    ///
    /// # Errors
    /// Returns an error if the backup is incomplete, its list is damaged, or a newer program made
    /// it.
    pub async fn read(from: &str) -> Result<Self, OperationError> {
        let from = open(from).await?;
        let backup = Backup::read(&*from).await?;
        backup.check_migrations()?;
        let faults = damaged_objects(&*from, &backup).await?;
        Ok(Self { from, backup, faults })
    }

    /// Returns true if the dump matches the list. Otherwise the rows cannot be loaded.
    pub fn is_dump_whole(&self) -> bool {
        !self.faults.iter().any(|fault| fault.starts_with(&self.backup.rows.dump.key))
    }

    /// Loads the rows into the empty database at `url`, and compares them and the objects to which
    /// they refer with the list.
    ///
    /// # Errors
    /// Returns an error if the database or the store fails. A difference is a fault, not an error.
    pub async fn load_rows(&mut self, url: &str, temporary: &Path) -> Result<(), OperationError> {
        let coordinator = Coordinator::connect(url, &ConnectSettings::default()).await?;
        let differences = rows::load(&coordinator, url, &*self.from, &self.backup, temporary);
        self.faults.extend(differences.await?);
        coordinator.migrate().await?;
        self.faults.extend(missing_objects(&coordinator, &self.backup).await?);
        coordinator.close().await;
        Ok(())
    }

    /// Prints one line of data for each fault, or a note if there is none.
    ///
    /// # Errors
    /// Returns an error if there are faults.
    pub fn finish(self, sink: &dyn LineSink) -> Result<(), OperationError> {
        let Self { backup, faults, .. } = &self;
        for fault in faults {
            sink.data(format_args!("{fault}"))?;
        }
        let count: i64 = backup.rows.tables.iter().map(|table| table.rows).sum();
        let (tables, objects) = (backup.rows.tables.len(), backup.objects.len());
        if faults.is_empty() {
            let bytes: u64 = backup.entries().map(|entry| entry.size).sum();
            sink.note(format_args!(
                "the backup is intact: {count} rows in {tables} tables and {objects} objects match \
                 backup.json, {bytes} bytes in total"
            ));
            return Ok(());
        }
        let about_rows = if self.is_dump_whole() { "" } else { "; its rows could not be checked" };
        Err(OperationError::new(format!("the backup has {} faults{about_rows}", faults.len())))
    }
}

async fn damaged_objects(from: &dyn Store, backup: &Backup) -> Result<Vec<String>, OperationError> {
    let mut faults = Vec::new();
    let mut checks = stream::iter(backup.entries().map(|entry| copy::fault_of(from, entry)))
        .buffered(CONCURRENT_COPIES);
    while let Some(fault) = checks.next().await {
        faults.extend(fault?);
    }
    Ok(faults)
}

async fn missing_objects(
    coordinator: &Coordinator,
    backup: &Backup,
) -> Result<Vec<String>, OperationError> {
    if !backup.has_scan() {
        return Ok(Vec::new());
    }
    let id: Uuid = serde_json::from_value(backup.scan["scan_id"].clone())?;
    let Some(number) = coordinator.scan_number(Some(id)).await? else {
        return Ok(vec![format!("the rows do not contain scan {id}")]);
    };
    let mut expected: Vec<String> = coordinator
        .referenced_archives(number)
        .await?
        .into_iter()
        .map(|of| object_names::archive(id, of.shard, of.lease_number, of.token))
        .map(|key| StoreKind::Archive.backup_key(&key))
        .collect();
    let bundles = bundles_of_rows(coordinator, number, id, &backup.scan).await?;
    expected.extend(bundles.iter().map(|key| StoreKind::Site.backup_key(key)));
    let listed: HashSet<&str> = backup.objects.iter().map(|entry| entry.key.as_str()).collect();
    let is_missing = |key: &String| !listed.contains(key.as_str());
    Ok(expected
        .into_iter()
        .filter(is_missing)
        .map(|key| format!("{key} did not exist when the backup was made"))
        .collect())
}

pub(super) async fn bundles_of_rows(
    coordinator: &Coordinator,
    number: i32,
    id: Uuid,
    row: &Value,
) -> Result<Vec<String>, OperationError> {
    let per_shard = row["bundles_per_shard"].as_i64().unwrap_or(1);
    let shards = coordinator.bundled_shards(number).await?;
    let first_of = |shard: i32| i64::from(shard) * per_shard;
    let bundles = shards.into_iter().flat_map(|shard| first_of(shard)..first_of(shard) + per_shard);
    Ok(bundles.map(|bundle| object_names::bundle(id, bundle)).collect())
}
