//! Starts a scan: resolves the crawl and its files, freezes the settings, and loads takedowns.

use std::time::Duration;

use everytab_bundler::{object_names, takedown_list::listed_patterns};
use everytab_console::OperationError;
use everytab_coordinator::{Coordinator, Digests, NewScan};
use everytab_icon::{png::Colours, test_vectors::encoder_digest_hex};
use everytab_jobs::{
    scan_settings::{Internet, ScanSettings},
    store_tokens,
};
use everytab_storage::StoreSettings;
use futures_util::StreamExt;
use url::Url;
use uuid::Uuid;

use crate::{
    archive_rate::{self, ArchiveRate},
    blocklist::Patterns,
    crawl,
    host_ranks::{self, FoundRanks},
    index_formats, site_identity, source,
};

/// A scan's source and stores.
#[derive(Debug, Clone)]
pub struct ScanStores {
    /// The crawl's bucket.
    pub source: String,
    /// Whether requests to the bucket carry no credentials.
    pub source_is_public: bool,
    /// The store for archived icons.
    pub archive: String,
    /// The store in which the site is published.
    pub site: String,
    /// The private prefix with `blocklist.txt`, which takedowns write.
    pub private: Option<String>,
}

impl ScanStores {
    /// Returns these stores with URLs that are valid in every working directory.
    ///
    /// # Errors
    ///
    /// Returns an error if a bare path cannot be made absolute.
    pub fn absolute(self) -> Result<Self, OperationError> {
        Ok(Self {
            source: absolute(self.source)?,
            archive: absolute(self.archive)?,
            site: absolute(self.site)?,
            private: self.private.map(absolute).transpose()?,
            ..self
        })
    }
}

/// Returns a store's URL that is valid in every working directory.
///
/// # Errors
///
/// Returns an error if a bare path cannot be made absolute.
pub fn absolute(place: String) -> Result<String, OperationError> {
    if place.contains("://") {
        return Ok(place);
    }
    let path = std::path::absolute(&place).map_err(|error| {
        OperationError::usage(format!("{place:?} is not the path of a directory: {error}"))
    })?;
    // A URL escapes spaces and percent signs.
    Url::from_file_path(&path)
        .map(String::from)
        .map_err(|()| OperationError::usage(format!("{place:?} is not the path of a directory")))
}

/// A scan's options, in addition to its stores.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// Maximum number of hosts. `None` for all.
    pub limit: Option<u64>,
    /// Whether robots.txt is fetched and obeyed.
    pub obey_robots: bool,
    /// Tabs per bundle.
    pub entries_per_bundle: u32,
    /// The colours that converted icons may have.
    pub icon_colours: Colours,
    /// The lease duration.
    pub lease: Duration,
    /// The CloudFront distribution to invalidate after publishing.
    pub distribution: Option<String>,
    /// The site's public URL, with a slash at the end.
    pub site_url: Option<String>,
    /// The contact for website owners, an email address or an https URL.
    pub contact: Option<String>,
    /// The internet from which this scan fetches icons.
    pub internet: Internet,
    /// The host ranks for search: `latest`, `none`, or a file with ranks.
    pub host_ranks: String,
    /// Seed that shuffles the order of fetching, and has no other effect.
    pub shuffle: u64,
    /// Maximum percentage by which the published site's counts may fall with this scan.
    pub max_loss: u8,
    /// The fleet's requests per second to the source. `None` for the source's default rate.
    pub archive_rate: Option<ArchiveRate>,
}

impl ScanOptions {
    /// Returns true if requests go only to the operator's own small internet.
    pub fn is_confined(&self) -> bool {
        self.internet == Internet::Small
    }
}

/// A scan that was started.
#[derive(Debug, Clone)]
pub struct StartedScan {
    /// The scan's id.
    pub id: Uuid,
    /// The scan's number in this database.
    pub number: i32,
    /// The crawl's id.
    pub crawl: String,
    /// Number of index files that this scan reads.
    pub index_files: usize,
}

