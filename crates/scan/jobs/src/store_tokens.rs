//! Store tokens: objects by which workers recognize a scan's archive and site.
//! `file:///srv/archive` is a directory on every host. Without the token that `scan start` wrote, a
//! worker would write to its own disk and report success.

use bytes::Bytes;
use everytab_bundler::object_names::store_token;
use everytab_storage::{PutOptions, StorageError, Store};
use uuid::Uuid;

const CONTENT: &[u8] = b"Workers use this store for the scan in this object's name because the \
    object is here. `everytab-worker scan gc --drop-rows` removes it.\n";

/// Writes a scan's token into a store.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn write(store: &dyn Store, scan_id: Uuid) -> Result<(), StorageError> {
    let options = PutOptions::new("text/plain", "no-store");
    store.put(&store_token(scan_id), Bytes::from_static(CONTENT), options).await
}

/// Deletes a scan's token from a store, if it has one.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn delete(store: &dyn Store, scan_id: Uuid) -> Result<(), StorageError> {
    store.delete(&[store_token(scan_id)]).await
}

/// Returns the fault and the remedy if a store does not contain the scan's token.
///
/// # Errors
///
/// Returns an error if the store cannot be reached or denies access.
pub async fn fault(store: &dyn Store, scan_id: Uuid) -> Result<Option<String>, StorageError> {
    let key = store_token(scan_id);
    let is_there = store.head(&key).await?.is_some();
    let place = store.url().trim_end_matches('/');
    Ok((!is_there).then(|| {
        format!(
            "{place} on this machine is not the scan's store: `scan start` wrote a token into the \
             scan's store, but {place}/{key} is missing; mount the scan's disk at this path, or \
             scan with stores that all machines reach, such as s3://"
        )
    }))
}

#[cfg(test)]
mod tests {
    use everytab_storage::StoreSettings;

    use super::*;

    #[tokio::test]
    async fn only_the_token_of_the_scan_itself_makes_a_store_the_scans() {
        let folder = tempfile::TempDir::new().unwrap();
        let url = folder.path().display().to_string();
        let store = everytab_storage::open(&url, &StoreSettings::default()).await.unwrap();
        let (scan, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        write(&*store, other).await.unwrap();
        let found = fault(&*store, scan).await.unwrap().unwrap();
        assert!(found.contains(&url) && found.contains(&scan.to_string()), "{found}");
        write(&*store, scan).await.unwrap();
        assert_eq!(fault(&*store, scan).await.unwrap(), None);
        delete(&*store, scan).await.unwrap();
        assert!(fault(&*store, scan).await.unwrap().is_some());
        assert_eq!(fault(&*store, other).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_store_that_is_not_there_is_not_made() {
        let folder = tempfile::TempDir::new().unwrap();
        let missing = folder.path().join("archive");
        let url = missing.display().to_string();
        let store = everytab_storage::open(&url, &StoreSettings::default()).await.unwrap();
        assert!(fault(&*store, Uuid::from_u128(1)).await.unwrap().is_some());
        assert!(!missing.exists());
    }
}
