//! Checks the stores. A worker's keys need to allow only what its jobs do.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use everytab_bundler::object_names::{BLOCKLIST, MANIFEST, SCANS_PREFIX};
use everytab_console::OperationError;
use everytab_coordinator::JobKind;
use everytab_jobs::{scan_settings::ScanSettings, store_tokens};
use everytab_storage::{
    Condition, PutIf, PutOptions, StorageError, StorageErrorKind, Store, StoreSettings,
};
use uuid::Uuid;

use super::{
    check::{Check, NewestScan},
    role_needs::RoleNeeds,
};
use crate::{
    crawl,
    gc::{PROBES, WORKER_PROBE},
    index_formats, source,
};

const ARCHIVE_PREFIX: &str = "archive/";
const CRAWL_PREFIX: &str = "crawl-data/";

/// The stores to check, as set by options. Missing ones are taken from the newest scan.
#[derive(Debug, Default)]
pub struct StoreOptions {
    /// The URL of the crawl's bucket.
    pub source: Option<String>,
    /// Whether an S3 bucket is read without credentials.
    pub is_public: bool,
    /// The crawl that must be in the bucket, as its id or `latest`.
    pub crawl: Option<String>,
    /// The archive's URL.
    pub archive: Option<String>,
    /// The site's URL.
    pub site: Option<String>,
    /// The private prefix's URL. Takedowns write to this prefix.
    pub private: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// An operator reads, writes, lists and deletes.
    Full,
    /// A worker reads, writes and lists below a prefix.
    ReadWrite(&'static str),
    /// A worker writes below a prefix.
    Write(&'static str),
    /// A publisher reads the blocklist.
    ReadBlocklist,
}

impl Access {
    fn for_archive(needs: Option<&RoleNeeds>) -> Option<Self> {
        let Some(needs) = needs else { return Some(Self::Full) };
        let reads = needs.any_of(&[JobKind::BundleShard, JobKind::Search, JobKind::Map]);
        let writes = needs.any_of(&[JobKind::Icon]);
        if reads {
            Some(Self::ReadWrite(ARCHIVE_PREFIX))
        } else {
            writes.then_some(Self::Write(ARCHIVE_PREFIX))
        }
    }

    fn for_site(needs: Option<&RoleNeeds>) -> Option<Self> {
        let Some(needs) = needs else { return Some(Self::Full) };
        let writes = needs.any_of(&[JobKind::BundleShard, JobKind::Search, JobKind::Map]);
        if needs.any_of(&[JobKind::Publish]) {
            Some(Self::ReadWrite(""))
        } else {
            writes.then_some(Self::ReadWrite(SCANS_PREFIX))
        }
    }

    fn for_private(needs: Option<&RoleNeeds>) -> Option<Self> {
        let Some(needs) = needs else { return Some(Self::Full) };
        needs.any_of(&[JobKind::Publish]).then_some(Self::ReadBlocklist)
    }
}

/// Checks the stores that a process needs. `needs` is `None` for an operator, who needs all.
pub async fn check(
    args: &StoreOptions,
    newest: Option<&NewestScan>,
    needs: Option<&RoleNeeds>,
) -> Vec<Check> {
    let settings = newest.map(|newest| &newest.settings);
    let source = args.source.as_ref().or(settings.map(|settings| &settings.source));
    let archive = args.archive.as_ref().or(settings.map(|settings| &settings.archive));
    let site = args.site.as_ref().or(settings.map(|settings| &settings.site));
    let private = match needs {
        None => args.private.as_ref(),
        Some(_) => args.private.as_ref().or(settings.and_then(|found| found.private.as_ref())),
    };
    let is_public = args.is_public || settings.is_some_and(|settings| settings.source_is_public);
    let mut checks = Vec::new();
    if let Some(source) = source.filter(|_| needs.is_none_or(RoleNeeds::reads_source)) {
        let known = newest.filter(|newest| newest.settings.source == *source);
        let named = args.crawl.as_deref().or(known.map(|newest| newest.crawl.as_str()));
        checks.push(readable(source, is_public, named.unwrap_or(crawl::LATEST)).await);
    }
    let used = [
        ("archive", archive, Access::for_archive(needs)),
        ("site", site, Access::for_site(needs)),
        ("private", private, Access::for_private(needs)),
    ];
    let mut is_needed = false;
    for (name, url, access) in used {
        is_needed |= access.is_some();
        if let (Some(url), Some(access)) = (url, access) {
            checks.push(usable(name, url, access, newest).await);
        }
    }
    is_needed |= needs.is_none_or(RoleNeeds::reads_source);
    if checks.is_empty() && is_needed {
        checks.push(Check::ok("stores", "none checked; set --source, --archive and --site"));
    }
    checks
}

async fn readable(source: &str, is_public: bool, crawl: &str) -> Check {
    match read_crawl(source, is_public, crawl).await {
        Ok(found) => Check::ok("source", found),
        Err(failure) => {
            let remedy = "check --source, --crawl, credentials, or --public for a public bucket";
            Check::fail("source", failure.message, remedy)
        }
    }
}

async fn read_crawl(source: &str, is_public: bool, crawl: &str) -> Result<String, OperationError> {
    let crawl = crawl::resolve(source, is_public, crawl).await?;
    let store = source::open(source, is_public).await?;
    let files = crawl::index_files(&*store, &crawl).await?;
    let found = index_formats::read(&*store, files.iter().map(String::as_str)).await?;
    let count = files.len();
    let formats = found.formats;
    Ok(format!("{source} has {crawl} with {count} index files ({formats})"))
}

async fn usable(
    name: &'static str,
    url: &str,
    access: Access,
    newest: Option<&NewestScan>,
) -> Check {
    let remedies = (format!("correct --{name}"), format!("check --{name} and the rights to it"));
    // `can_be_used` reports a store that cannot be opened.
    if let Some(scan) = newest.filter(|scan| scan.is_open)
        && let Ok(store) = everytab_storage::open(url, &StoreSettings::default()).await
        && is_of_scan(&*store, &scan.settings).await
    {
        match store_tokens::fault(&*store, scan.id).await {
            Ok(None) => {}
            Ok(Some(fault)) => return Check::fail(name, fault, remedies.0),
            Err(error) => return Check::fail(name, error.to_string(), remedies.1),
        }
    }
    can_be_used(name, url, access, None, remedies).await
}

async fn is_of_scan(store: &dyn Store, settings: &ScanSettings) -> bool {
    let place = place_of(store);
    for url in [&settings.archive, &settings.site] {
        let opened = everytab_storage::open(url, &StoreSettings::default()).await;
        if opened.is_ok_and(|other| place_of(&*other) == place) {
            return true;
        }
    }
    false
}

fn place_of(store: &dyn Store) -> PathBuf {
    match store.url().strip_prefix("file://") {
        Some(path) => real_path(Path::new(path)),
        None => PathBuf::from(store.url().trim_end_matches('/')),
    }
}

fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let Some(parent) = path.parent() else { return path.to_path_buf() };
    let mut real = real_path(parent);
    match path.file_name() {
        Some(name) => real.push(name),
        None => {
            real.pop();
        }
    }
    real
}

/// An operator's check also removes the probe that a worker's keys could not delete.
pub(super) async fn crawl_store(url: &str, is_worker: bool) -> Check {
    let remedy = "give this host access to the store; until then its crawls record no pages";
    let access = if is_worker { Access::Write(CRAWL_PREFIX) } else { Access::Full };
    let left = if is_worker { None } else { Some(format!("{CRAWL_PREFIX}{WORKER_PROBE}")) };
    can_be_used("crawl store", url, access, left, (remedy.to_owned(), remedy.to_owned())).await
}

/// Also deletes the probe `left` by a worker. `not_opened` and `refuses` are remedies.
async fn can_be_used(
    name: &'static str,
    url: &str,
    access: Access,
    left: Option<String>,
    (not_opened, refuses): (String, String),
) -> Check {
    let store = match everytab_storage::open(url, &StoreSettings::default()).await {
        Ok(store) => store,
        Err(error) => return Check::fail(name, error.to_string(), not_opened),
    };
    let key = match access {
        Access::Full => format!("{PROBES}{}", Uuid::new_v4()),
        Access::ReadWrite(prefix) | Access::Write(prefix) => format!("{prefix}{WORKER_PROBE}"),
        Access::ReadBlocklist => {
            return match store.get(BLOCKLIST).await {
                Err(error) if !error.is_not_found() => {
                    Check::fail(name, error.to_string(), refuses)
                }
                _ => Check::ok(name, format!("{url} can be read")),
            };
        }
    };
    let tried = match access {
        Access::Write(_) => {
            store.put(&key, Bytes::from_static(PROBE), PutOptions::default()).await.map(|()| None)
        }
        _ => try_store(&*store, &key).await,
    };
    let tried = match (tried, access) {
        (Ok(None), Access::ReadWrite(SCANS_PREFIX)) => read_manifest(&*store).await.map(|()| None),
        (tried, _) => tried,
    };
    // Delete the probe even after an error. A worker's keys usually may not do this.
    let probes: Vec<String> = std::iter::once(key.clone()).chain(left).collect();
    let removed = match store.delete(&probes).await {
        Err(error) if access != Access::Full && error.kind() == StorageErrorKind::Denied => Ok(()),
        removed => removed,
    };
    let can = match access {
        Access::Full => "can be read, written and deleted from".to_owned(),
        Access::Write(prefix) => format!("can be written below {prefix:?}"),
        _ => format!("can be read and written as {key:?}"),
    };
    match tried.and_then(|found| removed.map(|()| found)) {
        Ok(None) => Check::ok(name, format!("{url} {can}")),
        Ok(Some(fault)) => Check::fail(name, format!("{url}: {fault}"), "use another store"),
        Err(error) => Check::fail(name, error.to_string(), refuses),
    }
}

/// A bundle-shard job compares its shard with the published one, so it reads the manifest.
async fn read_manifest(store: &dyn Store) -> Result<(), StorageError> {
    match store.get(MANIFEST).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

const PROBE: &[u8] = b"everytab doctor";

/// Publishing needs conditional writes. Returns what the store does wrong.
async fn try_store(store: &dyn Store, key: &str) -> Result<Option<&'static str>, StorageError> {
    store.put(key, Bytes::from_static(PROBE), PutOptions::default()).await?;
    if store.get(key).await? != PROBE {
        return Ok(Some("it does not return the bytes that were written"));
    }
    if store.list_all(key).await?.len() != 1 {
        return Ok(Some("it does not list an object that was written"));
    }
    let options = PutOptions::default();
    let again = store.put_if(key, Bytes::from_static(PROBE), Condition::Absent, options).await?;
    Ok(match again {
        PutIf::PreconditionFailed => None,
        PutIf::Stored { .. } => Some("it ignores the conditions of a write (If-None-Match)"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_store_that_works_is_left_as_it_was() {
        let folder = tempfile::TempDir::new().unwrap();
        let url = folder.path().display().to_string();
        let check = usable("site", &url, Access::Full, None).await;
        assert!(check.ok, "{check:?}");
        let store = everytab_storage::open(&url, &StoreSettings::default()).await.unwrap();
        assert_eq!(store.list_all("").await.unwrap(), []);
    }

    fn scan_in(folder: &Path) -> NewestScan {
        let (archive, site) = (folder.join("archive"), folder.join("site"));
        let settings = ScanSettings::new(
            "/source".to_owned(),
            format!("file://{}", archive.display()),
            site.display().to_string(),
        );
        NewestScan {
            crawl: "CC-MAIN-2026-05".into(),
            settings,
            id: Uuid::from_u128(1),
            is_open: true,
        }
    }

    #[tokio::test]
    async fn a_store_of_the_scan_needs_its_token_however_its_url_is_written() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path();
        std::fs::create_dir(path.join("br")).unwrap();
        std::os::unix::fs::symlink(path, path.join("link")).unwrap();
        let scan = scan_in(path);
        let check = async |url: String| usable("archive", &url, Access::Full, Some(&scan)).await;
        let shown = path.display();
        for _ in 0..2 {
            for url in [
                format!("file://{shown}/archive"),
                format!("file://{shown}/archive/"),
                format!("{shown}/archive"),
                format!("file://{shown}/br/../archive"),
                format!("{shown}/br/../archive"),
                format!("{shown}/missing/../archive"),
                format!("{shown}/link/archive"),
                format!("file://{shown}/site/"),
            ] {
                let check = check(url.clone()).await;
                assert!(check.found.contains("is not the scan's store"), "{url}: {check:?}");
            }
            std::fs::create_dir_all(path.join("archive")).unwrap();
        }
        let other = check(format!("{shown}/archive2")).await;
        assert!(other.ok, "{other:?}");
    }

    #[tokio::test]
    async fn an_operators_check_removes_the_probe_that_a_crawler_left() {
        let folder = tempfile::TempDir::new().unwrap();
        let url = folder.path().display().to_string();
        let store = everytab_storage::open(&url, &StoreSettings::default()).await.unwrap();
        let left = "crawl-data/.doctor-probe";
        store.put(left, Bytes::from_static(PROBE), PutOptions::default()).await.unwrap();
        // An operator's keys for another store may not delete there.
        assert!(usable("private", &url, Access::Full, None).await.ok);
        assert_eq!(store.list_all("").await.unwrap().len(), 1);
        assert!(crawl_store(&url, false).await.ok);
        assert_eq!(store.list_all("").await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_store_that_cannot_be_written_or_read_says_what_to_do() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let below = file.join("below").display().to_string();
        let check = usable("site", &below, Access::Full, None).await;
        assert!(!check.ok && check.remedy.unwrap().contains("--site"), "{}", check.found);
        let source = folder.path().display().to_string();
        let check = readable(&source, false, "CC-MAIN-2026-05").await;
        assert!(!check.ok && check.found.contains("CC-MAIN-2026-05"), "{}", check.found);
    }
}
