//! `scan gc`: removes old sites, and archives to which no row refers.
//!
//! It never touches the published scan, a running scan, or a scan that is newer than the published
//! one and unknown here, because another database may be working on it. A store is listed before
//! Postgres is queried for references, because an object written in between must not look like
//! garbage. A scan's store tokens remain until its rows are dropped, because `scan retry` may
//! reopen the scan.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use everytab_bundler::{
    Manifest,
    object_names::{self, archive_lease},
};
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Coordinator, ScanSummary};
use everytab_jobs::scan_settings::ScanSettings;
use everytab_storage::{ObjectInfo, Store, StoreSettings};
use futures_util::StreamExt;
use uuid::Uuid;

use crate::scan_start::delete_tokens;

/// Options for `scan gc`.
#[derive(Debug, Clone, Copy)]
pub struct GcOptions {
    /// Number of newest scans that keep their sites, in addition to the published scan.
    pub keep: u32,
    /// Whether to only report what would be removed.
    pub dry_run: bool,
    /// Whether to drop the database rows of scans whose sites are removed.
    pub drop_rows: bool,
}

pub(super) const PROBES: &str = ".doctor/";
/// `doctor --role` writes this probe below the role's prefix.
pub(super) const WORKER_PROBE: &str = ".doctor-probe";
const PROBE_PREFIXES: [&str; 3] = [".doctor", "archive/.doctor-probe", "scans/.doctor-probe"];
/// S3's limit of objects per delete request.
const KEYS_PER_DELETE: usize = 1_000;

struct KnownScan {
    number: i32,
    summary: ScanSummary,
    settings: ScanSettings,
}

impl KnownScan {
    fn id(&self) -> Uuid {
        self.summary.scan_id
    }

    fn has_ended(&self) -> bool {
        !self.summary.state.is_open()
    }
}

struct Sweep<'a> {
    sink: &'a dyn LineSink,
    dry_run: bool,
    objects: u64,
    bytes: u64,
}

/// Removes what no scan needs, and prints each removal.
///
/// # Errors
/// Returns an error if a store or the database fails, or a manifest is malformed.
pub async fn gc(
    coordinator: &Coordinator,
    options: GcOptions,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let GcOptions { keep, dry_run, drop_rows } = options;
    let scans = known_scans(coordinator).await?;
    let mut sweep = Sweep { sink, dry_run, objects: 0, bytes: 0 };
    let sites: BTreeSet<&str> = scans.iter().map(|scan| scan.settings.site.as_str()).collect();
    let mut obsolete = BTreeSet::new();
    for url in sites {
        let site = everytab_storage::open(url, &StoreSettings::default()).await?;
        sweep_probes(&*site, &mut sweep).await?;
        let here: Vec<&KnownScan> = scans.iter().filter(|scan| scan.settings.site == url).collect();
        obsolete.extend(sweep_site(&site, &here, keep, &mut sweep).await?);
    }
    for scan in &scans {
        sweep_archives(coordinator, scan, &mut sweep).await?;
    }
    let dropped = scans.iter().filter(|scan| drop_rows && obsolete.contains(&scan.id()));
    for scan in dropped {
        drop_scan_rows(coordinator, scan, dry_run, sink).await?;
    }
    let verb = if dry_run { "would remove" } else { "removed" };
    sink.note(format_args!("{verb} {} objects of {} bytes", sweep.objects, sweep.bytes));
    Ok(())
}

async fn known_scans(coordinator: &Coordinator) -> Result<Vec<KnownScan>, OperationError> {
    let mut known = Vec::new();
    for summary in coordinator.list_scans().await? {
        let id = summary.scan_id;
        // The scan may be dropped between the two queries.
        let Some(number) = coordinator.scan_number(Some(id)).await? else { continue };
        let info = coordinator.load_scan(number).await?;
        let settings = serde_json::from_value(info.settings).map_err(|error| {
            OperationError::new(format!("the settings of scan {id} cannot be parsed: {error}"))
        })?;
        known.push(KnownScan { number, summary, settings });
    }
    Ok(known)
}

#[derive(Debug, Default, Clone, Copy)]
struct Volume {
    objects: u64,
    bytes: u64,
}

