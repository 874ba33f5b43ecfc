//! A crawl as a bucket holds it: which crawls there are, and a crawl's index files.

use std::sync::Arc;

use everytab_commoncrawl::index::paths::{
    files_for_limit, is_crawl_id, newest_crawl_id, paths_list, warc_subset_files,
};
use everytab_storage::{StorageError, Store, StoreSettings};

use crate::cli_error::CliError;

/// The public bucket over HTTPS, for whoever has no AWS credentials.
pub const PUBLIC_SOURCE: &str = "https://data.commoncrawl.org/";
/// Where the list of crawls is published.
pub const PUBLIC_CRAWL_LIST: &str = "https://index.commoncrawl.org/";
const CRAWL_LIST: &str = "collinfo.json";

/// An index file and how many captures are wanted of it.
pub type WantedFile = (String, Option<i64>);

/// The word for the newest crawl.
pub const LATEST: &str = "latest";

/// The crawl that is meant: the one named, or the newest for `latest`.
///
/// # Errors
/// When it is no crawl's name, or the list of crawls cannot be read.
pub async fn resolve(source: &str, crawl: &str) -> Result<String, CliError> {
    if crawl != LATEST {
        if is_crawl_id(crawl) {
            return Ok(crawl.to_owned());
        }
        return Err(CliError::usage(format!(
            "--crawl {crawl:?} is no crawl's id; give one such as CC-MAIN-2026-05, or latest"
        )));
    }
    // The public list lies beside the bucket, a copy of the bucket may hold it.
    let place = if source == PUBLIC_SOURCE { PUBLIC_CRAWL_LIST } else { source };
    let store = open(place).await?;
    let list = store.get(CRAWL_LIST).await.map_err(|error| {
        CliError::new(format!("the list of crawls: {error}; name a crawl with --crawl"))
    })?;
    newest_crawl_id(&list).map_err(|error| CliError::new(format!("{place}{CRAWL_LIST}: {error}")))
}

/// Opens a crawl's bucket; over S3 without credentials when there are none.
///
/// # Errors
/// When the URL names no store.
pub async fn open(source: &str) -> Result<Arc<dyn Store>, StorageError> {
    everytab_storage::open(source, &StoreSettings::default()).await
}

/// The parquet files of a crawl's index, in their published order.
///
/// # Errors
/// When the crawl is not in the bucket, or its list cannot be read.
pub async fn index_files(store: &dyn Store, crawl: &str) -> Result<Vec<String>, CliError> {
    let key = paths_list(crawl);
    let list = store.get(&key).await.map_err(|error| {
        if error.is_not_found() {
            CliError::new(format!(
                "crawl {crawl} is not in {}: there is no {key}; check --crawl and --source",
                store.url()
            ))
        } else {
            CliError::new(error.to_string())
        }
    })?;
    let files = warc_subset_files(&list)
        .map_err(|error| CliError::new(format!("{key} in {}: {error}", store.url())))?;
    if files.is_empty() {
        return Err(CliError::new(format!("{key} in {} lists no index file", store.url())));
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
