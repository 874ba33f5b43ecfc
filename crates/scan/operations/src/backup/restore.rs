//! Restores a backup into a database and its stores.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use everytab_bundler::{Manifest, object_names::MANIFEST};
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Contents, Coordinator, migrations};
use everytab_jobs::{
    publish::publish_link_pages, scan_settings::ScanSettings, site_objects::put_options,
};
use everytab_storage::{Condition, PutIf, Store};
use futures_util::{StreamExt, stream};
use uuid::Uuid;

use super::{
    copy::{CONCURRENT_COPIES, Copier, open},
    format::{self, Backup, BackupObject, StoreKind, settings_of},
    rows,
};
use crate::{
    database,
    scan_start::{ScanStores, write_tokens},
    takedown_everywhere,
};

/// Options for a restore.
#[derive(Debug)]
pub struct RestoreOptions {
    /// The target database's URL. This database must not contain another scan.
    pub database_url: String,
    /// The URL of the backup's store.
    pub from: String,
    /// The URL of the store for the site. `None` to use the scan's original store.
    pub site: Option<String>,
    /// The URL of the store for the archives. `None` to use the scan's original store.
    pub archive: Option<String>,
    /// A directory for temporary files, with room for the dump.
    pub temporary: PathBuf,
}

/// Restores a backup, or completes an interrupted restore.
///
/// # Errors
///
/// Returns an error if the database contains other scans, if the backup is damaged or from a newer
/// program, or if a store or the database fails.
pub async fn restore(options: RestoreOptions, sink: &dyn LineSink) -> Result<(), OperationError> {
    let RestoreOptions { database_url: url, temporary, .. } = &options;
    let from = open(&options.from).await?;
    let coordinator = database::connect_unchecked(url).await?;
    let backup = Backup::read(&*from).await?;
    backup.check_migrations()?;
    let settings = moved_settings(&options, &backup)?;
    let taken_down = takedown_everywhere::noted_beside(&*from).await?;
    let has_rows_already = has_rows(&coordinator, &backup, !taken_down.is_empty()).await?;
    // Restore the rows after all objects, so that existing rows show that an earlier restore has
    // written all objects. It may also have removed the taken-down hosts from the archives again,
    // so keep these archives.
    let keeps_archives = has_rows_already && !taken_down.is_empty();
    if let Some(settings) = &settings {
        restore_objects(&from, settings, &backup, temporary, keeps_archives, sink).await?;
    }
    if !has_rows_already {
        if coordinator.contents().await? == Contents::EmptyTables {
            coordinator.remove_empty_tables().await?;
        }
        let faults = rows::load(&coordinator, url, &*from, &backup, temporary).await?;
        if !faults.is_empty() {
            return Err(OperationError::new(format!(
                "the restored rows differ from the backup: {}",
                faults.join("; ")
            )));
        }
    }
    coordinator.migrate().await?;
    coordinator.analyze().await?;
    if coordinator.begin_epoch().await?.is_some() {
        sink.note(format_args!("live crawls continue when a crawl worker starts"));
    }
    if let Some(settings) = &settings {
        let id: Uuid = serde_json::from_value(backup.scan["scan_id"].clone())?;
        let number = database::scan_number(&coordinator, Some(id)).await?;
        // Tokens mark the stores to which the objects are restored, so the backup does not contain
        // them.
        write_tokens([&settings.archive, &settings.site], id).await?;
        coordinator.move_scan(number, &settings.site, &settings.archive).await?;
        takedown_everywhere::take_down_again(&taken_down, &settings.site, url, sink).await?;
        let site = open(&settings.site).await?;
        if is_published(&*site, id).await? {
            publish_link_pages(&*site, settings.site_url.as_deref()).await?;
        }
        sink.data(format_args!("{id}"))?;
    } else {
        takedown_everywhere::block_again(&coordinator, &taken_down).await?;
    }
    let count: i64 = backup.rows.tables.iter().map(|table| table.rows).sum();
    sink.note(format_args!("restored {count} rows and {} objects", backup.objects.len()));
    Ok(())
}

async fn is_published(site: &dyn Store, id: Uuid) -> Result<bool, OperationError> {
    let Some(found) = site.get_tagged(MANIFEST).await? else { return Ok(false) };
    Ok(Manifest::read(&found.bytes).is_ok_and(|manifest| manifest.scan == id))
}

fn moved_settings(
    options: &RestoreOptions,
    backup: &Backup,
) -> Result<Option<ScanSettings>, OperationError> {
    if !backup.has_scan() {
        return match (&options.site, &options.archive) {
            (None, None) => Ok(None),
            _ => Err(OperationError::usage(
                "the backup has no scan, so nothing is written to --site or --archive; omit them",
            )),
        };
    }
    let settings = settings_of(&backup.scan)?;
    let stores = ScanStores {
        source: settings.source.clone(),
        source_is_public: settings.source_is_public,
        archive: options.archive.clone().unwrap_or_else(|| settings.archive.clone()),
        site: options.site.clone().unwrap_or_else(|| settings.site.clone()),
        private: None,
    };
    let ScanStores { archive, site, .. } = stores.absolute()?;
    Ok(Some(ScanSettings { archive, site, ..settings }))
}