/// Returns the settings that are frozen when a scan with these stores and options starts.
///
/// # Errors
/// Returns an error if the scan would send requests to the public internet without identifying its
/// operator.
pub fn settings(
    stores: &ScanStores,
    options: &ScanOptions,
) -> Result<ScanSettings, OperationError> {
    // The structs are destructured, so that the compiler reports an option that is not frozen with
    // the scan.
    let ScanStores { source, source_is_public, archive, site, private } = stores.clone();
    let ScanOptions {
        limit,
        obey_robots,
        entries_per_bundle,
        icon_colours,
        lease: _,
        distribution,
        site_url,
        contact,
        internet,
        host_ranks: _,
        shuffle,
        max_loss,
        archive_rate: _,
    } = options.clone();
    let user_agent = site_identity::user_agent(internet, site_url.as_deref(), contact.as_deref())?;
    Ok(ScanSettings {
        source,
        source_is_public,
        archive,
        site,
        limit,
        entries_per_bundle,
        obey_robots,
        icon_colours,
        distribution,
        site_url,
        contact,
        private,
        internet,
        user_agent,
        host_ranks: None,
        seed: shuffle,
        max_loss,
    })
}

/// Returns true if a scan's settings in `found` match `stores` and `options`.
///
/// # Errors
/// Returns an error if `found` is malformed.
pub fn settings_match(
    found: serde_json::Value,
    stores: &ScanStores,
    options: &ScanOptions,
) -> Result<bool, OperationError> {
    let mut found: ScanSettings = serde_json::from_value(found)?;
    if !host_ranks::is_of(found.host_ranks.take().as_ref(), &options.host_ranks) {
        return Ok(false);
    }
    Ok(found == settings(stores, options)?)
}

/// Starts a scan of `wanted`, a crawl's id or `latest`.
///
/// # Errors
/// Returns an error as [`settings`] does, or if the crawl or a store cannot be read, or the
/// database fails.
pub async fn start(
    coordinator: &Coordinator,
    wanted: &str,
    stores: &ScanStores,
    options: &ScanOptions,
) -> Result<StartedScan, OperationError> {
    let settings = settings(stores, options)?;
    let crawl = crawl::resolve(&stores.source, stores.source_is_public, wanted).await?;
    let scan = prepare(coordinator, &crawl, stores, options, settings).await?;
    let started = coordinator.start_scan(&scan).await;
    if started.is_err() {
        sweep(coordinator, stores, &scan).await;
    }
    let number = started?;
    Ok(StartedScan { id: scan.scan_id, number, crawl, index_files: scan.files.len() })
}

/// Works like [`start`], but returns `None` if the database has had a scan of `wanted`, or any scan
/// if `wanted` is `latest`.
///
/// # Errors
///
/// Returns an error as [`settings`] does, or if the crawl or a store cannot be read, or the
/// database fails.
pub async fn start_once(
    coordinator: &Coordinator,
    wanted: &str,
    stores: &ScanStores,
    options: &ScanOptions,
) -> Result<Option<StartedScan>, OperationError> {
    let unless = (wanted != crawl::LATEST).then_some(wanted);
    let scans = coordinator.list_scans().await?;
    if scans.iter().any(|scan| unless.is_none_or(|crawl| scan.crawl == crawl)) {
        return Ok(None);
    }
    let settings = settings(stores, options)?;
    let crawl = crawl::resolve(&stores.source, stores.source_is_public, wanted).await?;
    let scan = prepare(coordinator, &crawl, stores, options, settings).await?;
    let started = coordinator.start_scan_once(&scan, unless).await;
    if !matches!(started, Ok(Some(_))) {
        sweep(coordinator, stores, &scan).await;
    }
    Ok(started?.map(|number| StartedScan {
        id: scan.scan_id,
        number,
        crawl,
        index_files: scan.files.len(),
    }))
}

