//! Starting a scan: the crawl, its files, the settings, and the blocklist of takedowns.

use everytab_bundler::{object_names, takedown_list::listed_hosts};
use everytab_coordinator::{Coordinator, NewScan};
use everytab_icon::test_vectors::encoder_digest_hex;
use everytab_storage::StoreSettings;
use futures_util::StreamExt;
use url::Url;
use uuid::Uuid;

use crate::{
    cli_error::CliError,
    crawl,
    options::{Robots, ScanOptions},
    scan_settings::ScanSettings,
};

/// Where a scan reads and writes.
#[derive(Debug, Clone)]
pub struct Places {
    /// The crawl's bucket.
    pub source: String,
    /// Whether the bucket is read without credentials.
    pub source_is_public: bool,
    /// Where the icons are archived.
    pub archive: String,
    /// Where the site is published.
    pub site: String,
    /// The private prefix with `blocklist.txt`, which takedowns write.
    pub private: Option<String>,
}

impl Places {
    /// The same places by names that mean the same on every machine and in every folder.
    ///
    /// # Errors
    /// When a bare path cannot be made absolute.
    pub fn absolute(self) -> Result<Self, CliError> {
        Ok(Self {
            source: absolute(self.source)?,
            archive: absolute(self.archive)?,
            site: absolute(self.site)?,
            private: self.private.map(absolute).transpose()?,
            ..self
        })
    }
}

fn absolute(place: String) -> Result<String, CliError> {
    if place.contains("://") {
        return Ok(place);
    }
    let path = std::path::absolute(&place)
        .map_err(|error| CliError::usage(format!("{place:?} is no folder's path: {error}")))?;
    // A path may hold spaces and percent signs; a URL says them otherwise.
    Url::from_file_path(&path)
        .map(String::from)
        .map_err(|()| CliError::usage(format!("{place:?} is no folder's path")))
}

/// The settings that options and places make.
pub fn settings(places: &Places, options: &ScanOptions) -> ScanSettings {
    ScanSettings {
        source_is_public: places.source_is_public,
        limit: options.limit,
        entries_per_bundle: options.entries_per_bundle,
        obey_robots: options.robots == Robots::Obey,
        icon_colours: options.icons,
        distribution: options.distribution.clone(),
        site_url: options.site_url.clone(),
        contact: options.contact.clone(),
        seed: options.shuffle,
        ..ScanSettings::new(places.source.clone(), places.archive.clone(), places.site.clone())
    }
}

/// Starts a scan of `crawl`; answers its id, its number and how many index files it has.
///
/// # Errors
/// When the crawl or a store cannot be read, or the database refuses.
pub async fn start(
    coordinator: &Coordinator,
    crawl: &str,
    places: &Places,
    options: &ScanOptions,
) -> Result<(Uuid, i32, usize), CliError> {
    let scan = prepare(coordinator, crawl, places, options).await?;
    let number = coordinator.start_scan(&scan).await?;
    Ok((scan.scan_id, number, scan.files.len()))
}

/// As [`start`], unless the database has had a scan of `wanted` (`latest`: any scan); then it
/// answers none. Many may ask at once, and come back for weeks.
///
/// # Errors
/// When the crawl or a store cannot be read, or the database refuses.
pub async fn start_once(
    coordinator: &Coordinator,
    wanted: &str,
    places: &Places,
    options: &ScanOptions,
) -> Result<Option<(Uuid, String, usize)>, CliError> {
    let unless = (wanted != crawl::LATEST).then_some(wanted);
    let scans = coordinator.list_scans().await?;
    if scans.iter().any(|scan| unless.is_none_or(|crawl| scan.crawl == crawl)) {
        return Ok(None);
    }
    let crawl = crawl::resolve(&places.source, wanted).await?;
    let scan = prepare(coordinator, &crawl, places, options).await?;
    let started = coordinator.start_scan_once(&scan, unless).await?;
    Ok(started.map(|_| (scan.scan_id, crawl, scan.files.len())))
}

async fn prepare(
    coordinator: &Coordinator,
    crawl: &str,
    places: &Places,
    options: &ScanOptions,
) -> Result<NewScan, CliError> {
    let access =
        StoreSettings { no_credentials: places.source_is_public, ..StoreSettings::default() };
    let store = everytab_storage::open(&places.source, &access).await?;
    let files = crawl::index_files(&*store, crawl).await?;
    for place in [&places.archive, &places.site] {
        // A missing bucket or a wrong secret is better found now than by the first shard.
        let store = everytab_storage::open(place, &StoreSettings::default()).await?;
        if let Some(found) = store.list(object_names::MANIFEST).next().await {
            found?;
        }
    }
    if let Some(private) = &places.private {
        read_takedowns(coordinator, private).await?;
    }
    let settings = settings(places, options);
    Ok(NewScan {
        scan_id: Uuid::now_v7(),
        crawl: crawl.to_owned(),
        settings: serde_json::to_value(&settings)?,
        lease_ms: i32::try_from(options.lease.as_millis()).unwrap_or(i32::MAX),
        encoder: encoder_digest_hex(),
        files: crawl::wanted_files(files, options.limit),
    })
}

/// Adds the hosts that were taken down since the last scan to the blocklist.
async fn read_takedowns(coordinator: &Coordinator, private: &str) -> Result<(), CliError> {
    let store = everytab_storage::open(private, &StoreSettings::default()).await?;
    let list = match store.get(object_names::BLOCKLIST).await {
        Ok(list) => list,
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for hostname in listed_hosts(&String::from_utf8_lossy(&list)) {
        coordinator.block("hostname", hostname, Some("takedown")).await?;
    }
    Ok(())
}
