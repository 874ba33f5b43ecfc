//! Lists a bucket's crawls, and a crawl's index files.

use everytab_commoncrawl::{
    crawl_layout::LiveCrawlName,
    index::paths::{
        COLLECTIONS, crawl_ids, crawl_ids_of_folders, files_for_limit, is_crawl_id, paths_list,
        warc_subset_files,
    },
};
use everytab_console::OperationError;
use everytab_storage::Store;

use crate::source::{self, NoNames};

const CRAWL_LIST: &str = "collinfo.json";

/// An index file, with the number of captures wanted from it, or `None` for all.
pub type WantedFile = (String, Option<i64>);

/// The value of `--crawl` for the newest crawl.
pub const LATEST: &str = "latest";

/// Returns the id of `crawl`. `latest` means the newest crawl with a published list of index files.
///
/// # Errors
///
/// Returns an error if the name is invalid, or the newest crawl cannot be determined.
pub async fn resolve(source: &str, is_public: bool, crawl: &str) -> Result<String, OperationError> {
    if crawl != LATEST {
        if is_crawl_id(crawl) || LiveCrawlName::parse(crawl).is_ok() {
            return Ok(crawl.to_owned());
        }
        return Err(OperationError::usage(format!(
            "--crawl {crawl:?} is not a crawl's id; give one such as CC-MAIN-2026-05, or latest"
        )));
    }
    let store = source::open(source, is_public).await?;
    let crawls = newest_crawls(&*store, is_public).await?;
    let newest = source::first_published(&*store, crawls, paths_list).await?;
    newest.map_err(|late| {
        OperationError::new(format!(
            "the list of index files of {} is not in {}; name a crawl with --crawl",
            late.join(", "),
            store.url()
        ))
    })
}

/// Common Crawl's own bucket has no list of crawls, so this falls back to prefixes.
async fn newest_crawls(store: &dyn Store, is_public: bool) -> Result<Vec<String>, OperationError> {
    let missing = match source::list_of(store, is_public, CRAWL_LIST).await {
        Ok(list) => {
            return crawl_ids(&list)
                .map_err(|error| OperationError::new(format!("{CRAWL_LIST}: {error}")));
        }
        Err(error) => error,
    };
    let folders = source::folders_below(store, COLLECTIONS, crawl_ids_of_folders, missing).await;
    folders.map_err(|none| {
        let (NoNames::Missing(error) | NoNames::Unreadable(error)) = none;
        OperationError::new(format!("the list of crawls: {error}; name a crawl with --crawl"))
    })
}

/// Returns a crawl's parquet index files, in their published order.
///
/// # Errors
/// Returns an error if the crawl is not in the bucket, or its list cannot be read.
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

/// Selects the files to read for a limit, each with its number of captures.
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
