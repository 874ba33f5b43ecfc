//! Checks the stores: the crawl must be readable; archive, site and private prefix must be
//! writable.

use bytes::Bytes;
use everytab_storage::{Condition, PutIf, PutOptions, StorageError, Store, StoreSettings};
use uuid::Uuid;

use super::check::{Check, NewestScan};
use crate::{crawl, error::OperationError, gc::PROBES, index_formats, source};

/// The stores to check, as set by options. Missing ones are taken from the newest scan.
#[derive(Debug, Default)]
pub struct StoreOptions {
    /// The URL of the crawl's bucket.
    pub source: Option<String>,
    /// Whether an S3 bucket is read without credentials.
    pub is_public: bool,
    /// The crawl that must be in the bucket, by its id or `latest`.
    pub crawl: Option<String>,
    /// The URL of the store for archives.
    pub archive: Option<String>,
    /// The URL of the site's store.
    pub site: Option<String>,
    /// The URL of the private prefix of takedowns.
    pub private: Option<String>,
}

/// Checks that the crawl can be read, and that the other stores can be written.
pub async fn check(args: &StoreOptions, newest: Option<&NewestScan>) -> Vec<Check> {
    let settings = newest.map(|newest| &newest.settings);
    let source = args.source.as_ref().or(settings.map(|settings| &settings.source));
    let archive = args.archive.as_ref().or(settings.map(|settings| &settings.archive));
    let site = args.site.as_ref().or(settings.map(|settings| &settings.site));
    let is_public = args.is_public || settings.is_some_and(|settings| settings.source_is_public);
    let mut checks = Vec::new();
    if let Some(source) = source {
        let known = newest.filter(|newest| newest.settings.source == *source);
        let named = args.crawl.as_deref().or(known.map(|newest| newest.crawl.as_str()));
        checks.push(readable(source, is_public, named.unwrap_or(crawl::LATEST)).await);
    }
    let written = [("archive", archive), ("site", site), ("private", args.private.as_ref())];
    for (name, url) in written {
        if let Some(url) = url {
            checks.push(writable(name, url).await);
        }
    }
    if checks.is_empty() {
        checks.push(Check::ok("stores", "none given; --source, --archive and --site check them"));
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

/// Reads the crawl's list and the footers of some index files, as `scan start` and a worker will.
async fn read_crawl(source: &str, is_public: bool, crawl: &str) -> Result<String, OperationError> {
    let crawl = crawl::resolve(source, is_public, crawl).await?;
    let store = source::open(source, is_public).await?;
    let files = crawl::index_files(&*store, &crawl).await?;
    let found = index_formats::read(&*store, files.iter().map(String::as_str)).await?;
    let (count, formats) = (files.len(), found.formats);
    Ok(format!("{source} has {crawl} with {count} index files ({formats})"))
}

async fn writable(name: &'static str, url: &str) -> Check {
    let remedies = (format!("correct --{name}"), format!("check --{name} and the rights to it"));
    can_be_written(name, url, remedies).await
}

/// Checks that a store of live crawls can be written.
pub(super) async fn crawl_store(url: &str) -> Check {
    let remedy = "give this machine the rights to it; meanwhile nothing of its crawls is recorded";
    can_be_written("crawl store", url, (remedy.to_owned(), remedy.to_owned())).await
}

/// Writes to a store and deletes the object again. The remedies apply if the store cannot be
/// opened, and if it denies access.
async fn can_be_written(
    name: &'static str,
    url: &str,
    (not_opened, refuses): (String, String),
) -> Check {
    let store = match everytab_storage::open(url, &StoreSettings::default()).await {
        Ok(store) => store,
        Err(error) => return Check::fail(name, error.to_string(), not_opened),
    };
    let key = format!("{PROBES}{}", Uuid::new_v4());
    let tried = try_store(&*store, &key).await;
    // Remove the probe even after an error.
    let removed = store.delete(std::slice::from_ref(&key)).await;
    match tried.and_then(|found| removed.map(|()| found)) {
        Ok(None) => Check::ok(name, format!("{url} can be read, written and deleted from")),
        Ok(Some(fault)) => Check::fail(name, format!("{url}: {fault}"), "use another store"),
        Err(error) => Check::fail(name, error.to_string(), refuses),
    }
}

/// Writes, reads and lists a probe, and checks that a conditional write is rejected, because
/// publishing switches the manifest by one. Returns what the store does wrong.
async fn try_store(store: &dyn Store, key: &str) -> Result<Option<&'static str>, StorageError> {
    let probe = Bytes::from_static(b"everytab doctor");
    store.put(key, probe.clone(), PutOptions::default()).await?;
    if store.get(key).await? != probe {
        return Ok(Some("it gives back other bytes than it was given"));
    }
    if store.list_all(key).await?.len() != 1 {
        return Ok(Some("it does not list what it holds"));
    }
    let options = PutOptions::default();
    let again = store.put_if(key, probe, Condition::Absent, options).await?;
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
        let check = writable("site", &url).await;
        assert!(check.ok, "{check:?}");
        let store = everytab_storage::open(&url, &StoreSettings::default()).await.unwrap();
        assert_eq!(store.list_all("").await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_store_that_cannot_be_written_or_read_says_what_to_do() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let check = writable("site", &file.join("below").display().to_string()).await;
        assert!(!check.ok && check.remedy.unwrap().contains("--site"), "{}", check.found);
        let source = folder.path().display().to_string();
        let check = readable(&source, false, "CC-MAIN-2026-05").await;
        assert!(!check.ok && check.found.contains("CC-MAIN-2026-05"), "{}", check.found);
    }
}
