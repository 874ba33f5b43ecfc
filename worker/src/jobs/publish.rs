//! `publish`: missing bundles, stats.json, the page, and last the manifest, which switches it all.

use std::{collections::HashSet, sync::Arc};

use bytes::Bytes;
use chrono::{SecondsFormat, Utc};
use everytab_bundler::bundle;
use everytab_coordinator::{Coordinator, OutcomeCount, Output, ScanInfo};
use everytab_storage::{
    Condition, PutIf, Store,
    cdn::{self, CdnSettings},
    objects,
};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::{
    bundle_shard::put_bundle,
    history,
    job::{Assignment, Done, Job, JobError},
    page_files::{Facts, changing_keys, is_hashed, page_files},
    preview,
    stats::Stats,
};
use crate::{context::Context, limits, pulse::Pulse, scan_settings::ScanSettings, scan_stats};

pub(super) struct Publish;

/// All that publishing a scan takes.
#[derive(Debug, Clone)]
pub struct PublishRequest {
    /// The scan.
    pub info: ScanInfo,
    /// Its settings.
    pub settings: ScanSettings,
    /// The shards whose bundles are written.
    pub bundled: Vec<i32>,
    /// Its counts.
    pub outcomes: Vec<OutcomeCount>,
    /// The times of its stages, as `scan status` gives them.
    pub status: Value,
    /// Whether a site of a later scan may be replaced.
    pub force: bool,
}

impl PublishRequest {
    /// Reads what publishing takes.
    ///
    /// # Errors
    /// When Postgres cannot be asked, or the settings are not understood.
    pub async fn load(coordinator: &Coordinator, scan: i32, force: bool) -> Result<Self, JobError> {
        let info = coordinator.load_scan(scan).await?;
        let settings = serde_json::from_value(info.settings.clone())
            .map_err(|error| JobError::Discard(format!("the scan's settings: {error}")))?;
        Ok(Self {
            info,
            settings,
            bundled: coordinator.bundled_shards(scan).await?,
            outcomes: coordinator.scan_outcomes(scan).await?,
            status: coordinator.scan_status(scan).await?,
            force,
        })
    }
}

impl Job for Publish {
    type Input = PublishRequest;

    async fn load(coordinator: &Coordinator, job: &Assignment) -> Result<Self::Input, JobError> {
        PublishRequest::load(coordinator, job.scan, false).await
    }

    async fn run(
        context: &Context,
        job: &Assignment,
        request: PublishRequest,
    ) -> Result<Done, JobError> {
        let manifest = publish_site(context, &request, &job.pulse).await?;
        let mut stats = Stats::default();
        stats.input("bundles", manifest.bundles);
        stats.outcome("published", manifest.bundles);
        Ok(Done { output: Output::Nothing, stats })
    }
}

/// The small file that the page reads first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The scan's id.
    pub scan: Uuid,
    /// The crawl.
    pub crawl: String,
    /// Bundles, numbered from 0.
    pub bundles: u64,
    /// Where the scan's objects lie, below the site's root.
    pub prefix: String,
    /// When it was published.
    pub generated_at: String,
    /// Tabs in all.
    pub hosts: u64,
    /// Tabs with an icon.
    pub with_icon: u64,
    /// Where people write to: mailto: or https:.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// Bundles that were rewritten after publishing, by number, below the prefix.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub overrides: serde_json::Map<String, Value>,
}

/// Sums a stage's numbers over the names that pass.
pub fn totals(
    outcomes: &[OutcomeCount],
    kind: &str,
    key: &str,
    passes: impl Fn(&str) -> bool,
) -> u64 {
    let fits =
        |count: &&OutcomeCount| count.kind == kind && count.key == key && passes(&count.name);
    outcomes.iter().filter(fits).map(|count| count.amount.unsigned_abs()).sum()
}