async fn prepare(
    coordinator: &Coordinator,
    crawl: &str,
    stores: &ScanStores,
    options: &ScanOptions,
    settings: ScanSettings,
) -> Result<NewScan, OperationError> {
    let archive_rate = archive_rate::of_scan(&stores.source, options.archive_rate)?;
    let store = source::open(&stores.source, stores.source_is_public).await?;
    let files = crawl::wanted_files(crawl::index_files(&*store, crawl).await?, options.limit);
    // This finds unreadable files before any job is created.
    let found = index_formats::read(&*store, files.iter().map(|(path, _)| path.as_str())).await?;
    let read = format!("{} of {}", found.files_read, files.len());
    tracing::info!(crawl, read, formats = %found.formats, "found the index files' formats");
    for url in [&stores.archive, &stores.site] {
        // This finds a missing bucket or wrong credentials before the first shard needs the store.
        let store = everytab_storage::open(url, &StoreSettings::default()).await?;
        if let Some(found) = store.list(object_names::MANIFEST).next().await {
            found?;
        }
    }
    if let Some(private) = &stores.private {
        read_takedowns(coordinator, private).await?;
    }
    let ranks = host_ranks::find(&options.host_ranks, &settings).await?;
    let scan_id = Uuid::now_v7();
    // Write the objects before the scan starts, because its jobs may then run immediately.
    if let Err(error) = write_objects(stores, ranks.as_ref(), scan_id).await {
        delete_objects(stores, scan_id).await;
        return Err(error);
    }
    let settings = ScanSettings { host_ranks: ranks.map(|found| found.pinned), ..settings };
    Ok(NewScan {
        scan_id,
        crawl: crawl.to_owned(),
        settings: serde_json::to_value(&settings)?,
        archive_rate,
        lease_ms: i32::try_from(options.lease.as_millis()).unwrap_or(i32::MAX),
        digests: Digests { encoder: encoder_digest_hex() },
        files,
    })
}

async fn write_objects(
    stores: &ScanStores,
    ranks: Option<&FoundRanks>,
    scan_id: Uuid,
) -> Result<(), OperationError> {
    if let Some(ranks) = ranks {
        ranks.write(&stores.archive, scan_id).await?;
    }
    write_tokens([&stores.archive, &stores.site], scan_id).await
}

pub(crate) async fn write_tokens(urls: [&str; 2], scan_id: Uuid) -> Result<(), OperationError> {
    for url in urls {
        let store = everytab_storage::open(url, &StoreSettings::default()).await?;
        store_tokens::write(&*store, scan_id).await?;
    }
    Ok(())
}

pub(crate) async fn check_tokens<const N: usize>(
    urls: [&str; N],
    scan_id: Uuid,
) -> Result<(), OperationError> {
    for url in urls {
        let store = everytab_storage::open(url, &StoreSettings::default()).await?;
        if let Some(fault) = store_tokens::fault(&*store, scan_id).await? {
            return Err(OperationError::new(fault));
        }
    }
    Ok(())
}

/// If the first deletion fails, still tries the second.
pub(crate) async fn delete_tokens(urls: [&str; 2], scan_id: Uuid) -> Result<(), OperationError> {
    let delete = async |url: &str| -> Result<(), OperationError> {
        let store = everytab_storage::open(url, &StoreSettings::default()).await?;
        Ok(store_tokens::delete(&*store, scan_id).await?)
    };
    let [first, second] = urls;
    let deleted = delete(first).await;
    delete(second).await.and(deleted)
}

/// The scan may have started although the database's reply was lost.
async fn sweep(coordinator: &Coordinator, stores: &ScanStores, scan: &NewScan) {
    if let Ok(None) = coordinator.scan_number(Some(scan.scan_id)).await {
        delete_objects(stores, scan.scan_id).await;
    }
}

/// The objects may remain if a store fails, because no scan reads them.
async fn delete_objects(stores: &ScanStores, scan_id: Uuid) {
    host_ranks::delete(&stores.archive, scan_id).await;
    if let Err(error) = delete_tokens([&stores.archive, &stores.site], scan_id).await {
        let error = error.message;
        tracing::warn!(%scan_id, "the store tokens of a scan that did not start remain: {error}");
    }
}

/// Validates all lines before any is added.
async fn read_takedowns(coordinator: &Coordinator, private: &str) -> Result<(), OperationError> {
    let store = everytab_storage::open(private, &StoreSettings::default()).await?;
    let list = match store.get(object_names::BLOCKLIST).await {
        Ok(list) => list,
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8_lossy(&list);
    let mut checked = Vec::new();
    for (kind, pattern) in listed_patterns(&text) {
        let patterns = Patterns::check(kind, &[pattern.to_owned()]).map_err(|error| {
            let place = format!("{}/{}", store.url(), object_names::BLOCKLIST);
            OperationError::new(format!("{place}: {}", error.message))
        })?;
        checked.push(patterns);
    }
    for patterns in checked {
        patterns.block(coordinator, Some("takedown")).await?;
    }
    Ok(())
}
