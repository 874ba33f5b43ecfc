//! A crawl as a bucket holds it: which crawls there are, and a crawl's index files.

use std::sync::Arc;

use everytab_commoncrawl::index::paths::{
    COLLECTIONS, crawl_ids, crawl_ids_of_keys, files_for_limit, is_crawl_id, paths_list,
    warc_subset_files,
};
use everytab_storage::{StorageError, StorageErrorKind, Store, StoreSettings};

use crate::error::OperationError;

/// The public bucket over HTTPS, which needs no AWS credentials.
pub const PUBLIC_SOURCE: &str = "https://data.commoncrawl.org/";
/// Where the list of crawls is published.
pub const PUBLIC_CRAWL_LIST: &str = "https://index.commoncrawl.org/";
const CRAWL_LIST: &str = "collinfo.json";
/// How many of the newest crawls may be named before their lists of index files are published: one
/// crawl a month is made, and its lists come within days.
const MAX_LATE_CRAWLS: usize = 2;

/// An index file and how many captures are wanted of it.
pub type WantedFile = (String, Option<i64>);

/// What `--crawl` calls the newest crawl.
pub const LATEST: &str = "latest";

/// The id of the crawl that `crawl` names; for `latest`, of the newest one
/// whose list of index files is published.
/// `is_public` says whether an S3 bucket is read without credentials.
///
/// # Errors
/// When it is no crawl's name, or the list of crawls cannot be read.
pub async fn resolve(source: &str, is_public: bool, crawl: &str) -> Result<String, OperationError> {
    if crawl != LATEST {
        if is_crawl_id(crawl) {
            return Ok(crawl.to_owned());
        }
        return Err(OperationError::usage(format!(
            "--crawl {crawl:?} is no crawl's id; give one such as CC-MAIN-2026-05, or latest"
        )));
    }
    let store = open(source, is_public).await?;
    newest_complete(&*store, newest_crawls(&*store, is_public).await?).await
}

/// The ids of the crawls, newest first: by the list of Common Crawl's index server for its public
/// bucket over HTTPS, else by the bucket's own copy of that list, else by the bucket's folders.
/// The bucket that Common Crawl publishes has no copy.
async fn newest_crawls(store: &dyn Store, is_public: bool) -> Result<Vec<String>, OperationError> {
    let is_public_source = store.url().trim_end_matches('/') == PUBLIC_SOURCE.trim_end_matches('/');
    let list = if is_public_source {
        open(PUBLIC_CRAWL_LIST, is_public).await?.get(CRAWL_LIST).await
    } else {
        store.get(CRAWL_LIST).await
    };
    let missing = match list {
        Ok(list) => {
            return crawl_ids(&list)
                .map_err(|error| OperationError::new(format!("{CRAWL_LIST}: {error}")));
        }
        Err(error) => error,
    };
    if matches!(missing.kind(), StorageErrorKind::NotFound | StorageErrorKind::Denied)
        && let Ok(objects) = store.list_all(COLLECTIONS).await
    {
        let crawls = crawl_ids_of_keys(objects.iter().map(|object| object.key.as_str()));
        if !crawls.is_empty() {
            return Ok(crawls);
        }
    }
    Err(OperationError::new(format!("the list of crawls: {missing}; name a crawl with --crawl")))
}

/// The first of `crawls` whose list of index files is in the bucket: the list of crawls may name
/// the newest one before that. S3 refuses to say that an object is missing where listing is not
/// allowed.
async fn newest_complete(store: &dyn Store, crawls: Vec<String>) -> Result<String, OperationError> {
    let mut late = Vec::new();
    for crawl in crawls.into_iter().take(MAX_LATE_CRAWLS + 1) {
        let is_published = match store.head(&paths_list(&crawl)).await {
            Ok(found) => found.is_some(),
            Err(error)
                if error.kind() == StorageErrorKind::Denied && store.url().starts_with("s3://") =>
            {
                false
            }
            Err(error) => return Err(error.into()),
        };
        if is_published {
            return Ok(crawl);
        }
        tracing::warn!(crawl, "its list of index files is not published yet");
        late.push(crawl);
    }
    Err(OperationError::new(format!(
        "the list of index files of {} is not in {}; name a crawl with --crawl",
        late.join(", "),
        store.url()
    )))
}

/// Opens a crawl's bucket; an S3 bucket without credentials if `is_public`.
///
/// # Errors
/// When the URL names no store.
pub async fn open(source: &str, is_public: bool) -> Result<Arc<dyn Store>, StorageError> {
    let settings = StoreSettings { no_credentials: is_public, ..StoreSettings::default() };
    everytab_storage::open(source, &settings).await
}

/// The parquet files of a crawl's index, in their published order.
///
/// # Errors
/// When the crawl is not in the bucket, or its list cannot be read.
pub async fn index_files(store: &dyn Store, crawl: &str) -> Result<Vec<String>, OperationError> {
    let key = paths_list(crawl);
    let list = store.get(&key).await.map_err(|error| {
        if error.is_not_found() {
            OperationError::new(format!(
                "crawl {crawl} is not in {}: there is no {key}; check --crawl and --source",
                store.url()
            ))
        } else {
            OperationError::new(error.to_string())
        }
    })?;
    let files = warc_subset_files(&list)
        .map_err(|error| OperationError::new(format!("{key} in {}: {error}", store.url())))?;
    if files.is_empty() {
        return Err(OperationError::new(format!("{key} in {} lists no index file", store.url())));
    }
    Ok(files)
}

/// Which files are read for a limit, and how far.
pub fn wanted_files(files: Vec<String>, limit: Option<u64>) -> Vec<WantedFile> {
    match limit {
        None => files.into_iter().map(|file| (file, None)).collect(),
        Some(limit) => files_for_limit(&files, limit)
            .into_iter()
            .map(|(file, most)| (file, Some(i64::try_from(most).unwrap_or(i64::MAX))))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    fn write(bucket: &Path, key: &str) {
        let path = bucket.join(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[tokio::test]
    async fn latest_is_the_newest_crawl_whose_list_is_published_in_a_bucket_without_collinfo() {
        let bucket = tempfile::tempdir().unwrap();
        let source = format!("file://{}", bucket.path().display());
        let resolve_latest = || async { resolve(&source, false, LATEST).await };
        let refused = resolve_latest().await.unwrap_err().message;
        assert!(refused.contains("name a crawl with --crawl"), "{refused}");
        for crawl in ["CC-MAIN-2026-04", "CC-MAIN-2026-05", "CC-MAIN-2026-09", "CC-MAIN-2026-13"] {
            write(bucket.path(), &format!("{COLLECTIONS}{crawl}/metadata.yaml"));
        }
        let refused = resolve_latest().await.unwrap_err().message;
        assert!(refused.contains("CC-MAIN-2026-13, CC-MAIN-2026-09, CC-MAIN-2026-05"), "{refused}");
        write(bucket.path(), &paths_list("CC-MAIN-2026-05"));
        assert_eq!(resolve_latest().await.unwrap(), "CC-MAIN-2026-05");
        write(bucket.path(), &paths_list("CC-MAIN-2026-13"));
        assert_eq!(resolve_latest().await.unwrap(), "CC-MAIN-2026-13");
    }
}
