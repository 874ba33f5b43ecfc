//! `backup` and `restore`: a scan's rows and objects to a store of their own, and back.
//!
//! A backup holds `rows/<table>/<n>.jsonl.gz`, `site/<key>`, `archive/<key>`, and, written last,
//! `backup.json`, which lists all of them with size and SHA-256. Until that is there, `progress/`
//! remembers what is copied, so that a backup that was cut off goes on where it stopped.
//!
//! Invariants: only a scan that has ended is backed up; memory is bounded, whatever the scan's
//! size, but for the list itself (about 200 bytes an object); nothing is brought back that is not
//! exactly what `backup.json` says.

mod copy;
mod format;
mod restore_rows;
mod save_rows;

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use clap::Args;
use everytab_coordinator::{Coordinator, tables_digest};
use everytab_storage::{Condition, ObjectInfo, PutIf, Store, StoreSettings, objects};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use uuid::Uuid;

use self::{
    copy::{Copier, Expected},
    format::{Backup, Entry, Journal, Source},
};
use crate::{
    commands::{database, stdout},
    config::DatabaseArgs,
    failure::{Exit, Failure, Outcome},
    scan_settings::ScanSettings,
    scan_start::Places,
};

/// In a scan's settings while its backup is brought back.
pub(super) const RESTORING: &str = "restoring";
/// Objects copied at once; each takes at most [`copy::IN_MEMORY_BYTES`] of memory.
const COPIES_AT_ONCE: usize = 8;
/// Objects copied between two notes of progress.
const OBJECTS_A_NOTE: usize = 500;

/// Options of `backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The scan's id; without it, the newest
    #[arg(long, env = "EVERYTAB_SCAN")]
    scan: Option<Uuid>,
    /// Where the backup goes (file:// or s3://), a place of its own
    #[arg(long, env = "EVERYTAB_BACKUP_TO")]
    to: String,
    /// Folder for temporary files
    #[arg(long, env = "EVERYTAB_TEMPORARY", value_name = "DIR")]
    temporary: Option<PathBuf>,
}

/// Options of `restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Where the backup is
    #[arg(long, env = "EVERYTAB_BACKUP_FROM")]
    from: String,
    /// Where the site goes; without it, where it was
    #[arg(long, env = "EVERYTAB_SITE")]
    site: Option<String>,
    /// Where the archives go; without it, where they were
    #[arg(long, env = "EVERYTAB_ARCHIVE")]
    archive: Option<String>,
    /// Folder for temporary files
    #[arg(long, env = "EVERYTAB_TEMPORARY", value_name = "DIR")]
    temporary: Option<PathBuf>,
}

async fn open(url: &str) -> Result<Arc<dyn Store>, Failure> {
    Ok(everytab_storage::open(url, &StoreSettings::default()).await?)
}

fn temporary(folder: Option<PathBuf>) -> PathBuf {
    folder.unwrap_or_else(std::env::temp_dir)
}

fn settings_of(row: &Value) -> Result<ScanSettings, Failure> {
    serde_json::from_value(row["settings"].clone())
        .map_err(|error| Failure::new(format!("the scan's settings are not understood: {error}")))
}

/// The row of a scan that has ended and is whole.
async fn ended_scan(coordinator: &Coordinator, number: i32) -> Result<Value, Failure> {
    let row = coordinator.backup_scan(number).await?;
    let row = row.ok_or_else(|| Failure::new("the scan was dropped meanwhile"))?;
    let (id, state) = (&row["scan_id"], row["state"].as_str().unwrap_or_default());
    if matches!(state, "running" | "paused") {
        return Err(Failure::new(format!(
            "scan {id} is {state}; wait for its end, or `scan cancel` it, and back it up then"
        )));
    }
    if !row["settings"][RESTORING].is_null() {
        return Err(Failure::new(format!("scan {id} is being restored; finish that first")));
    }
    Ok(row)
}

/// Copies a scan; running it again finishes what was cut off, or brings it up to date.
///
/// # Errors
/// When the scan runs, another backup is in the place, or a store or the database refuses.
pub async fn backup(args: BackupArgs) -> Outcome {
    let coordinator = database::connect(&args.database).await?;
    let number = database::scan_number(&coordinator, args.scan).await?;
    let row = ended_scan(&coordinator, number).await?;
    let settings = settings_of(&row)?;
    let to = open(&args.to).await?;
    let mut journal = Journal::open(Arc::clone(&to), &row).await?;
    let rows = save_rows::save(&coordinator, number, &mut journal).await?;
    let wanted = wanted_objects(&coordinator, number, &row, &settings).await?;
    let copier = Copier { to: Arc::clone(&to), temporary: temporary(args.temporary) };
    let objects = save_objects(&settings, &copier, wanted, &mut journal).await?;
    if ended_scan(&coordinator, number).await? != row {
        return Err(Failure::new(
            "the scan was changed while it was backed up; run the backup again",
        ));
    }
    let backup = Backup {
        format: format::FORMAT,
        tables: tables_digest(),
        first_job: rows.first_job,
        last_job: rows.last_job,
        scan: row,
        rows: rows.parts,
        objects,
    };
    let bytes: u64 = backup.entries().map(|entry| entry.size).sum();
    let count = backup.entries().count();
    journal.finish(&backup).await?;
    stdout::line(format_args!(
        "{}{}",
        args.to.trim_end_matches('/').to_owned() + "/",
        format::LIST
    ))?;
    eprintln!("{count} objects of {bytes} bytes; {} of them rows", backup.rows.len());
    Ok(Exit::Done)
}