/// Returns the old scans, including scans without objects.
async fn sweep_site(
    site: &Arc<dyn Store>,
    scans: &[&KnownScan],
    keep: u32,
    sweep: &mut Sweep<'_>,
) -> Result<Vec<Uuid>, OperationError> {
    let Some(live) = published(&**site).await? else {
        sweep
            .sink
            .note(format_args!("{}: no manifest.json, so no scan there counts as old", site.url()));
        return Ok(Vec::new());
    };
    let mut volumes: BTreeMap<Uuid, Volume> = BTreeMap::new();
    let mut listed = site.list("scans/");
    while let Some(object) = listed.next().await {
        let object = object?;
        if let Some(id) = scan_of(&object.key) {
            let volume = volumes.entry(id).or_default();
            volume.objects += 1;
            volume.bytes += object.size;
        }
    }
    let known = scans.iter().map(|scan| (scan.id(), scan.has_ended())).collect();
    let found: Vec<Uuid> = volumes.keys().copied().collect();
    let mut gone = Vec::new();
    for id in obsolete(&found, &known, live.scan, keep) {
        let prefix = object_names::scan_prefix(id);
        // The operator may have published an older scan again since the manifest was read.
        let now = published(&**site).await?;
        if now.is_none_or(|now| now.scan == id || now.prefix == prefix) {
            sweep
                .sink
                .note(format_args!("{}: scan {id} is published now, so it remains", site.url()));
            continue;
        }
        if let Some(volume) = volumes.get(&id) {
            let Volume { objects, bytes } = volume;
            sweep.sink.data(format_args!(
                "{}{prefix}\t{objects} objects\t{bytes} bytes",
                slashed(site)
            ))?;
            remove_below(site, &prefix, sweep).await?;
        }
        gone.push(id);
    }
    Ok(gone)
}

fn slashed(store: &Arc<dyn Store>) -> String {
    format!("{}/", store.url().trim_end_matches('/'))
}

async fn published(site: &dyn Store) -> Result<Option<Manifest>, OperationError> {
    let Some(tagged) = site.get_tagged(object_names::MANIFEST).await? else { return Ok(None) };
    Manifest::read(&tagged.bytes).map(Some).map_err(|error| {
        OperationError::new(format!(
            "{}manifest.json cannot be parsed ({error}), so nothing is removed",
            site.url()
        ))
    })
}

fn scan_of(key: &str) -> Option<Uuid> {
    let id = key.strip_prefix("scans/")?.split('/').next()?;
    Uuid::parse_str(id).ok().filter(|parsed| parsed.to_string() == id)
}

/// `known` has true for the scans that have finished. Ids are ordered by their scans' start.
fn obsolete(found: &[Uuid], known: &HashMap<Uuid, bool>, live: Uuid, keep: u32) -> Vec<Uuid> {
    let mut newest: Vec<Uuid> = found.iter().chain(known.keys()).copied().collect();
    newest.sort_unstable_by(|a, b| b.cmp(a));
    newest.dedup();
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    let may_go = |id: &Uuid| match known.get(id) {
        _ if *id == live => false,
        Some(has_ended) => *has_ended,
        None => *id < live,
    };
    newest.into_iter().skip(keep).filter(may_go).collect()
}

async fn sweep_archives(
    coordinator: &Coordinator,
    scan: &KnownScan,
    sweep: &mut Sweep<'_>,
) -> Result<(), OperationError> {
    let store = everytab_storage::open(&scan.settings.archive, &StoreSettings::default()).await?;
    sweep_probes(&*store, sweep).await?;
    let prefix = object_names::archive_prefix(scan.id());
    let listed = store.list_all(&prefix).await?;
    let referenced = coordinator.referenced_archives(scan.number).await?;
    let referenced: HashMap<i32, (i32, String)> = referenced
        .into_iter()
        .map(|of| {
            let key = object_names::archive(scan.id(), of.shard, of.lease_number, of.token);
            (of.shard, (of.lease_number, key))
        })
        .collect();
    // The scan may have finished since it was listed.
    let has_ended = !coordinator.scan_status(scan.number).await?.state.is_open();
    let garbage: Vec<ObjectInfo> = listed
        .into_iter()
        .filter(|object| {
            let key = &object.key;
            archive_lease(scan.id(), key).is_some_and(|(shard, lease_number)| {
                is_garbage((lease_number, key), referenced.get(&shard), has_ended)
            })
        })
        .collect();
    for object in &garbage {
        sweep.sink.data(format_args!(
            "{}{}\t1 objects\t{} bytes",
            slashed(&store),
            object.key,
            object.size
        ))?;
    }
    sweep.remove(&*store, &garbage).await
}

/// While the scan runs, a newer lease than the completed one may still be active. Another lease
/// with the completed lease's number was lost in a failover.
fn is_garbage(
    (lease_number, key): (i32, &str),
    referenced: Option<&(i32, String)>,
    has_ended: bool,
) -> bool {
    match referenced {
        Some((completed, named)) => key != named && (has_ended || lease_number <= *completed),
        None => has_ended,
    }
}

