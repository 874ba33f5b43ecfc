//! `restore`: a backup into a database and its stores; or, to verify it, into a private Postgres.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use everytab_bundler::object_names::{MANIFEST, cache_control, content_type};
use everytab_coordinator::{Contents, Coordinator};
use everytab_storage::{Condition, PutIf, PutOptions, Store};
use futures_util::{StreamExt, stream};
use uuid::Uuid;

use super::{
    copy::{COPIES_AT_ONCE, Copier, open},
    format::{self, Backup, Entry, Source, settings_of},
    rows, verify,
};
use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{database, stdout},
    options::DatabaseArgs,
    scan_settings::ScanSettings,
    scan_start::Places,
};

/// Options of `restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Where the backup is
    #[arg(long, env = "EVERYTAB_BACKUP_FROM")]
    from: String,
    /// Bring nothing back: load the rows into a private Postgres, read every object, and compare
    #[arg(long, env = "EVERYTAB_VERIFY", conflicts_with_all = ["site", "archive"])]
    verify: bool,
    /// Where the site goes; without it, where it was
    #[arg(long, env = "EVERYTAB_SITE")]
    site: Option<String>,
    /// Where the archives go; without it, where they were
    #[arg(long, env = "EVERYTAB_ARCHIVE")]
    archive: Option<String>,
    /// Folder for temporary files, with room for the dump (and, to verify, for the database)
    #[arg(long, env = "EVERYTAB_TEMPORARY", value_name = "DIR")]
    temporary: Option<PathBuf>,
}

/// Brings a backup back; running it again finishes what was cut off.
///
/// # Errors
/// When the database holds scans of its own, the backup is damaged or a newer program's, or a
/// store or the database refuses.
pub async fn restore(args: RestoreArgs) -> CliResult {
    let temporary = args.temporary.unwrap_or_else(std::env::temp_dir);
    let from = open(&args.from).await?;
    if args.verify {
        return verify::verify(&from, &temporary).await;
    }
    let url = database::url(&args.database)?;
    let coordinator = database::connect_unchecked(url).await?;
    let backup = Backup::read(&*from).await?;
    backup.check_migrations()?;
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
    let are_rows_back = has_rows(&coordinator, &backup).await?;
    restore_objects(&from, &settings, &backup, &temporary).await?;
    if !are_rows_back {
        if coordinator.contents().await? == Contents::EmptyTables {
            coordinator.remove_empty_tables().await?;
        }
        let faults = rows::load(&coordinator, url, &*from, &backup, &temporary).await?;
        if !faults.is_empty() {
            return Err(CliError::new(format!("the rows came back wrong: {}", faults.join("; "))));
        }
    }
    coordinator.migrate().await?;
    let id: Uuid = serde_json::from_value(backup.scan["scan_id"].clone())?;
    let number = database::scan_number(&coordinator, Some(id)).await?;
    coordinator.move_scan(number, &settings.site, &settings.archive).await?;
    stdout::line(id)?;
    let count: i64 = backup.rows.tables.iter().map(|table| table.rows).sum();
    eprintln!("{count} rows and {} objects are back", backup.objects.len());
    Ok(Exit::Done)
}

/// Whether an earlier restore of this very backup brought the rows back. A database with scans of
/// its own is left alone.
async fn has_rows(coordinator: &Coordinator, backup: &Backup) -> Result<bool, CliError> {
    if coordinator.contents().await? != Contents::Scans {
        return Ok(false);
    }
    // What restoring changes besides: where the scan's objects are, and who migrated.
    let others = |tables: &[everytab_coordinator::TableDigest]| {
        let mut tables = tables.to_vec();
        tables.retain(|table| !matches!(table.table.as_str(), "scans" | "migrations"));
        tables
    };
    let here = rows::digests(coordinator).await?;
    if rows::differences(&others(&backup.rows.tables), &others(&here)).is_empty() {
        return Ok(true);
    }
    Err(CliError::new(
        "this database holds scans or a blocklist already, and nothing was changed: give a new \
         database with --database-url (createdb makes one)",
    ))
}

async fn restore_objects(
    from: &Arc<dyn Store>,
    settings: &ScanSettings,
    backup: &Backup,
    temporary: &Path,
) -> Result<(), CliError> {
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
            .ok_or_else(|| CliError::new(format!("backup.json lists {:?}", entry.key)))?;
        if source == Source::Site && format::is_fixed(key) {
            root.push((key, entry));
        } else {
            copies.push((source, key, entry));
        }
    }
    let copiers = &copiers;
    let mut copies = stream::iter(copies.into_iter().map(|(source, key, entry)| async move {
        let copier = copiers.get(&source).ok_or_else(|| CliError::new("no store for an object"))?;
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
) -> Result<(), CliError> {
    let Some((_, manifest)) = root.iter().find(|(key, _)| *key == MANIFEST) else {
        return Ok(());
    };
    let bytes = from.get(&manifest.key).await?;
    manifest.check(&bytes)?;
    if let Some(there) = site.to.get_tagged(MANIFEST).await?
        && there.bytes != bytes
    {
        eprintln!(
            "{} shows another scan, which stays; `publish --scan ID` switches it",
            site.to.url()
        );
        return Ok(());
    }
    for (key, entry) in root.iter().filter(|(key, _)| *key != MANIFEST) {
        site.restore(from, entry, key).await?;
    }
    let options = PutOptions::new(content_type(MANIFEST), cache_control(MANIFEST));
    let put = site.to.put_if(MANIFEST, bytes, Condition::Absent, options).await?;
    // Somebody published meanwhile, or it was there already: either may stay.
    let (PutIf::Stored { .. } | PutIf::PreconditionFailed) = put;
    Ok(())
}