/// What is published and archived of a scan. What the site's root has belongs to it only while
/// the manifest names it.
async fn wanted_objects(
    coordinator: &Coordinator,
    number: i32,
    row: &Value,
    settings: &ScanSettings,
) -> Result<Vec<(Source, ObjectInfo)>, Failure> {
    let id: Uuid = serde_json::from_value(row["scan_id"].clone())?;
    let site = open(&settings.site).await?;
    let archive = open(&settings.archive).await?;
    let mut wanted = Vec::new();
    let mut add = |source, listed: Vec<ObjectInfo>| {
        wanted.extend(listed.into_iter().map(|object| (source, object)));
    };
    add(Source::Site, site.list_all(&objects::scan_prefix(id)).await?);
    let manifest = site.get_tagged(objects::MANIFEST).await?;
    let is_live = manifest
        .and_then(|tagged| serde_json::from_slice::<Value>(&tagged.bytes).ok())
        .is_some_and(|manifest| manifest["scan"] == row["scan_id"]);
    if is_live {
        for prefix in ["css/", "js/"] {
            add(Source::Site, site.list_all(prefix).await?);
        }
        for key in format::ROOT {
            add(Source::Site, site.head(key).await?.into_iter().collect());
        }
    }
    let prefix = objects::archive_prefix(id);
    let listed = archive.list_all(&prefix).await?;
    let referenced: Vec<String> = coordinator
        .referenced_archives(number)
        .await?
        .into_iter()
        .map(|(shard, lease_number)| objects::archive(id, shard, lease_number))
        .collect();
    let referenced: std::collections::HashSet<String> = referenced.into_iter().collect();
    let is_wanted = |key: &str| !key.ends_with(".warc.gz") || referenced.contains(key);
    add(Source::Archive, listed.into_iter().filter(|object| is_wanted(&object.key)).collect());
    Ok(wanted)
}

async fn save_objects(
    settings: &ScanSettings,
    copier: &Copier,
    wanted: Vec<(Source, ObjectInfo)>,
    journal: &mut Journal,
) -> Result<Vec<Entry>, Failure> {
    let stores = HashMap::from([
        (Source::Site, open(&settings.site).await?),
        (Source::Archive, open(&settings.archive).await?),
    ]);
    let mut done = Vec::with_capacity(wanted.len());
    let mut left = Vec::new();
    for (source, object) in wanted {
        let key = source.backup_key(&object.key);
        // What stands at the site's root under a fixed name changes without changing its size.
        let is_fixed = format::ROOT.contains(&object.key.as_str());
        match journal.object(&key).filter(|entry| entry.size == object.size && !is_fixed) {
            Some(entry) => done.push(entry.clone()),
            None => left.push((source, object, key)),
        }
    }
    let mut copies = stream::iter(left.into_iter().map(|(source, object, key)| {
        let from = stores.get(&source).map(Arc::clone);
        async move {
            let from = from.ok_or_else(|| Failure::new("no store for an object"))?;
            copier.copy(&*from, &object.key, object.size, &key, Expected::Anything).await
        }
    }))
    .buffer_unordered(COPIES_AT_ONCE)
    .chunks(OBJECTS_A_NOTE);
    while let Some(chunk) = copies.next().await {
        let (copied, mut failed): (Vec<_>, Vec<_>) = chunk.into_iter().partition(Result::is_ok);
        let copied: Vec<Entry> = copied.into_iter().flatten().collect();
        journal.note_objects(&copied).await?;
        done.extend(copied);
        if let Some(Err(failure)) = failed.pop() {
            return Err(failure);
        }
    }
    done.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(done)
}

