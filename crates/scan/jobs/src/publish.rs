//! `publish`: writes missing bundles, link pages, the page and other files, and replaces the
//! manifest, which switches visitors to the new scan.

mod excluded;
mod link_pages;
mod preview;
mod scan_numbers;
mod unchanged_icons;
mod well_known;

use std::{
    collections::{BTreeMap, HashSet},
    future::ready,
};

use bytes::Bytes;
use chrono::{SecondsFormat, Utc};
use everytab_bundler::{
    Manifest, ManifestError, ReplaceRefusal, SearchKinds, bundle, history,
    map::{MapLayout, MapManifest},
    object_names::{
        self, HISTORY, MANIFEST, MAP_INDEX_PATH, PREVIEW, SEARCH_KINDS_PATH, STATS, scan_prefix,
    },
    page_files::{SiteOperator, changing_keys, link_script, page_files},
    stats_document::{ScanNumbers, stats_document},
    stats_names::{CountName, InputName, OutcomeName, StageName},
};
use everytab_coordinator::{Coordinator, JobKind, OutcomeCount, Output, ScanInfo, ScanStatus};
use everytab_fetcher::Heartbeat;
use everytab_job_result::{JobError, PerformedJob, Stats};
use everytab_storage::{AwsSettings, ObjectChange, Store, Tagged, cdn};
use serde_json::{Map, Value};

use self::unchanged_icons::UnchangedIcons;
pub use self::{excluded::Excluded, link_pages::publish_link_pages, well_known::publish_key};
use crate::{
    context::Context,
    job::{Job, ScanAssignment},
    map::{draw_coarse, drawn_orders, load_layout, publish_landmarks},
    removal::RemovalError,
    scan_settings::ScanSettings,
    site_objects::{put_all, put_changed, put_object, put_options},
    store_tokens,
};

pub(crate) struct Publish;

/// The input for publishing a scan.
#[derive(Debug, Clone)]
pub struct PublishRequest {
    /// The scan to publish.
    pub info: ScanInfo,
    /// The scan's settings.
    pub settings: ScanSettings,
    /// The shards whose bundles have been written.
    pub bundled: Vec<i32>,
    /// The scan's counts.
    pub outcomes: Vec<OutcomeCount>,
    /// The result of `scan status`, which contains the stages' times.
    pub status: ScanStatus,
    /// The map's dimensions. `None` if the scan has no map, or a part of the map was discarded.
    pub map: Option<MapLayout>,
    /// Everything that must not be on the site at the time of publishing.
    pub excluded: Excluded,
    /// Whether to replace the site even if it shows a later scan, would lose too much, or has a
    /// malformed manifest.
    pub force: bool,
}

impl PublishRequest {
    /// Loads the input for publishing a scan. `private` overrides the settings' private prefix.
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
        let mut settings: ScanSettings =
            serde_json::from_value(info.settings.clone()).map_err(|error| {
                JobError::Discard(format!("cannot parse the scan's settings: {error}"))
            })?;
        settings.private = private.or(settings.private);
        let excluded = Excluded::load(coordinator, scan, settings.private.as_deref()).await?;
        let status = coordinator.scan_status(scan).await?;
        let is_drawn = status.stages.iter().any(|stage| {
            stage.kind == JobKind::Map && stage.done > 0 && stage.discarded + stage.outstanding == 0
        });
        let map = if is_drawn { load_layout(coordinator, scan, &info).await? } else { None };
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
        let (manifest, icons) = publish_and_compare(context, &request, &job.heartbeat).await?;
        let mut stats = Stats::default();
        stats.input(InputName::Bundles, manifest.bundles);
        stats.outcome(OutcomeName::Published.as_str(), manifest.bundles);
        for (name, amount) in icons.into_iter().flat_map(UnchangedIcons::counts) {
            stats.count(name, amount);
        }
        Ok(PerformedJob { output: Output::Nothing, stats })
    }
}

/// Publishes a scan. The manifest is replaced only after all objects that it names have been
/// written.
///
/// # Errors
///
/// Returns an error if a store fails, if the site's store does not hold the scan's token, or if the
/// site shows a later scan or would lose too much.
pub async fn publish_site(
    context: &Context,
    request: &PublishRequest,
    heartbeat: &Heartbeat,
) -> Result<Manifest, JobError> {
    let PublishRequest { info, settings, .. } = request;
    // Only the `publish` command needs this check, because `perform_job` has already checked the
    // tokens of a `publish` job.
    let site = context.store(&settings.site).await?;
    if let Some(fault) = store_tokens::fault(&*site, info.scan_id).await? {
        return Err(JobError::Discard(format!("publish refused: {fault}")));
    }
    Ok(publish_and_compare(context, request, heartbeat).await?.0)
}