async fn sweep_probes(store: &dyn Store, sweep: &mut Sweep<'_>) -> Result<(), OperationError> {
    for prefix in PROBE_PREFIXES {
        let probes = store.list_all(prefix).await?;
        sweep.remove(store, &probes).await?;
    }
    Ok(())
}

async fn remove_below(
    store: &Arc<dyn Store>,
    prefix: &str,
    sweep: &mut Sweep<'_>,
) -> Result<(), OperationError> {
    let mut listed = store.list(prefix).chunks(KEYS_PER_DELETE);
    while let Some(chunk) = listed.next().await {
        let objects = chunk.into_iter().collect::<Result<Vec<_>, _>>()?;
        sweep.remove(&**store, &objects).await?;
    }
    Ok(())
}

impl Sweep<'_> {
    async fn remove(
        &mut self,
        store: &dyn Store,
        objects: &[ObjectInfo],
    ) -> Result<(), OperationError> {
        for chunk in objects.chunks(KEYS_PER_DELETE) {
            if !self.dry_run {
                let keys: Vec<String> = chunk.iter().map(|object| object.key.clone()).collect();
                store.delete(&keys).await?;
            }
            self.objects += chunk.len() as u64;
            self.bytes += chunk.iter().map(|object| object.size).sum::<u64>();
        }
        Ok(())
    }
}

async fn drop_scan_rows(
    coordinator: &Coordinator,
    scan: &KnownScan,
    dry_run: bool,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let id = scan.id();
    if dry_run || coordinator.drop_scan(scan.number).await? {
        sink.data(format_args!("rows of scan {id}"))?;
        let (archive, site) = (&scan.settings.archive, &scan.settings.site);
        // Later runs do not find the tokens, because the rows are gone.
        if !dry_run && let Err(error) = delete_tokens([archive, site], id).await {
            sink.note(format_args!(
                "a store token of scan {id} remains ({}); delete {} in {archive} and {site}",
                error.message,
                object_names::store_token(id)
            ));
        }
        sink.note(format_args!(
            "its archive remains: {} in {}",
            object_names::archive_prefix(id),
            scan.settings.archive
        ));
    } else {
        sink.note(format_args!("scan {id} runs again, so its rows remain"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128((0x0190_0000_0000_7000_8000 << 48) + number)
    }

    #[test]
    fn the_live_the_newest_and_the_running_scans_stay() {
        let found: Vec<Uuid> = (1..=6).map(id).collect();
        let known: HashMap<Uuid, bool> =
            [(id(1), true), (id(2), false), (id(4), true), (id(6), true)].into();
        assert_eq!(obsolete(&found, &known, id(3), 2), [id(4), id(1)]);
        assert_eq!(obsolete(&found, &known, id(3), 0), [id(6), id(4), id(1)]);
        assert_eq!(obsolete(&found, &HashMap::new(), id(6), 0).len(), 5);
        // A scan without a site may still have rows.
        assert_eq!(obsolete(&[id(3)], &known, id(3), 2), [id(1)]);
        assert_eq!(obsolete(&found, &known, id(3), 100), Vec::<Uuid>::new());
    }

    #[test]
    fn only_archives_of_lost_leases_are_garbage() {
        let completed = (2, "0-2-a".to_owned());
        let is_garbage = |lease_number, key, has_ended| {
            super::is_garbage((lease_number, key), Some(&completed), has_ended)
        };
        assert!(is_garbage(1, "0-1-b", false), "older than the completed lease");
        assert!(!is_garbage(2, "0-2-a", true), "the completed lease's own");
        assert!(!is_garbage(3, "0-3-c", false), "a lease that may be at work");
        assert!(is_garbage(3, "0-3-c", true), "a lease that was lost");
        assert!(is_garbage(2, "0-2-d", false), "a lease that was lost in a failover");
        let of_none = |has_ended| super::is_garbage((1, "0-1-b"), None, has_ended);
        assert!(!of_none(false) && of_none(true));
    }

    #[test]
    fn keys_that_are_not_ours_belong_to_nothing() {
        assert_eq!(scan_of(&object_names::bundle(id(1), 7)), Some(id(1)));
        for key in ["scans/x/tabs/0.json", "scans/", "tabs/0.json"] {
            assert_eq!(scan_of(key), None, "{key}");
        }
        let upper = object_names::bundle(id(0xabc), 7).to_uppercase();
        assert_eq!(scan_of(&upper.replace("SCANS", "scans")), None);
    }
}
