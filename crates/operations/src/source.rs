//! The source of a scan, which is Common Crawl's bucket or another of its shape; and what is newest
//! in it, a crawl or a web graph.
//!
//! Both are named by a list on Common Crawl's index server, of which another bucket may have a
//! copy, and each has a folder; both may be named before the file that is wanted of them is
//! published. A list that cannot be read for the moment is no missing list.

use std::sync::Arc;

use everytab_storage::{StorageError, StorageErrorKind, Store, StoreSettings};

/// The public bucket over HTTPS, which needs no AWS credentials.
pub const PUBLIC_SOURCE: &str = "https://data.commoncrawl.org/";
/// Where the list of crawls and that of web graphs are published.
const PUBLIC_LISTS: &str = "https://index.commoncrawl.org/";
/// The newest ones of a list that are tried: one comes a month, and its files within days.
const MAX_TRIED: usize = 3;

/// Opens a source; an S3 bucket without credentials if `is_public`.
///
/// # Errors
/// When the URL names no store.
pub async fn open(source: &str, is_public: bool) -> Result<Arc<dyn Store>, StorageError> {
    let settings = StoreSettings { no_credentials: is_public, ..StoreSettings::default() };
    everytab_storage::open(source, &settings).await
}

/// Why there are no names.
pub(crate) enum NoNames {
    /// The source has neither the list nor folders, or does not show them.
    Missing(StorageError),
    /// They cannot be read.
    Unreadable(StorageError),
}

/// The list by the file `list` of Common Crawl's index server for its public bucket over HTTPS,
/// else by the bucket's own copy.
pub(crate) async fn list_of(
    store: &dyn Store,
    is_public: bool,
    list: &str,
) -> Result<Vec<u8>, StorageError> {
    let is_public_source = store.url().trim_end_matches('/') == PUBLIC_SOURCE.trim_end_matches('/');
    let bytes = match is_public_source {
        true => open(PUBLIC_LISTS, is_public).await?.get(list).await?,
        false => store.get(list).await?,
    };
    Ok(bytes.to_vec())
}

/// What `names` makes of the names of the folders below `prefix`, where there is no list for the
/// reason `missing`.
pub(crate) async fn folders_below(
    store: &dyn Store,
    prefix: &str,
    names: impl Fn(&[String]) -> Vec<String>,
    missing: StorageError,
) -> Result<Vec<String>, NoNames> {
    if !is_missing(&missing) {
        return Err(NoNames::Unreadable(missing));
    }
    let folders = match store.list_folders(prefix).await {
        Ok(folders) => folders,
        Err(error) if error.is_retryable() => return Err(NoNames::Unreadable(error)),
        Err(_) => Vec::new(),
    };
    let name = |folder: &String| folder.strip_prefix(prefix).map(str::to_owned);
    let names = names(&folders.iter().filter_map(name).collect::<Vec<_>>());
    match names.is_empty() {
        true => Err(NoNames::Missing(missing)),
        false => Ok(names),
    }
}

/// S3 refuses to say that an object is missing where listing is not allowed.
fn is_missing(error: &StorageError) -> bool {
    matches!(error.kind(), StorageErrorKind::NotFound | StorageErrorKind::Denied)
}

/// The first of `names` whose file the bucket has.
///
/// # Errors
/// The names that were tried, or why the bucket cannot be asked.
pub(crate) async fn first_published(
    store: &dyn Store,
    names: Vec<String>,
    path: impl Fn(&str) -> String,
) -> Result<Result<String, Vec<String>>, StorageError> {
    let mut late = Vec::new();
    for name in names.into_iter().take(MAX_TRIED) {
        let path = path(&name);
        let is_published = match store.head(&path).await {
            Ok(found) => found.is_some(),
            Err(error) if is_missing(&error) && store.url().starts_with("s3://") => false,
            Err(error) => return Err(error),
        };
        if is_published {
            return Ok(Ok(name));
        }
        tracing::warn!(name, path, "its file is not published yet");
        late.push(name);
    }
    Ok(Err(late))
}