async fn publish_and_compare(
    context: &Context,
    request: &PublishRequest,
    heartbeat: &Heartbeat,
) -> Result<(Manifest, Option<UnchangedIcons>), JobError> {
    let site = context.store(&request.settings.site).await?;
    let mut numbers = scan_numbers::of(&request.outcomes, &request.status);
    let mut manifest = manifest(request, &numbers);
    manifest.search = search_kinds(&*site, &manifest.prefix).await?;
    let before = site.get_tagged(MANIFEST).await?;
    let published = read_manifest(site.url(), before.as_ref(), request)?;
    let excluded = &request.excluded;
    let published_by_now = published.as_ref();
    let found = excluded.find(&*site, &manifest, heartbeat).await?;
    // Check this before anything is written, because the site may show this scan already.
    let left = Manifest { hosts: manifest.hosts.saturating_sub(found.tabs()), ..manifest.clone() };
    replacement(site.url(), published_by_now, &left, request)?;
    fill_gaps(&*site, request, heartbeat).await?;
    if let Some(layout) = request.map {
        manifest.map = Some(publish_map(&*site, &manifest.prefix, layout, heartbeat).await?);
    }
    let trouble = excluded.remove(&found, &*site, &mut manifest, published_by_now, heartbeat);
    if let Some(trouble) = trouble.await? {
        return Err(JobError::Discard(trouble));
    }
    // This reads the search files and bundles, so it must come after the exclusions.
    let has_landmarks =
        manifest.map.is_some() && publish_landmarks(&*site, &manifest, heartbeat).await?;
    if let Some(map) = &mut manifest.map {
        map.landmarks = has_landmarks;
    }
    let icons = count_unchanged_icons(&*site, &manifest, published_by_now, heartbeat).await?;
    if let Some(icons) = icons {
        icons.replace_in(&mut numbers);
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
    // Pages name files by their hash, so they are written after the manifest.
    let (pages, files): (Vec<_>, Vec<_>) =
        page_files(&operator).into_iter().partition(|file| file.key.ends_with(".html"));
    let script = link_script(&files).to_owned();
    for file in files {
        put_changed(&*site, &file.key, file.bytes.into()).await?;
        heartbeat.beat();
    }
    link_pages::publish(&*site, &manifest, &operator, &script, heartbeat).await?;
    replace_manifest(&*site, (&manifest, &left), published.as_ref(), request).await?;
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
    Ok((manifest, icons))
}

/// Returns `None` if a list is malformed, which must not prevent the old site's replacement.
async fn count_unchanged_icons(
    site: &dyn Store,
    manifest: &Manifest,
    published: Option<&Manifest>,
    heartbeat: &Heartbeat,
) -> Result<Option<UnchangedIcons>, JobError> {
    match UnchangedIcons::count(site, manifest, published, heartbeat).await {
        Err(error @ RemovalError::NotUnderstood(_)) => {
            tracing::warn!(%error, "publishing without the number of unchanged icons");
            Ok(None)
        }
        counted => Ok(counted?),
    }
}

fn manifest(request: &PublishRequest, numbers: &ScanNumbers) -> Manifest {
    let with_icon = numbers.outcome(StageName::BundleShard, OutcomeName::TabWithIcon);
    let without = numbers.outcome(StageName::BundleShard, OutcomeName::TabWithoutIcon);
    let titles = numbers.outcome(StageName::Warc, OutcomeName::Ok);
    let restricted = numbers.count(StageName::Warc, CountName::IframeRestricted);
    let contact = request.settings.contact.as_ref();
    Manifest {
        scan: request.info.scan_id,
        crawl: request.info.crawl.clone(),
        bundles: request.info.bundles(),
        prefix: scan_prefix(request.info.scan_id),
        generated_at: Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
        hosts: with_icon + without,
        with_icon,
        titles: Some(titles),
        framed: Some(titles.saturating_sub(restricted)),
        entries_per_bundle: Some(request.settings.entries_per_bundle),
        contact: contact.map(|contact| {
            if contact.contains(':') { contact.clone() } else { format!("mailto:{contact}") }
        }),
        overrides: BTreeMap::new(),
        map: None,
        search: None,
        extra: Map::new(),
    }
}

async fn publish_map(
    site: &dyn Store,
    prefix: &str,
    layout: MapLayout,
    heartbeat: &Heartbeat,
) -> Result<MapManifest, JobError> {
    draw_coarse(site, prefix, layout, heartbeat).await?;
    let mut map = layout.manifest();
    map.orders = drawn_orders(site, prefix).await?;
    let index = serde_json::to_vec(&map).unwrap_or_default();
    put_changed(site, &format!("{prefix}{MAP_INDEX_PATH}"), index.into()).await?;
    Ok(map)
}

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

/// A malformed manifest is replaced only with `--force`.
fn read_manifest(
    site_url: &str,
    before: Option<&Tagged>,
    request: &PublishRequest,
) -> Result<Option<Manifest>, JobError> {
    let Some(tagged) = before else { return Ok(None) };
    match Manifest::read(&tagged.bytes) {
        Ok(manifest) => Ok(Some(manifest)),
        Err(_) if request.force => Ok(None),
        Err(error) => Err(JobError::Discard(format!(
            "publish refused: {} and publish again, or {} replaces it anyway",
            malformed_manifest(site_url, &error),
            force_command(request)
        ))),
    }
}

pub(crate) fn malformed_manifest(site_url: &str, error: &ManifestError) -> String {
    format!(
        "{site_url}: {error}; the scan cannot be compared with it: restore the correct \
         manifest.json or remove it"
    )
}

/// The published manifest is compared with `left`, whose `hosts` does not include removed tabs.
/// Fails if a takedown has rewritten bundles since `seen` was read.
async fn replace_manifest(
    site: &dyn Store,
    (manifest, left): (&Manifest, &Manifest),
    seen: Option<&Manifest>,
    request: &PublishRequest,
) -> Result<(), JobError> {
    let options = put_options(MANIFEST);
    let overrides_of = |published: Option<&Manifest>| {
        published.map(|published| manifest.rewritten_before(published)).unwrap_or_default()
    };
    let check = |before: Option<Tagged>| {
        let published = read_manifest(site.url(), before.as_ref(), request)?;
        if overrides_of(published.as_ref()) == overrides_of(seen) {
            replacement(site.url(), published.as_ref(), left, request)
        } else {
            let url = site.url();
            Err(JobError::Retry(format!("a takedown changed {url} in between; publish it again")))
        }
    };
    let change = |before: Option<Tagged>| {
        ready(check(before).map(|()| ObjectChange::Write(manifest.to_bytes().into(), ())))
    };
    site.update(MANIFEST, options, change).await
}

fn replacement(
    site_url: &str,
    published: Option<&Manifest>,
    manifest: &Manifest,
    request: &PublishRequest,
) -> Result<(), JobError> {
    let max_loss = request.settings.max_loss;
    let refusal = published.and_then(|published| manifest.may_replace(published, max_loss).err());
    let command = force_command(request);
    let reason = match refusal.filter(|_| !request.force) {
        None => return Ok(()),
        Some(ReplaceRefusal::LaterScan(later)) => format!(
            "{site_url} shows scan {later}, which was started later; {command} replaces it anyway"
        ),
        Some(ReplaceRefusal::WouldLose(losses)) => {
            let losses: Vec<String> = losses.iter().map(ToString::to_string).collect();
            format!(
                "{site_url} would lose more than {max_loss} %: {}; see `scan status`, then \
                 {command} replaces it anyway",
                losses.join(", ")
            )
        }
    };
    Err(JobError::Discard(format!("publish refused: {reason}")))
}

fn force_command(request: &PublishRequest) -> String {
    format!("`everytab-worker publish --scan {} --force`", request.info.scan_id)
}

fn pretty(value: &Value) -> Bytes {
    Bytes::from(format!("{value:#}\n"))
}

async fn invalidate(distribution: &str, manifest: &Manifest) -> Result<(), JobError> {
    let keys = changing_keys().into_iter().chain([String::new()]);
    let paths: Vec<String> = keys.map(|key| format!("/{key}")).collect();
    // A repeated request with this reference has no effect.
    let reference = format!("{}-{}", manifest.scan, manifest.generated_at);
    let settings = AwsSettings::default();
    let id = cdn::invalidate(distribution, &paths, &reference, &settings).await?;
    tracing::info!(distribution, invalidation = %id, "requested a CDN invalidation");
    Ok(())
}
