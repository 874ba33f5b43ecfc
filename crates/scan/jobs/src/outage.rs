//! Determines which store is unavailable, and whether it serves requests again. If access to one
//! object is denied, this is not an outage as long as the store serves its canary. For the source,
//! this is an object that is known to exist; for the archive and the site, it is an object that the
//! check writes.

use everytab_bundler::object_names;
use everytab_commoncrawl::index::paths::paths_list;
use everytab_coordinator::{JobKind, ScanInfo};
use everytab_job_result::StoreFailure;
use everytab_storage::{PutOptions, StorageError, Store};
use uuid::Uuid;

use crate::{context::Context, scan_settings::ScanSettings, store_tokens};

/// A scan's stores, and the CDN in front of its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScanStore {
    /// The crawl's bucket.
    Source,
    /// The store for icons and search parts.
    Archive,
    /// The store in which the site is published.
    Site,
    /// The CDN whose caches are invalidated after publishing.
    Cdn,
}

impl ScanStore {
    /// All stores.
    pub const ALL: [Self; 4] = [Self::Source, Self::Archive, Self::Site, Self::Cdn];

    /// Returns the store's name in logs and in `scan status`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Archive => "archive",
            Self::Site => "site",
            Self::Cdn => "cdn",
        }
    }

    /// Returns the kinds of jobs that need this store.
    pub fn kinds(self) -> &'static [JobKind] {
        match self {
            Self::Source => &[JobKind::Index, JobKind::Warc],
            Self::Archive => &[JobKind::Icon, JobKind::BundleShard, JobKind::Search, JobKind::Map],
            Self::Site => &[JobKind::BundleShard, JobKind::Search, JobKind::Map, JobKind::Publish],
            Self::Cdn => &[JobKind::Publish],
        }
    }

    pub(crate) fn written_url(self, settings: &ScanSettings) -> Option<&str> {
        match self {
            Self::Archive => Some(&settings.archive),
            Self::Site => Some(&settings.site),
            Self::Source | Self::Cdn => None,
        }
    }

    /// `place` is an object's URL in a job's error.
    fn of(place: &str, kind: JobKind, settings: &ScanSettings) -> Self {
        let ScanSettings { source, archive, site, .. } = settings;
        let is_in = |store: &str| {
            let store = store.strip_prefix("file://").unwrap_or(store).trim_end_matches('/');
            place.strip_prefix(store).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // Try longer URLs first, because the site may be in a prefix of the archive's bucket, or
        // vice versa.
        let mut stores = [(Self::Archive, archive), (Self::Site, site), (Self::Source, source)];
        stores.sort_by_key(|(_, url)| std::cmp::Reverse(url.len()));
        let found = stores.into_iter().find(|(_, url)| is_in(url)).map(|(store, _)| store);
        found.unwrap_or(match kind {
            JobKind::Index | JobKind::Warc => Self::Source,
            JobKind::Icon => Self::Archive,
            JobKind::BundleShard | JobKind::Search | JobKind::Map => Self::Site,
            JobKind::Publish | JobKind::CrawlIndex | JobKind::CrawlClose => Self::Cdn,
        })
    }
}

/// A store that does not serve a job, through no fault of the job.
#[derive(Debug, Clone)]
pub struct StoreOutage {
    /// The store.
    pub store: ScanStore,
    reason: String,
    scan_id: Uuid,
    crawl: String,
    settings: ScanSettings,
}

impl std::fmt::Display for StoreOutage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // `scan_status.sql` searches for this phrase.
        write!(formatter, "waiting for the {}: {}", self.store.as_str(), self.reason)
    }
}

impl StoreOutage {
    pub(crate) fn of(
        failed: &StoreFailure,
        kind: JobKind,
        scan: &ScanInfo,
        settings: &ScanSettings,
    ) -> Self {
        Self {
            store: ScanStore::of(&failed.place, kind, settings),
            reason: failed.reason.clone(),
            scan_id: scan.scan_id,
            crawl: scan.crawl.clone(),
            settings: settings.clone(),
        }
    }

    pub(crate) fn of_other_store(
        store: ScanStore,
        reason: String,
        scan: &ScanInfo,
        settings: &ScanSettings,
    ) -> Self {
        let scan_id = scan.scan_id;
        let crawl = scan.crawl.clone();
        Self { store, reason, scan_id, crawl, settings: settings.clone() }
    }

    pub(crate) async fn is_confirmed(&self, failed: &StoreFailure, context: &Context) -> bool {
        // The CDN has no object that could serve as a canary.
        let is_away = self.store == ScanStore::Cdn && !failed.is_refused;
        failed.is_of_the_store || is_away || self.check(context).await.is_err()
    }

    /// Requests the store's canary once. Writes a canary to the archive or the site only if the
    /// scan's token is there.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be reached, denies access or is not the scan's.
    pub async fn check(&self, context: &Context) -> Result<(), StoreFault> {
        let prefix = match self.store {
            ScanStore::Source => {
                let store = context.probing_source(&self.settings).await?;
                return Ok(known_object_is_read(&*store, &self.crawl).await?);
            }
            ScanStore::Archive => object_names::archive_prefix(self.scan_id),
            ScanStore::Site => object_names::scan_prefix(self.scan_id),
            // The CDN cannot be probed, so the next job finds out.
            ScanStore::Cdn => return Ok(()),
        };
        let Some(url) = self.store.written_url(&self.settings) else { return Ok(()) };
        let store = context.probing_store(url).await?;
        if let Some(fault) = store_tokens::fault(&*store, self.scan_id).await? {
            return Err(StoreFault::OtherStore(fault));
        }
        let options = PutOptions::new("text/plain", "no-store");
        Ok(store.put(&format!("{prefix}{CANARY}"), bytes::Bytes::new(), options).await?)
    }
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreFault {
    /// The store cannot be reached, or denies access.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The store does not hold the scan's token.
    #[error("{0}")]
    OtherStore(String),
}

/// An object that is written to check whether a store accepts writes.
const CANARY: &str = "canary";

/// The crawl's list of index files exists, because the scan was started from it.
pub(crate) async fn known_object_is_read(
    source: &dyn Store,
    crawl: &str,
) -> Result<(), StorageError> {
    source.head(&paths_list(crawl)).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_of_an_object_is_known_by_its_place_and_the_cdn_by_none() {
        let settings = ScanSettings::new(
            "https://data.commoncrawl.org/".to_owned(),
            "s3://bucket/private".to_owned(),
            "file:///srv/site".to_owned(),
        );
        for (place, store) in [
            ("https://data.commoncrawl.org/crawl-data/x", ScanStore::Source),
            ("s3://bucket/private/archive/x/1-1.warc.gz", ScanStore::Archive),
            ("/srv/site/manifest.json", ScanStore::Site),
            ("s3://bucket/private", ScanStore::Archive),
            ("CloudFront distribution E1", ScanStore::Cdn),
            ("s3://bucket/private-too/x", ScanStore::Cdn),
        ] {
            assert_eq!(ScanStore::of(place, JobKind::Publish, &settings), store, "{place}");
        }
    }
}