/// Brings a backup back; running it again finishes what was cut off.
///
/// # Errors
/// When the scan is in the database already, the backup is damaged or of another version, or a
/// store or the database refuses.
pub async fn restore(args: RestoreArgs) -> Outcome {
    let coordinator = database::connect(&args.database).await?;
    let from = open(&args.from).await?;
    let mut backup = Backup::read(&*from).await?;
    if backup.tables != tables_digest() {
        return Err(Failure::new(format!(
            "the backup's rows fit tables {}, this program's are {}; restore it with the program \
             that made it, and migrate then",
            backup.tables,
            tables_digest()
        )));
    }
    let settings = settings_of(&backup.scan)?;
    let places = Places {
        source: settings.source.clone(),
        source_is_public: settings.source_is_public,
        archive: args.archive.unwrap_or(settings.archive.clone()),
        site: args.site.unwrap_or(settings.site.clone()),
        private: None,
    };
    let Places { archive, site, .. } = places.absolute()?;
    let settings = ScanSettings { archive, site, ..settings };
    for (name, place) in [("site", &settings.site), ("archive", &settings.archive)] {
        backup.scan["settings"][name] = Value::from(place.as_str());
    }
    refuse_known(&coordinator, &backup.scan).await?;
    let mut restoring =
        coordinator.restore_begin(&backup.scan, backup.first_job, backup.last_job).await?;
    let temporary = temporary(args.temporary);
    restore_objects(&from, &settings, &backup, &temporary).await?;
    let rows = restore_rows::restore(&coordinator, &*from, &backup, &mut restoring).await?;
    if !coordinator.restore_end(&restoring, &backup.scan).await? {
        return Err(restore_rows::overtaken());
    }
    stdout::line(backup.scan["scan_id"].as_str().unwrap_or_default())?;
    eprintln!("{rows} rows and {} objects are back", backup.objects.len());
    Ok(Exit::Done)
}

/// A scan that is in the database whole must not be mixed with one from a backup.
async fn refuse_known(coordinator: &Coordinator, row: &Value) -> Result<(), Failure> {
    let id: Uuid = serde_json::from_value(row["scan_id"].clone())?;
    let Some(number) = coordinator.scan_number(Some(id)).await? else { return Ok(()) };
    match coordinator.backup_scan(number).await? {
        Some(known) if known["settings"][RESTORING].is_null() => Err(Failure::new(format!(
            "scan {id} is in this database already, {}; nothing was changed",
            known["state"].as_str().unwrap_or("?")
        ))),
        _ => Ok(()),
    }
}

async fn restore_objects(
    from: &Arc<dyn Store>,
    settings: &ScanSettings,
    backup: &Backup,
    temporary: &std::path::Path,
) -> Result<(), Failure> {
    let copiers = HashMap::from([
        (Source::Site, Copier { to: open(&settings.site).await?, temporary: temporary.into() }),
        (
            Source::Archive,
            Copier { to: open(&settings.archive).await?, temporary: temporary.into() },
        ),
    ]);
    let mut root = Vec::new();
    let mut copies = Vec::new();
    for entry in &backup.objects {
        let (source, key) = Source::of(&entry.key)
            .ok_or_else(|| Failure::new(format!("backup.json lists {:?}", entry.key)))?;
        if source == Source::Site && format::ROOT.contains(&key) {
            root.push((key, entry));
        } else {
            copies.push((source, key, entry));
        }
    }
    let copiers = &copiers;
    let mut copies = stream::iter(copies.into_iter().map(|(source, key, entry)| async move {
        let copier = copiers.get(&source).ok_or_else(|| Failure::new("no store for an object"))?;
        copier.restore(&**from, entry, key).await
    }))
    .buffer_unordered(COPIES_AT_ONCE);
    while let Some(copied) = copies.next().await {
        copied?;
    }
    match copiers.get(&Source::Site) {
        Some(site) => restore_root(&**from, site, &root).await,
        None => Ok(()),
    }
}

/// Brings the page and its manifest back where no site is; one that is there stays.
async fn restore_root(
    from: &dyn Store,
    site: &Copier,
    root: &[(&str, &Entry)],
) -> Result<(), Failure> {
    let Some((_, manifest)) = root.iter().find(|(key, _)| *key == objects::MANIFEST) else {
        return Ok(());
    };
    let bytes = from.get(&manifest.key).await?;
    manifest.check(&bytes)?;
    if let Some(there) = site.to.get_tagged(objects::MANIFEST).await?
        && there.bytes != bytes
    {
        eprintln!(
            "{} shows another scan, which stays; `publish --scan ID` switches it",
            site.to.url()
        );
        return Ok(());
    }
    for (key, entry) in root.iter().filter(|(key, _)| *key != objects::MANIFEST) {
        site.restore(from, entry, key).await?;
    }
    let options = objects::put_options(objects::MANIFEST);
    let put = site.to.put_if(objects::MANIFEST, bytes, Condition::Absent, options).await?;
    // Somebody published meanwhile, or it was there already: either may stay.
    let (PutIf::Stored { .. } | PutIf::PreconditionFailed) = put;
    Ok(())
}
