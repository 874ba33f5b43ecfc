//! `publish`: writes missing bundles, stats.json and the page, and last the manifest, which
//! switches visitors to the new scan.

mod excluded;
mod preview;
mod scan_numbers;
mod well_known;

use std::{
    collections::{BTreeMap, HashSet},
    future::ready,
};

use bytes::Bytes;
use chrono::{SecondsFormat, Utc};
use everytab_bundler::{
    Manifest, ReplaceRefusal, SearchKinds, bundle, history,
    map::{MapLayout, MapManifest},
    object_names::{
        self, HISTORY, MANIFEST, MAP_INDEX_PATH, PREVIEW, SEARCH_KINDS_PATH, STATS, scan_prefix,
    },
    page_files::{SiteOperator, changing_keys, page_files},
    stats_document::{ScanNumbers, stats_document},
    stats_names::{InputName, OutcomeName, StageName},
};
use everytab_coordinator::{Coordinator, JobKind, OutcomeCount, Output, ScanInfo, ScanStatus};
use everytab_fetcher::Heartbeat;
use everytab_storage::{AwsSettings, ObjectChange, Store, Tagged, cdn};
use serde_json::{Map, Value};

pub use self::{excluded::Excluded, well_known::publish_key};
use crate::{
    context::Context,
    job::{Job, JobError, PerformedJob, ScanAssignment},
    map::{draw_coarse, load_layout},
    scan_settings::ScanSettings,
    site_objects::{put_all, put_changed, put_object, put_options},
    stats::Stats,
};

pub(crate) struct Publish;

/// Input for publishing a scan.
#[derive(Debug, Clone)]
pub struct PublishRequest {
    /// The scan.
    pub info: ScanInfo,
    /// The scan's settings.
    pub settings: ScanSettings,
    /// The shards whose bundles are written.
    pub bundled: Vec<i32>,
    /// The scan's counts.
    pub outcomes: Vec<OutcomeCount>,
    /// The document of `scan status`, for the times of the stages.
    pub status: ScanStatus,
    /// The map's dimensions. `None` if the scan has no map, or a part of it was discarded.
    pub map: Option<MapLayout>,
    /// Everything that must not be on the site at the time of publishing.
    pub excluded: Excluded,
    /// Whether to replace the site of a later scan, or of a much larger one.
    pub force: bool,
}

impl PublishRequest {
    /// Loads the input for publishing a scan. `private` overrides the private prefix in the scan's
    /// settings.
    ///
    /// # Errors
    /// Returns an error if Postgres or the private prefix cannot be reached, or the settings cannot
    /// be parsed.
    pub async fn load(
        coordinator: &Coordinator,
        scan: i32,
        private: Option<String>,
        force: bool,
    ) -> Result<Self, JobError> {
        let info = coordinator.load_scan(scan).await?;
        let mut settings: ScanSettings = serde_json::from_value(info.settings.clone())
            .map_err(|error| JobError::Discard(format!("the scan's settings: {error}")))?;
        settings.private = private.or(settings.private);
        let excluded = Excluded::load(coordinator, scan, settings.private.as_deref()).await?;
        let status = coordinator.scan_status(scan).await?;
        let is_drawn = status.stages.iter().any(|stage| {
            stage.kind == JobKind::Map && stage.done > 0 && stage.discarded + stage.outstanding == 0
        });
        let map = match is_drawn {
            true => load_layout(coordinator, scan, &info).await?,
            false => None,
        };
        Ok(Self {
            info,
            settings,
            map,
            excluded,
            bundled: coordinator.bundled_shards(scan).await?,
            outcomes: coordinator.run_outcomes(scan).await?,
            status,
            force,
        })
    }
}

impl Job for Publish {
    type Input = PublishRequest;

    async fn load(
        coordinator: &Coordinator,
        job: &ScanAssignment,
    ) -> Result<Self::Input, JobError> {
        PublishRequest::load(coordinator, job.scan, None, false).await
    }

    async fn perform(
        context: &Context,
        job: &ScanAssignment,
        request: PublishRequest,
    ) -> Result<PerformedJob, JobError> {
        let manifest = publish_site(context, &request, &job.heartbeat).await?;
        let mut stats = Stats::default();
        stats.input(InputName::Bundles, manifest.bundles);
        stats.outcome(OutcomeName::Published.as_str(), manifest.bundles);
        Ok(PerformedJob { output: Output::Nothing, stats })
    }
}

