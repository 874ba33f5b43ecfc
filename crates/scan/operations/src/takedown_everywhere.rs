//! `takedown --everywhere`: removes hosts from everything that EveryTab stores: all scans in the
//! site, old versions of its objects, the archives, and the database's rows. Also writes the hosts
//! next to the backups, so that `restore` excludes them.
//!
//! A scan's rows show which records belong to the host, so they are removed last, and a second run
//! completes an interrupted takedown. A running scan keeps its rows and archive.

mod traces;

use std::{
    collections::{BTreeMap, BTreeSet},
    future::ready,
};

use everytab_bundler::{
    object_names::{
        LINKS_PREFIX, MAP_PATH, SCANS_PREFIX, archive_lease, archive_prefix, host_ranks, map_part,
        search_part,
    },
    search::ranks::HostRanks,
    takedown_list::{PatternKind, listed_patterns},
};
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Coordinator, HostRecord};
use everytab_jobs::{
    request_table::{FoundTable, read_table},
    scan_settings::ScanSettings,
    site_objects::put_options,
};
use everytab_storage::{ObjectChange, OldVersion, Store, StoreSettings, Tagged};
use futures_util::{StreamExt, TryStreamExt, stream};
use uuid::Uuid;

use self::traces::{OwnRecords, blanked, map_part_without, names, part_without, table_names};
use crate::{
    blocklist::Patterns,
    database,
    takedown::{TakedownOptions, list_in, take_down_from_all},
};

/// The file with the hosts that `restore` must exclude, in the format of blocklist.txt.
pub(crate) const TAKEDOWNS: &str = "takedowns.txt";
const BACKUP: &str = "backup.json";
/// Old versions or request tables that are read concurrently.
const CONCURRENT_READS: usize = 16;

/// Options for `takedown --everywhere`.
#[derive(Debug, Clone)]
pub struct EverywhereOptions {
    /// The hosts, and the site with all its scans.
    pub takedown: TakedownOptions,
    /// The URL of the database whose scans' rows and archives are changed.
    pub database_url: Option<String>,
    /// The URL of the store that contains the backups.
    pub backups: Option<String>,
}

/// Removes hosts everywhere, and prints where items were removed. Returns false if a scan is
/// running, so that its rows and archive remain, or if part of the site is damaged, so that a tab
/// or its icon may remain.
///
/// # Errors
///
/// Returns an error if a store or the database fails, or the patterns are not hostnames.
pub async fn take_down_everywhere(
    options: EverywhereOptions,
    sink: &dyn LineSink,
) -> Result<bool, OperationError> {
    let EverywhereOptions { takedown, database_url, backups } = options;
    if takedown.patterns.kind() != PatternKind::Hostname {
        return Err(OperationError::usage(
            "--everywhere accepts only hostnames: take the pattern down without it, then each host \
             that this prints",
        ));
    }
    let hosts = takedown.patterns.patterns().to_vec();
    let reason = takedown.reason.clone();
    let site = everytab_storage::open(&takedown.site, &StoreSettings::default()).await?;
    let mut is_whole = take_down_from_all(takedown, sink).await?;
    if let Some(url) = &backups {
        note_in_backups(url, &hosts, reason.as_deref(), sink).await?;
    } else {
        sink.note(format_args!("without --backups, restoring a backup restores the hosts"));
    }
    match &database_url {
        Some(url) => {
            let coordinator = database::connect(url).await?;
            for host in &hosts {
                coordinator.block(PatternKind::Hostname.name(), host, reason.as_deref()).await?;
                is_whole &= remove_from_scans(&coordinator, host, sink).await?;
            }
        }
        None => sink.note(format_args!(
            "without --database-url, the scans' rows and archives remain unchanged"
        )),
    }
    remove_old_versions(&*site, &hosts, sink).await?;
    Ok(is_whole)
}

