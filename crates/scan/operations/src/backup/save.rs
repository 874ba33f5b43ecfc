//! Makes a backup, or completes an interrupted one.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use everytab_bundler::{
    object_names,
    page_files::{HASHED_FOLDERS, changing_keys},
};
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Coordinator, JobKind, ScanState, migrations};
use everytab_jobs::scan_settings::ScanSettings;
use everytab_storage::ObjectInfo;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    copy::{CONCURRENT_COPIES, Copier, Expected, open},
    format::{self, Backup, BackupObject, FIRST_CRAWL, Journal, StoreKind, settings_of},
    rows,
    verify::bundles_of_rows,
};
use crate::{database, scan_start::check_tokens};

/// Maximum time before copied objects are noted, so that an interrupted backup loses only this much
/// work.
const NOTE_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum copied objects per note. A note with this many objects has about 100 KB.
const OBJECTS_PER_NOTE: usize = 500;

/// Options for a backup.
#[derive(Debug)]
pub struct BackupOptions {
    /// The URL of the database that holds the scan.
    pub database_url: String,
    /// The scan's id. `None` for the newest scan.
    pub scan: Option<Uuid>,
    /// The URL of the backup's store, which must contain nothing else.
    pub to: String,
    /// A directory for temporary files, with room for a database dump.
    pub temporary: PathBuf,
}

struct Subject {
    /// `None` if the database has live crawls but no scan.
    scan: Option<i32>,
    first_crawl: Option<Uuid>,
}

impl Subject {
    async fn find(coordinator: &Coordinator, scan: Option<Uuid>) -> Result<Self, OperationError> {
        let crawls = coordinator.crawl_status(None).await?;
        let first_crawl = crawls.last().map(|crawl| crawl.id);
        let has_scan = scan.is_some() || coordinator.scan_number(None).await?.is_some();
        let scan = match first_crawl {
            Some(_) if !has_scan => None,
            _ => Some(database::scan_number(coordinator, scan).await?),
        };
        Ok(Self { scan, first_crawl })
    }

    async fn row(&self, coordinator: &Coordinator) -> Result<Value, OperationError> {
        match self.scan {
            Some(number) => ended_scan(coordinator, number).await,
            None => Ok(json!({ FIRST_CRAWL: self.first_crawl })),
        }
    }
}

async fn ended_scan(coordinator: &Coordinator, number: i32) -> Result<Value, OperationError> {
    let row = coordinator.backup_scan(number).await?;
    let row = row.ok_or_else(|| OperationError::new("the scan was dropped during the backup"))?;
    let id = &row["scan_id"];
    let state = row["state"].as_str().unwrap_or_default();
    if state.parse::<ScanState>()?.is_open() {
        return Err(OperationError::new(format!(
            "scan {id} is {state}; wait for its end, or `scan cancel` it, and back it up then"
        )));
    }
    Ok(row)
}

/// Copies the database and a scan's objects. Also completes an interrupted backup, or updates a
/// complete one.
///
/// # Errors
/// Returns an error if the scan is running, the store contains another scan's backup, or a store or
/// the database fails.
pub async fn backup(options: BackupOptions, sink: &dyn LineSink) -> Result<(), OperationError> {
    let BackupOptions { database_url, scan, to: url, temporary } = options;
    let coordinator = database::connect(&database_url).await?;
    let subject = Subject::find(&coordinator, scan).await?;
    let row = subject.row(&coordinator).await?;
    // Check this before anything is written, because `to` may contain a good backup of this scan.
    if let Some(number) = subject.scan {
        wanted_objects(&coordinator, number, &row, &settings_of(&row)?).await?;
    }
    let to = open(&url).await?;
    let mut journal = Journal::open(Arc::clone(&to), &row).await?;
    let rows = rows::save(&coordinator, &database_url, &temporary, &mut journal, sink).await?;
    let objects = match subject.scan {
        Some(number) => {
            let settings = settings_of(&row)?;
            let wanted = wanted_objects(&coordinator, number, &row, &settings).await?;
            let copier = Copier { to: Arc::clone(&to), temporary };
            save_objects(&settings, &copier, wanted, &mut journal, sink).await?
        }
        None => Vec::new(),
    };
    if subject.row(&coordinator).await? != row {
        return Err(OperationError::new(
            "the scan was changed while it was backed up; run the backup again",
        ));
    }
    let migrations = migrations().into_iter().map(str::to_owned).collect();
    let backup = Backup { format: format::FORMAT, migrations, scan: row, rows, objects };
    let bytes: u64 = backup.entries().map(|entry| entry.size).sum();
    let count = backup.entries().count();
    journal.finish(&backup).await?;
    sink.data(format_args!("{}/{}", url.trim_end_matches('/'), format::LIST))?;
    sink.note(format_args!("the backup contains {count} objects with {bytes} bytes"));
    if subject.first_crawl.is_some() {
        sink.note(format_args!("the records of live crawls are not copied: keep their stores"));
    }
    Ok(())
}