/// Publishes a scan. The site works at every moment, because the manifest is replaced after
/// everything that it names is written, and only if it has not changed since it was read.
///
/// # Errors
/// Returns an error if a store fails, or the site shows a later scan.
pub async fn publish_site(
    context: &Context,
    request: &PublishRequest,
    heartbeat: &Heartbeat,
) -> Result<Manifest, JobError> {
    let site = context.store(&request.settings.site).await?;
    let numbers = scan_numbers::of(&request.outcomes, &request.status);
    let mut manifest = manifest(request, &numbers);
    manifest.search = search_kinds(&*site, &manifest.prefix).await?;
    fill_gaps(&*site, request, heartbeat).await?;
    if let Some(layout) = request.map {
        manifest.map = Some(publish_map(&*site, &manifest.prefix, layout, heartbeat).await?);
    }
    let published = read_manifest(&*site).await?;
    let (excluded, published_by_now) = (&request.excluded, published.as_ref());
    let found = excluded.find(&*site, &manifest, heartbeat).await?;
    // Checked before any removal, so that a rejected publish leaves the tabs in place.
    let left = Manifest { hosts: manifest.hosts.saturating_sub(found.tabs()), ..manifest.clone() };
    replacement(site.url(), published_by_now, &left, request.force)?;
    let trouble = excluded.remove(&found, &*site, &mut manifest, published_by_now, heartbeat);
    if let Some(trouble) = trouble.await? {
        return Err(JobError::Discard(trouble));
    }
    let stats = stats_document(&numbers, &manifest);
    let picture = preview::of_site(&*site, &manifest, heartbeat).await?;
    let own = context.fetcher.user_agent();
    let user_agent = request.settings.user_agent.as_deref().unwrap_or(own);
    let operator = SiteOperator {
        site_url: request.settings.site_url.clone(),
        contact: request.settings.contact.clone(),
        user_agent: Some(user_agent.to_owned()),
    };
    // Pages name files by their hash, so write files first and pages after the manifest.
    let (pages, files): (Vec<_>, Vec<_>) =
        page_files(&operator).into_iter().partition(|file| file.key.ends_with(".html"));
    for file in files {
        put_changed(&*site, &file.key, file.bytes.into()).await?;
        heartbeat.beat();
    }
    replace_manifest(&*site, &manifest, published.as_ref(), request.force).await?;
    let manifest = request.excluded.remove_later_ones(&*site, manifest, heartbeat).await?;
    put_object(&*site, STATS, pretty(&stats)).await?;
    let before = site.get_tagged(HISTORY).await?;
    let history = history::with_scan(before.as_ref().map(|tagged| &tagged.bytes[..]), &stats);
    put_object(&*site, HISTORY, pretty(&history)).await?;
    if let Some(picture) = picture {
        put_changed(&*site, PREVIEW, picture).await?;
    }
    for page in &pages {
        put_changed(&*site, &page.key, page.bytes.clone().into()).await?;
    }
    let key = context.fetcher.signing_key().map(|key| &**key);
    well_known::publish(&*site, &request.settings, key).await?;
    if let Some(distribution) = &request.settings.distribution {
        invalidate(distribution, &manifest).await?;
    }
    Ok(manifest)
}

fn manifest(request: &PublishRequest, numbers: &ScanNumbers) -> Manifest {
    let with_icon = numbers.outcome(StageName::BundleShard, OutcomeName::TabWithIcon);
    let without = numbers.outcome(StageName::BundleShard, OutcomeName::TabWithoutIcon);
    let contact = request.settings.contact.as_ref();
    Manifest {
        scan: request.info.scan_id,
        crawl: request.info.crawl.clone(),
        bundles: request.info.bundles(),
        prefix: scan_prefix(request.info.scan_id),
        generated_at: Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
        hosts: with_icon + without,
        with_icon,
        contact: contact.map(|contact| match contact.contains(':') {
            true => contact.clone(),
            false => format!("mailto:{contact}"),
        }),
        overrides: BTreeMap::new(),
        map: None,
        search: None,
        extra: Map::new(),
    }
}

/// Draws the coarse levels of the map, and returns its dimensions.
async fn publish_map(
    site: &dyn Store,
    prefix: &str,
    layout: MapLayout,
    heartbeat: &Heartbeat,
) -> Result<MapManifest, JobError> {
    draw_coarse(site, prefix, layout, heartbeat).await?;
    let map = layout.manifest();
    let index = serde_json::to_vec(&map).unwrap_or_default();
    put_changed(site, &format!("{prefix}{MAP_INDEX_PATH}"), index.into()).await?;
    Ok(map)
}

/// Returns which kinds of search files the scan has, as its search jobs recorded. `None` for scans
/// of older versions.
async fn search_kinds(site: &dyn Store, prefix: &str) -> Result<Option<SearchKinds>, JobError> {
    let kinds = site.get_tagged(&format!("{prefix}{SEARCH_KINDS_PATH}")).await?;
    Ok(kinds.and_then(|kinds| serde_json::from_slice(&kinds.bytes).ok()))
}