/// Publishes a scan. The site works at every moment: the manifest is replaced last, and only if it
/// is still the one that was read.
///
/// # Errors
/// When a store refuses, or the site shows a later scan.
pub async fn publish_site(
    context: &Context,
    request: &PublishRequest,
    pulse: &Pulse,
) -> Result<Manifest, JobError> {
    let site = context.store(&request.settings.site).await?;
    let shards = request.info.shards.unwrap_or(0);
    let per_shard = request.info.bundles_per_shard.unwrap_or(1);
    let with = |name: &str| totals(&request.outcomes, "bundle-shard", "outcomes", |n| n == name);
    let with_icon = with("tab_with_icon");
    let manifest = Manifest {
        scan: request.info.scan_id,
        crawl: request.info.crawl.clone(),
        bundles: u64::from(shards.unsigned_abs()) * u64::from(per_shard.unsigned_abs()),
        prefix: objects::scan_prefix(request.info.scan_id),
        generated_at: Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
        hosts: with_icon + with("tab_without_icon"),
        with_icon,
        contact: request.settings.contact.as_ref().map(|contact| match contact.split_once(':') {
            Some(_) => contact.clone(),
            None => format!("mailto:{contact}"),
        }),
        overrides: serde_json::Map::new(),
    };
    fill_gaps(&site, request, shards, per_shard, pulse).await?;
    let stats = scan_stats::document(&request.outcomes, &request.status, &manifest);
    check_newer(&*site, &manifest, request.force).await?;
    let picture = preview::of_site(&*site, &manifest, pulse).await?;
    let facts = Facts {
        site_url: request.settings.site_url.clone(),
        contact: request.settings.contact.clone(),
        user_agent: Some(context.fetchers.obeying.user_agent().to_owned()),
    };
    // Pages name files by their hash: files first, pages after the manifest.
    let (pages, files): (Vec<_>, Vec<_>) =
        page_files(&facts).into_iter().partition(|file| file.key.ends_with(".html"));
    for file in files {
        put_changed(&*site, &file.key, file.bytes.into()).await?;
        pulse.beat();
    }
    replace_manifest(&*site, &manifest, request.force).await?;
    put(&*site, objects::STATS, pretty(&stats)).await?;
    let before = site.get_tagged(objects::HISTORY).await?;
    let history = history::with_scan(before.as_ref().map(|tagged| &tagged.bytes[..]), &stats);
    put(&*site, objects::HISTORY, pretty(&history)).await?;
    if let Some(picture) = picture {
        put_changed(&*site, objects::PREVIEW, picture).await?;
    }
    for page in &pages {
        put_changed(&*site, &page.key, page.bytes.clone().into()).await?;
    }
    if let Some(distribution) = &request.settings.distribution {
        invalidate(distribution, &manifest).await?;
    }
    Ok(manifest)
}

/// Writes empty bundles for the shards that were discarded, so that numbers have no gap.
async fn fill_gaps(
    site: &Arc<dyn Store>,
    request: &PublishRequest,
    shards: i32,
    per_shard: i32,
    pulse: &Pulse,
) -> Result<(), JobError> {
    let bundled: HashSet<i32> = request.bundled.iter().copied().collect();
    let missing = (0..shards).filter(|shard| !bundled.contains(shard));
    let numbers =
        missing.flat_map(|shard| (0..per_shard).map(move |bundle| shard * per_shard + bundle));
    let empty = Bytes::from(bundle::write(&[]));
    let scan_id = request.info.scan_id;
    let puts: Vec<_> = numbers
        .map(|number| put_bundle(Arc::clone(site), scan_id, number, empty.clone()))
        .collect();
    stream::iter(puts)
        .buffer_unordered(limits::PUTS_IN_FLIGHT)
        .inspect_ok(|()| pulse.beat())
        .try_collect::<Vec<()>>()
        .await?;
    Ok(())
}

/// The page is the same for most scans: a file that is there already is left alone.
async fn put_changed(site: &dyn Store, key: &str, bytes: Bytes) -> Result<(), JobError> {
    match site.get(key).await {
        Ok(found) if found == bytes => Ok(()),
        Ok(_) => put(site, key, bytes).await,
        Err(error) if error.is_not_found() => put(site, key, bytes).await,
        Err(error) => Err(error.into()),
    }
}