/// The objects in the site's root belong to this scan only while the manifest names it.
async fn wanted_objects(
    coordinator: &Coordinator,
    number: i32,
    row: &Value,
    settings: &ScanSettings,
) -> Result<Vec<(StoreKind, ObjectInfo)>, OperationError> {
    let id: Uuid = serde_json::from_value(row["scan_id"].clone())?;
    check_tokens([&settings.archive, &settings.site], id).await?;
    let site = open(&settings.site).await?;
    let archive = open(&settings.archive).await?;
    let mut wanted = Vec::new();
    let mut add = |source, listed: Vec<ObjectInfo>| {
        wanted.extend(listed.into_iter().map(|object| (source, object)));
    };
    let of_scan = site.list_all(&object_names::scan_prefix(id)).await?;
    // `scan gc` removes an old scan's whole site, and keeps its archives.
    let mut has_site = !of_scan.is_empty();
    add(StoreKind::Site, of_scan);
    let manifest = site.get_tagged(object_names::MANIFEST).await?;
    let is_live = manifest
        .and_then(|tagged| serde_json::from_slice::<Value>(&tagged.bytes).ok())
        .is_some_and(|manifest| manifest["scan"] == row["scan_id"]);
    has_site |= is_live;
    if is_live {
        for folder in HASHED_FOLDERS {
            add(StoreKind::Site, site.list_all(folder).await?);
        }
        for key in changing_keys() {
            add(StoreKind::Site, site.head(&key).await?.into_iter().collect());
        }
    }
    let prefix = object_names::archive_prefix(id);
    let listed = archive.list_all(&prefix).await?;
    let referenced: Vec<String> = coordinator
        .referenced_archives(number)
        .await?
        .into_iter()
        .map(|of| object_names::archive(id, of.shard, of.lease_number, of.token))
        .collect();
    let referenced: HashSet<String> = referenced.into_iter().collect();
    let is_wanted = |key: &str| !key.ends_with(".warc.gz") || referenced.contains(key);
    add(StoreKind::Archive, listed.into_iter().filter(|object| is_wanted(&object.key)).collect());
    let listed: HashSet<&str> = wanted.iter().map(|(_, object)| object.key.as_str()).collect();
    let is_missing = |key: &String| !listed.contains(key.as_str());
    let archives = referenced.into_iter().filter(is_missing).collect();
    check_complete(&settings.archive, archives, JobKind::Icon)?;
    if has_site {
        let bundles = bundles_of_rows(coordinator, number, id, row).await?;
        let bundles = bundles.into_iter().filter(is_missing).collect();
        check_complete(&settings.site, bundles, JobKind::BundleShard)?;
    }
    Ok(wanted)
}

fn check_complete(
    url: &str,
    mut missing: Vec<String>,
    kind: JobKind,
) -> Result<(), OperationError> {
    missing.sort_unstable();
    let Some(first) = missing.first() else { return Ok(()) };
    Err(OperationError::new(format!(
        "{url} lacks {} objects to which the rows refer, such as {first}, so nothing was backed \
         up; restore them, or write them again with `scan retry --kind {kind}`",
        missing.len()
    )))
}

async fn save_objects(
    settings: &ScanSettings,
    copier: &Copier,
    wanted: Vec<(StoreKind, ObjectInfo)>,
    journal: &mut Journal,
    sink: &dyn LineSink,
) -> Result<Vec<BackupObject>, OperationError> {
    let stores = HashMap::from([
        (StoreKind::Site, open(&settings.site).await?),
        (StoreKind::Archive, open(&settings.archive).await?),
    ]);
    let mut done = Vec::with_capacity(wanted.len());
    let mut left = Vec::new();
    for (source, object) in wanted {
        let key = source.backup_key(&object.key);
        let is_fixed = source == StoreKind::Site && format::is_fixed(&object.key);
        match journal.object(&key).filter(|entry| entry.size == object.size && !is_fixed) {
            Some(entry) => done.push(entry.clone()),
            None => left.push((source, object, key)),
        }
    }
    let (known, copying) = (done.len(), left.len());
    let mut copies = stream::iter(left.into_iter().map(|(source, object, key)| {
        let from = stores.get(&source).map(Arc::clone);
        async move {
            let from = from.ok_or_else(|| OperationError::new("no store for an object"))?;
            copier.copy(&*from, &object.key, object.size, &key, Expected::Anything).await
        }
    }))
    .buffer_unordered(CONCURRENT_COPIES);
    let mut unnoted = Vec::new();
    let mut note_at = Instant::now() + NOTE_INTERVAL;
    let failed = loop {
        let is_due = tokio::select! {
            copied = copies.next() => match copied {
                Some(Ok(entry)) => {
                    unnoted.push(entry);
                    unnoted.len() >= OBJECTS_PER_NOTE
                }
                Some(Err(failure)) => break Some(failure),
                None => break None,
            },
            () = tokio::time::sleep_until(note_at), if !unnoted.is_empty() => true,
        };
        if is_due {
            journal.note_objects(&unnoted).await?;
            done.append(&mut unnoted);
            note_at = Instant::now() + NOTE_INTERVAL;
        }
    };
    drop(copies);
    journal.note_objects(&unnoted).await?;
    done.append(&mut unnoted);
    if let Some(failure) = failed {
        return Err(failure);
    }
    sink.note(format_args!("objects: {copying} copied, {known} already existed"));
    done.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(done)
}