fn shards(request: &PublishRequest) -> i32 {
    request.info.shards.unwrap_or(0)
}

fn bundles_per_shard(request: &PublishRequest) -> i32 {
    request.info.bundles_per_shard.unwrap_or(1)
}

/// Writes empty bundles for discarded shards, so that bundle numbers have no gap.
async fn fill_gaps(
    site: &dyn Store,
    request: &PublishRequest,
    heartbeat: &Heartbeat,
) -> Result<(), JobError> {
    let (shards, per_shard) = (shards(request), bundles_per_shard(request));
    let bundled: HashSet<i32> = request.bundled.iter().copied().collect();
    let missing = (0..shards).filter(|shard| !bundled.contains(shard));
    let numbers =
        missing.flat_map(|shard| (0..per_shard).map(move |bundle| shard * per_shard + bundle));
    let empty = Bytes::from(bundle::write(&[]));
    let scan_id = request.info.scan_id;
    let bundles = numbers.map(|number| (object_names::bundle(scan_id, number), empty.clone()));
    put_all(site, bundles, heartbeat).await?;
    Ok(())
}

/// Reads the published manifest. A malformed one counts as missing, because no page can read it.
async fn read_manifest(site: &dyn Store) -> Result<Option<Manifest>, JobError> {
    let tagged = site.get_tagged(MANIFEST).await?;
    Ok(tagged.and_then(|tagged| Manifest::read(&tagged.bytes).ok()))
}

/// Replaces the manifest, unless the site shows a scan that must stay. `seen` is the published
/// manifest that was read earlier, with the bundles that takedowns had rewritten until then.
async fn replace_manifest(
    site: &dyn Store,
    manifest: &Manifest,
    seen: Option<&Manifest>,
    force: bool,
) -> Result<(), JobError> {
    let options = put_options(MANIFEST);
    let overrides_of = |published: Option<&Manifest>| {
        published.map(|published| manifest.rewritten_before(published)).unwrap_or_default()
    };
    let change = |before: Option<Tagged>| {
        let published = before.and_then(|tagged| Manifest::read(&tagged.bytes).ok());
        let answer = if overrides_of(published.as_ref()) == overrides_of(seen) {
            replacement(site.url(), published.as_ref(), manifest, force)
        } else {
            let url = site.url();
            Err(JobError::Retry(format!("a takedown changed {url} meanwhile; publish it again")))
        };
        ready(answer.map(|()| ObjectChange::Write(manifest.to_bytes().into(), ())))
    };
    site.update(MANIFEST, options, change).await
}

/// Checks that the manifest may replace the published one. Otherwise the error gives the reason and
/// the command to run.
fn replacement(
    site_url: &str,
    published: Option<&Manifest>,
    manifest: &Manifest,
    force: bool,
) -> Result<(), JobError> {
    let refusal = published.and_then(|published| manifest.may_replace(published).err());
    let scan = manifest.scan;
    let command = format!("`everytab-worker publish --scan {scan} --force`");
    let reason = match refusal.filter(|_| !force) {
        None => return Ok(()),
        Some(ReplaceRefusal::LaterScan(later)) => format!(
            "{site_url} shows scan {later}, which was started later; {command} replaces it all \
             the same"
        ),
        Some(ReplaceRefusal::WouldEmptySite { tabs }) => format!(
            "the scan has no tabs, and {site_url} has {tabs}; {command} empties it all the same"
        ),
        Some(ReplaceRefusal::WouldShrink { tabs }) => format!(
            "the scan has {} tabs, and {site_url} has {tabs}, so more than a fifth would go; look \
             at `scan status`, then {command} replaces it all the same",
            manifest.hosts
        ),
    };
    Err(JobError::Discard(format!("publish refused: {reason}")))
}

fn pretty(value: &Value) -> Bytes {
    Bytes::from(format!("{value:#}\n"))
}

/// Invalidates the objects in the CDN that change under their names.
async fn invalidate(distribution: &str, manifest: &Manifest) -> Result<(), JobError> {
    let keys = changing_keys().into_iter().chain([String::new()]);
    let paths: Vec<String> = keys.map(|key| format!("/{key}")).collect();
    // With this reference, repeating the request for one publishing is a no-op.
    let reference = format!("{}-{}", manifest.scan, manifest.generated_at);
    let settings = AwsSettings::default();
    let id = cdn::invalidate(distribution, &paths, &reference, &settings).await?;
    tracing::info!(distribution, invalidation = %id, "asked the CDN to forget the old pages");
    Ok(())
}
