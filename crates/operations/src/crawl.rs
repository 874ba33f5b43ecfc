//! A crawl as a bucket holds it: which crawls there are, and a crawl's index files.

use std::sync::Arc;

use everytab_commoncrawl::index::paths::{
    files_for_limit, is_crawl_id, newest_crawl_id, paths_list, warc_subset_files,
};
use everytab_storage::{StorageError, Store, StoreSettings};

use crate::error::OperationError;

/// The public bucket over HTTPS, which needs no AWS credentials.
pub const PUBLIC_SOURCE: &str = "https://data.commoncrawl.org/";
/// Where the list of crawls is published.
pub const PUBLIC_CRAWL_LIST: &str = "https://index.commoncrawl.org/";
const CRAWL_LIST: &str = "collinfo.json";

/// An index file and how many captures are wanted of it.
pub type WantedFile = (String, Option<i64>);

/// What `--crawl` calls the newest crawl.
pub const LATEST: &str = "latest";

/// The id of the crawl that `crawl` names; for `latest`, of the newest one in the list of crawls.
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
    // The public list lies beside the bucket, a copy of the bucket may hold it.
    let place = if source == PUBLIC_SOURCE { PUBLIC_CRAWL_LIST } else { source };
    let store = open(place, is_public).await?;
    let list = store.get(CRAWL_LIST).await.map_err(|error| {
        OperationError::new(format!("the list of crawls: {error}; name a crawl with --crawl"))
    })?;
    newest_crawl_id(&list)
        .map_err(|error| OperationError::new(format!("{place}{CRAWL_LIST}: {error}")))
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