/// Returns false if a scan is running.
async fn remove_from_scans(
    coordinator: &Coordinator,
    host: &str,
    sink: &dyn LineSink,
) -> Result<bool, OperationError> {
    let mut is_whole = true;
    for summary in coordinator.list_scans().await? {
        let id = summary.scan_id;
        let Some(scan) = coordinator.scan_number(Some(id)).await? else { continue };
        if summary.state.is_open() {
            is_whole = false;
            sink.note(format_args!(
                "scan {id} is running: run `scan exclude {host}` now, and this command later"
            ));
            continue;
        }
        let info = coordinator.load_scan(scan).await?;
        let settings: ScanSettings = serde_json::from_value(info.settings)?;
        let records = coordinator.records_of_host(scan, host).await?;
        let archive = &settings.archive;
        let per_shard = info.bundles_per_shard.unwrap_or(1).max(1);
        let removed = remove_from_archive(archive, id, &records, host, per_shard, sink).await?;
        let InArchive { records: archived, cells, lines } = removed;
        sink.data(format_args!("{host}\tarchive of scan {id}\t{archived} records"))?;
        sink.data(format_args!("{host}\tmap parts of scan {id}\t{cells} icons"))?;
        sink.data(format_args!("{host}\tsearch parts of scan {id}\t{lines} lines"))?;
        match coordinator.remove_host(scan, host).await? {
            Some((captures, pages, icons)) => sink.data(format_args!(
                "{host}\trows of scan {id}\t{captures} captures, {pages} pages, {icons} icons"
            ))?,
            None => {
                is_whole = false;
                sink.note(format_args!("scan {id} runs again: repeat this command after its end"));
            }
        }
    }
    Ok(is_whole)
}

#[derive(Default)]
struct InArchive {
    /// Records of the host's icons, and request tables with its requests.
    records: u64,
    cells: u64,
    lines: u64,
}

async fn remove_from_archive(
    url: &str,
    id: Uuid,
    records: &[HostRecord],
    host: &str,
    per_shard: i32,
    sink: &dyn LineSink,
) -> Result<InArchive, OperationError> {
    let store = everytab_storage::open(url, &StoreSettings::default()).await?;
    let mut of_archive: BTreeMap<(i32, i32), OwnRecords> = BTreeMap::new();
    for record in records {
        if let Some(offset) = record.archive_offset.and_then(|offset| u64::try_from(offset).ok()) {
            let own = of_archive.entry((record.shard, record.lease_number)).or_default();
            own.insert(offset, record.shared);
        }
    }
    let shards: BTreeSet<i32> = records.iter().map(|record| record.shard).collect();
    let prefix = archive_prefix(id);
    let listed = match store.list_all(&prefix).await {
        Err(error) if error.is_not_found() => {
            sink.note(format_args!("{url} no longer exists, so scan {id} has no archive"));
            return Ok(InArchive::default());
        }
        listed => listed?,
    };
    // The archives of lost leases also contain the host. Any shard's table may contain it too,
    // because another site may have redirected to the host.
    let store = &*store;
    let shards = &shards;
    let concerned = listed.into_iter().filter_map(|object| {
        let lease = archive_lease(id, &object.key)?;
        Some((object.key, lease))
    });
    let looks: Vec<_> = concerned
        .map(|(key, of)| async move {
            let is_concerned = shards.contains(&of.0) || table_has(store, &key, host).await?;
            Ok::<_, OperationError>(is_concerned.then_some((key, of)))
        })
        .collect();
    let mut looked = stream::iter(looks).buffered(CONCURRENT_READS);
    let nothing = OwnRecords::new();
    let mut removed = InArchive::default();
    while let Some(found) = looked.try_next().await? {
        let Some((key, of)) = found else { continue };
        let own = of_archive.get(&of).unwrap_or(&nothing);
        removed.records += change(store, &key, |bytes| blanked(bytes, own, host)).await?;
    }
    for &shard in shards {
        let part = search_part(id, shard);
        // Edit the map part first, because the host's search line shows where its icon is.
        if let Some(search) = store.get_tagged(&part).await? {
            let first = shard.saturating_mul(per_shard);
            let edit = |bytes: &bytes::Bytes| map_part_without(bytes, &search.bytes, host, first);
            removed.cells += change(store, &map_part(id, shard), edit).await?;
        }
        let edit = |bytes: &bytes::Bytes| Some((part_without(bytes, host)?, 1));
        removed.lines += change(store, &part, edit).await?;
    }
    let without = |bytes: &bytes::Bytes| Some((HostRanks::without(bytes, host)?.into(), 1));
    change(store, &host_ranks(id), without).await?;
    Ok(removed)
}

async fn table_has(store: &dyn Store, key: &str, host: &str) -> Result<bool, OperationError> {
    Ok(match read_table(store, key).await? {
        FoundTable::Table(table) => table_names(&table, host),
        FoundTable::NotKept | FoundTable::NoArchive => false,
    })
}