/// If `any_taken_down`, an earlier restore may have removed some hosts' rows again.
async fn has_rows(
    coordinator: &Coordinator,
    backup: &Backup,
    any_taken_down: bool,
) -> Result<bool, OperationError> {
    if coordinator.contents().await? != Contents::Scans {
        return Ok(false);
    }
    // A restore changes `scans` (the stores' URLs), `migrations`, and the tables from which live
    // crawls continue. A table that is not in the backup was created by a later migration.
    let is_backed_up = |name: &str| backup.rows.tables.iter().any(|table| table.table == name);
    let is_changed = |name: &str| {
        let of_crawls = matches!(name, "slots" | "workers" | "restores");
        of_crawls || name.starts_with("links_") || matches!(name, "scans" | "migrations")
    };
    let of_hosts = |name: &str| {
        matches!(name, "blocklist" | "scan_blocklist")
            || name.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with('_')
    };
    // Rows from an older program are migrated, so their digests may cover other columns.
    let has_same_columns = backup.migrations.len() == migrations().len();
    let unchanged = |tables: &[everytab_coordinator::TableDigest]| {
        let mut tables = tables.to_vec();
        if !has_same_columns {
            tables.iter_mut().for_each(|table| table.digest.clear());
        }
        tables.retain(|table| {
            is_backed_up(&table.table)
                && !is_changed(&table.table)
                && !(any_taken_down && of_hosts(&table.table))
        });
        tables
    };
    let here = rows::digests(coordinator).await?;
    if rows::differences(&unchanged(&backup.rows.tables), &unchanged(&here)).is_empty() {
        return Ok(true);
    }
    Err(OperationError::new(
        "this database already contains scans, crawls or a blocklist, so nothing was changed; \
         give a new database with --database-url (createdb creates one)",
    ))
}

async fn restore_objects(
    from: &Arc<dyn Store>,
    settings: &ScanSettings,
    backup: &Backup,
    temporary: &Path,
    keeps_archives: bool,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let copiers = HashMap::from([
        (StoreKind::Site, Copier { to: open(&settings.site).await?, temporary: temporary.into() }),
        (
            StoreKind::Archive,
            Copier { to: open(&settings.archive).await?, temporary: temporary.into() },
        ),
    ]);
    let mut root = Vec::new();
    let mut copies = Vec::new();
    for entry in &backup.objects {
        let (source, key) = StoreKind::of(&entry.key)
            .ok_or_else(|| OperationError::new(format!("backup.json lists {:?}", entry.key)))?;
        if source == StoreKind::Site && format::is_fixed(key) {
            root.push((key, entry));
        } else {
            copies.push((source, key, entry));
        }
    }
    let copiers = &copiers;
    let mut copies = stream::iter(copies.into_iter().map(|(source, key, entry)| async move {
        let copier =
            copiers.get(&source).ok_or_else(|| OperationError::new("no store for an object"))?;
        let may_stay = keeps_archives && source == StoreKind::Archive;
        if may_stay && copier.to.head(key).await?.is_some() {
            return Ok(());
        }
        copier.restore(&**from, entry, key).await
    }))
    .buffer_unordered(CONCURRENT_COPIES);
    while let Some(copied) = copies.next().await {
        copied?;
    }
    match copiers.get(&StoreKind::Site) {
        Some(site) => restore_root(&**from, site, &root, sink).await,
        None => Ok(()),
    }
}

async fn restore_root(
    from: &dyn Store,
    site: &Copier,
    root: &[(&str, &BackupObject)],
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let Some((_, manifest)) = root.iter().find(|(key, _)| *key == MANIFEST) else {
        return Ok(());
    };
    let bytes = from.get(&manifest.key).await?;
    manifest.check(&bytes)?;
    if let Some(there) = site.to.get_tagged(MANIFEST).await?
        && there.bytes != bytes
    {
        sink.note(format_args!(
            "{} still shows another scan; `publish --scan ID` switches it",
            site.to.url()
        ));
        return Ok(());
    }
    for (key, entry) in root.iter().filter(|(key, _)| *key != MANIFEST) {
        site.restore(from, entry, key).await?;
    }
    let options = put_options(MANIFEST);
    let put = site.to.put_if(MANIFEST, bytes, Condition::Absent, options).await?;
    // If a manifest has been written since, keep it.
    let (PutIf::Stored { .. } | PutIf::PreconditionFailed) = put;
    Ok(())
}
