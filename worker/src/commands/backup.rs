//! `backup` and `restore`: a scan's database and objects to a store of their own, and back.
//!
//! A backup holds `database.dump` (pg_dump, custom format), `site/<key>`, `archive/<key>`, and,
//! written last, `backup.json`, which lists all of them with size and SHA-256, and every table with
//! its rows and a digest of them. Until that is there, `progress/` remembers what is copied, so
//! that a backup that was cut off goes on where it stopped.
//!
//! Invariants: only a scan that has ended is backed up; memory is bounded, whatever the scan's
//! size, but for the list itself (about 200 bytes an object); nothing is brought back that is not
//! exactly what `backup.json` says.

mod copy;
mod format;
mod restore;
mod rows;
mod verify;

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use everytab_bundler::{
    object_names,
    page_files::{HASHED_FOLDERS, changing_keys},
};
use everytab_coordinator::{Coordinator, migrations};
use everytab_storage::ObjectInfo;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::time::Instant;
use uuid::Uuid;

use self::{
    copy::{COPIES_AT_ONCE, Copier, Expected, open},
    format::{Backup, Entry, Journal, Source, settings_of},
};
use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{database, stdout},
    options::DatabaseArgs,
    scan_settings::ScanSettings,
};

pub use restore::{RestoreArgs, restore};

/// What is copied is noted at least this often, and when so many objects are.
const NOTE_EVERY: Duration = Duration::from_secs(2);
/// See [`NOTE_EVERY`].
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
    /// Folder for temporary files, with room for a dump of the database
    #[arg(long, env = "EVERYTAB_TEMPORARY", value_name = "DIR")]
    temporary: Option<PathBuf>,
}

/// The row of a scan that has ended and is whole.
async fn ended_scan(coordinator: &Coordinator, number: i32) -> Result<Value, CliError> {
    let row = coordinator.backup_scan(number).await?;
    let row = row.ok_or_else(|| CliError::new("the scan was dropped meanwhile"))?;
    let (id, state) = (&row["scan_id"], row["state"].as_str().unwrap_or_default());
    if matches!(state, "running" | "paused") {
        return Err(CliError::new(format!(
            "scan {id} is {state}; wait for its end, or `scan cancel` it, and back it up then"
        )));
    }
    Ok(row)
}

/// Copies a scan; running it again finishes what was cut off, or brings it up to date.
///
/// # Errors
/// When the scan runs, another backup is in the place, or a store or the database refuses.
pub async fn backup(args: BackupArgs) -> CliResult {
    let coordinator = database::connect(&args.database).await?;
    let number = database::scan_number(&coordinator, args.scan).await?;
    let row = ended_scan(&coordinator, number).await?;
    let settings = settings_of(&row)?;
    let to = open(&args.to).await?;
    let temporary = args.temporary.unwrap_or_else(std::env::temp_dir);
    let mut journal = Journal::open(Arc::clone(&to), &row).await?;
    let url = database::url(&args.database)?;
    let rows = rows::save(&coordinator, url, &temporary, &mut journal).await?;
    let wanted = wanted_objects(&coordinator, number, &row, &settings).await?;
    let copier = Copier { to: Arc::clone(&to), temporary };
    let objects = save_objects(&settings, &copier, wanted, &mut journal).await?;
    if ended_scan(&coordinator, number).await? != row {
        return Err(CliError::new(
            "the scan was changed while it was backed up; run the backup again",
        ));
    }
    let migrations = migrations().into_iter().map(str::to_owned).collect();
    let backup = Backup { format: format::FORMAT, migrations, scan: row, rows, objects };
    let bytes: u64 = backup.entries().map(|entry| entry.size).sum();
    let count = backup.entries().count();
    journal.finish(&backup).await?;
    stdout::line(format_args!("{}/{}", args.to.trim_end_matches('/'), format::LIST))?;
    eprintln!("the backup holds {count} objects of {bytes} bytes");
    Ok(Exit::Done)
}

/// What is published and archived of a scan. What the site's root has belongs to it only while
/// the manifest names it.
async fn wanted_objects(
    coordinator: &Coordinator,
    number: i32,
    row: &Value,
    settings: &ScanSettings,
) -> Result<Vec<(Source, ObjectInfo)>, CliError> {
    let id: Uuid = serde_json::from_value(row["scan_id"].clone())?;
    let site = open(&settings.site).await?;
    let archive = open(&settings.archive).await?;
    let mut wanted = Vec::new();
    let mut add = |source, listed: Vec<ObjectInfo>| {
        wanted.extend(listed.into_iter().map(|object| (source, object)));
    };
    add(Source::Site, site.list_all(&object_names::scan_prefix(id)).await?);
    let manifest = site.get_tagged(object_names::MANIFEST).await?;
    let is_live = manifest
        .and_then(|tagged| serde_json::from_slice::<Value>(&tagged.bytes).ok())
        .is_some_and(|manifest| manifest["scan"] == row["scan_id"]);
    if is_live {
        for folder in HASHED_FOLDERS {
            add(Source::Site, site.list_all(folder).await?);
        }
        for key in changing_keys() {
            add(Source::Site, site.head(&key).await?.into_iter().collect());
        }
    }
    let prefix = object_names::archive_prefix(id);
    let listed = archive.list_all(&prefix).await?;
    let referenced: Vec<String> = coordinator
        .referenced_archives(number)
        .await?
        .into_iter()
        .map(|(shard, lease_number)| object_names::archive(id, shard, lease_number))
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
) -> Result<Vec<Entry>, CliError> {
    let stores = HashMap::from([
        (Source::Site, open(&settings.site).await?),
        (Source::Archive, open(&settings.archive).await?),
    ]);
    let mut done = Vec::with_capacity(wanted.len());
    let mut left = Vec::new();
    for (source, object) in wanted {
        let key = source.backup_key(&object.key);
        let is_fixed = source == Source::Site && format::is_fixed(&object.key);
        match journal.object(&key).filter(|entry| entry.size == object.size && !is_fixed) {
            Some(entry) => done.push(entry.clone()),
            None => left.push((source, object, key)),
        }
    }
    let (known, copying) = (done.len(), left.len());
    let mut copies = stream::iter(left.into_iter().map(|(source, object, key)| {
        let from = stores.get(&source).map(Arc::clone);
        async move {
            let from = from.ok_or_else(|| CliError::new("no store for an object"))?;
            copier.copy(&*from, &object.key, object.size, &key, Expected::Anything).await
        }
    }))
    .buffer_unordered(COPIES_AT_ONCE);
    let mut unnoted = Vec::new();
    let mut note_at = Instant::now() + NOTE_EVERY;
    let failed = loop {
        let is_due = tokio::select! {
            copied = copies.next() => match copied {
                Some(Ok(entry)) => {
                    unnoted.push(entry);
                    unnoted.len() >= OBJECTS_A_NOTE
                }
                Some(Err(failure)) => break Some(failure),
                None => break None,
            },
            () = tokio::time::sleep_until(note_at), if !unnoted.is_empty() => true,
        };
        if is_due {
            journal.note_objects(&unnoted).await?;
            done.append(&mut unnoted);
            note_at = Instant::now() + NOTE_EVERY;
        }
    };
    drop(copies);
    journal.note_objects(&unnoted).await?;
    done.append(&mut unnoted);
    if let Some(failure) = failed {
        return Err(failure);
    }
    eprintln!("objects: {copying} copied, {known} were there already");
    done.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(done)
}