async fn change(
    store: &dyn Store,
    key: &str,
    edit: impl Fn(&bytes::Bytes) -> Option<(bytes::Bytes, u64)>,
) -> Result<u64, OperationError> {
    let change = |before: Option<Tagged>| {
        let edited = before.and_then(|tagged| edit(&tagged.bytes));
        ready(Ok::<_, OperationError>(match edited {
            Some((bytes, count)) => ObjectChange::Write(bytes, count),
            None => ObjectChange::Keep(0),
        }))
    };
    store.update(key, put_options(key), change).await
}

/// The store keeps an old version when an object is changed or deleted.
async fn remove_old_versions(
    store: &dyn Store,
    hosts: &[String],
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let mut listed = store.old_versions(SCANS_PREFIX).await?;
    listed.extend(store.old_versions(LINKS_PREFIX).await?);
    let reads: Vec<_> = listed.iter().map(|old| named_by(store, old, hosts)).collect();
    let found: Vec<Option<OldVersion>> =
        stream::iter(reads).buffered(CONCURRENT_READS).try_collect().await?;
    let found: Vec<OldVersion> = found.into_iter().flatten().collect();
    store.delete_versions(&found).await?;
    let url = store.url();
    let removed = found.len();
    let looked = listed.len();
    sink.data(format_args!("{url}\told versions\t{removed} of {looked}"))
}

async fn named_by(
    store: &dyn Store,
    old: &OldVersion,
    hosts: &[String],
) -> Result<Option<OldVersion>, OperationError> {
    // Old versions of tiles exist only because a takedown repainted an icon.
    let is_tile = old.key.split_once('/').and_then(|(_, rest)| rest.split_once('/'));
    if is_tile.is_some_and(|(_, path)| path.starts_with(MAP_PATH)) {
        return Ok(Some(old.clone()));
    }
    let bytes = match store.get_version(old).await {
        // A lifecycle rule has removed this version.
        Err(error) if error.is_not_found() => return Ok(None),
        bytes => bytes?,
    };
    let is_named = hosts.iter().any(|host| names(&old.key, &bytes, host));
    Ok(is_named.then(|| old.clone()))
}

async fn note_in_backups(
    url: &str,
    hosts: &[String],
    reason: Option<&str>,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let store = everytab_storage::open(url, &StoreSettings::default()).await?;
    let mut folders = store.list_folders("").await?;
    folders.push(String::new());
    let mut noted = 0;
    for folder in folders {
        if store.head(&format!("{folder}{BACKUP}")).await?.is_none() {
            continue;
        }
        let listed: Vec<_> = hosts.iter().map(|host| (PatternKind::Hostname, &**host)).collect();
        list_in(&*store, &format!("{folder}{TAKEDOWNS}"), &listed, reason, sink).await?;
        noted += 1;
        for host in hosts {
            sink.data(format_args!(
                "{host}\tbackup {}/{folder}\tstill contains it; restoring the backup removes it",
                store.url()
            ))?;
        }
    }
    if noted == 0 {
        sink.note(format_args!("there is no backup directly below {url}"));
    }
    Ok(())
}

pub(crate) async fn noted_beside(backup: &dyn Store) -> Result<Vec<String>, OperationError> {
    let Some(note) = backup.get_tagged(TAKEDOWNS).await? else { return Ok(Vec::new()) };
    let text = String::from_utf8_lossy(&note.bytes);
    let listed = listed_patterns(&text).filter(|(kind, _)| *kind == PatternKind::Hostname);
    Ok(listed.map(|(_, host)| host.to_owned()).collect())
}

/// A restored database's live crawls must not request these hosts.
pub(crate) async fn block_again(
    coordinator: &Coordinator,
    hosts: &[String],
) -> Result<(), OperationError> {
    for host in hosts {
        coordinator.block(PatternKind::Hostname.name(), host, None).await?;
    }
    Ok(())
}

pub(crate) async fn take_down_again(
    hosts: &[String],
    site: &str,
    database_url: &str,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    if hosts.is_empty() {
        return Ok(());
    }
    let reason = format!("{TAKEDOWNS} of the restored backup");
    let takedown = TakedownOptions {
        patterns: Patterns::check(PatternKind::Hostname, hosts)?,
        site: site.to_owned(),
        private: None,
        distribution: None,
        reason: Some(reason),
    };
    let site = everytab_storage::open(site, &StoreSettings::default()).await?;
    take_down_from_all(takedown, sink).await?;
    let coordinator = database::connect(database_url).await?;
    for host in hosts {
        coordinator.block(PatternKind::Hostname.name(), host, None).await?;
        remove_from_scans(&coordinator, host, sink).await?;
    }
    remove_old_versions(&*site, hosts, sink).await
}
