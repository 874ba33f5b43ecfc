//! Writes objects to the site, with headers that depend on their names.

use bytes::Bytes;
use everytab_bundler::object_names::{cache_control, content_type};
use everytab_fetcher::Heartbeat;
use everytab_storage::{PutOptions, StorageError, Store};
use futures_util::{StreamExt, TryStreamExt, stream};

/// Site objects that a job reads or writes concurrently. This is enough to hide a store's latency.
pub(crate) const CONCURRENT_OBJECTS: usize = 16;

/// Returns the content type and cache rule for an object's name.
pub fn put_options(key: &str) -> PutOptions {
    PutOptions::new(content_type(key), cache_control(key))
}

pub(crate) async fn put_object(
    site: &dyn Store,
    key: &str,
    bytes: impl Into<Bytes>,
) -> Result<(), StorageError> {
    site.put(key, bytes.into(), put_options(key)).await
}

pub(crate) async fn put_all(
    site: &dyn Store,
    objects: impl IntoIterator<Item = (String, impl Into<Bytes>)>,
    heartbeat: &Heartbeat,
) -> Result<u64, StorageError> {
    let puts: Vec<_> = objects
        .into_iter()
        .map(|(key, bytes)| (key, bytes.into()))
        .map(|(key, bytes): (String, Bytes)| async move { put_object(site, &key, bytes).await })
        .collect();
    let count = puts.len() as u64;
    stream::iter(puts)
        .buffer_unordered(CONCURRENT_OBJECTS)
        .inspect_ok(|()| heartbeat.beat())
        .try_collect::<Vec<()>>()
        .await?;
    Ok(count)
}

/// Skips unchanged objects, because most are unchanged when a scan is published again.
pub(crate) async fn put_changed(
    site: &dyn Store,
    key: &str,
    bytes: Bytes,
) -> Result<(), StorageError> {
    match site.get(key).await {
        Ok(found) if found == bytes => Ok(()),
        Ok(_) => put_object(site, key, bytes).await,
        Err(error) if error.is_not_found() => put_object(site, key, bytes).await,
        Err(error) => Err(error),
    }
}