async fn put(site: &dyn Store, key: &str, bytes: Bytes) -> Result<(), JobError> {
    Ok(site.put(key, bytes, page_put_options(key)).await?)
}

/// Page files carry a hash in their name, and so may be kept for ever.
fn page_put_options(key: &str) -> everytab_storage::PutOptions {
    let mut options = objects::put_options(key);
    if is_hashed(key) {
        options.cache_control = Some(objects::CACHE_IMMUTABLE);
    }
    options
}

/// Refuses to go back in time. Scan ids are ordered by when the scans were started.
async fn check_newer(
    site: &dyn Store,
    manifest: &Manifest,
    force: bool,
) -> Result<Option<(String, Option<Manifest>)>, JobError> {
    let Some(tagged) = site.get_tagged(objects::MANIFEST).await? else { return Ok(None) };
    // A manifest that is not understood is replaced: nobody can be using it.
    let published = serde_json::from_slice::<Manifest>(&tagged.bytes).ok();
    if let Some(published) = &published {
        if published.scan > manifest.scan && !force {
            return Err(JobError::Discard(format!(
                "{} shows scan {}, which was started later; `everytab-worker publish --scan {} \
                 --force` replaces it all the same",
                site.url(),
                published.scan,
                manifest.scan
            )));
        }
        if manifest.hosts == 0 && published.hosts > 0 && !force {
            return Err(JobError::Discard(format!(
                "the scan has no tabs, and {} has {}; `everytab-worker publish --scan {} --force` \
                 empties it all the same",
                site.url(),
                published.hosts,
                manifest.scan
            )));
        }
    }
    Ok(Some((tagged.etag, published)))
}

async fn replace_manifest(
    site: &dyn Store,
    manifest: &Manifest,
    force: bool,
) -> Result<(), JobError> {
    let mut manifest = manifest.clone();
    // Whoever else publishes has written in between: read again, and see whether it still may be.
    for _ in 0..5 {
        let condition = match check_newer(site, &manifest, force).await? {
            Some((etag, published)) => {
                // What was taken down from this scan stays down.
                if let Some(published) = published.filter(|it| it.scan == manifest.scan) {
                    manifest.overrides = published.overrides;
                }
                Condition::Etag(etag)
            }
            None => Condition::Absent,
        };
        let bytes = Bytes::from(serde_json::to_vec(&manifest).map_err(|error| {
            JobError::Discard(format!("the manifest cannot be written as JSON: {error}"))
        })?);
        let options = objects::put_options(objects::MANIFEST);
        match site.put_if(objects::MANIFEST, bytes.clone(), condition, options).await? {
            PutIf::Stored { .. } => return Ok(()),
            PutIf::PreconditionFailed => {
                let now = site.get_tagged(objects::MANIFEST).await?;
                if now.is_some_and(|tagged| tagged.bytes == bytes) {
                    return Ok(());
                }
            }
        }
    }
    Err(JobError::Retry(format!("others keep replacing the manifest in {}", site.url())))
}

fn pretty(value: &Value) -> Bytes {
    Bytes::from(format!("{value:#}\n"))
}

/// Has the CDN forget what changes under its name.
async fn invalidate(distribution: &str, manifest: &Manifest) -> Result<(), JobError> {
    let keys = changing_keys().into_iter().chain([String::new()]);
    let paths: Vec<String> = keys.map(|key| format!("/{key}")).collect();
    // The same publishing asks once, however often it is tried.
    let reference = format!("{}-{}", manifest.scan, manifest.generated_at);
    let settings = CdnSettings::default();
    let id = cdn::invalidate(distribution, &paths, &reference, &settings).await?;
    tracing::info!(distribution, invalidation = %id, "asked the CDN to forget the old pages");
    Ok(())
}
