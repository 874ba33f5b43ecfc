//! A scan's source, and its newest crawl or web graph. A crawl or graph may be listed before its
//! files are published. A list that cannot be read at the moment does not count as missing.

use std::sync::Arc;

use everytab_storage::{StorageError, StorageErrorKind, Store, StoreSettings};

/// The public bucket over HTTPS.
pub const PUBLIC_SOURCE: &str = "https://data.commoncrawl.org/";
const PUBLIC_LISTS: &str = "https://index.commoncrawl.org/";
/// At most this many list entries are tried. One entry is added per month, and its files follow
/// within days.
const MAX_TRIED: usize = 3;

/// Opens a source. If `is_public`, an S3 bucket is opened without credentials.
///
/// # Errors
/// Returns an error if the URL does not name a store.
pub async fn open(source: &str, is_public: bool) -> Result<Arc<dyn Store>, StorageError> {
    let settings = StoreSettings { no_credentials: is_public, ..StoreSettings::default() };
    everytab_storage::open(source, &settings).await
}

pub(crate) enum NoNames {
    /// The source has neither the list nor prefixes, or denies access to them.
    Missing(StorageError),
    /// The list or the prefixes cannot be read at the moment.
    Unreadable(StorageError),
}

/// The lists of Common Crawl's public bucket are on its index server.
pub(crate) async fn list_of(
    store: &dyn Store,
    is_public: bool,
    list: &str,
) -> Result<Vec<u8>, StorageError> {
    let is_public_source = store.url().trim_end_matches('/') == PUBLIC_SOURCE.trim_end_matches('/');
    let bytes = if is_public_source {
        open(PUBLIC_LISTS, is_public).await?.get(list).await?
    } else {
        store.get(list).await?
    };
    Ok(bytes.to_vec())
}

/// Call this after reading a list failed with `missing`. If the list does not exist or access to it
/// is denied, returns the names that `names` finds in the prefixes below `prefix`. Any other
/// `missing` is returned.
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
    if names.is_empty() { Err(NoNames::Missing(missing)) } else { Ok(names) }
}

/// Also returns true for denied access, because S3 denies access to a missing object if listing is
/// not allowed.
fn is_missing(error: &StorageError) -> bool {
    matches!(error.kind(), StorageErrorKind::NotFound | StorageErrorKind::Denied)
}

/// Returns the first name whose file is in the bucket. If there is none, the inner error contains
/// the names that were tried.
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
        tracing::warn!(
            name,
            path,
            "this entry's file is not published yet; trying the previous entry"
        );
        late.push(name);
    }
    Ok(Err(late))
}
