//! Edits the public request files during a removal.

use std::collections::BTreeSet;

use everytab_bundler::{
    object_names::{REQUESTS_INDEX_PATH, request_file_path},
    removed_hosts::RemovedHosts,
    request_files::{RequestIndex, without_hosts},
};
use everytab_commoncrawl::hostname_hash;
use everytab_storage::{ObjectChange, Tagged};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::search_files::{RemovalError, ScanObjects, are_few};
use crate::site_objects::{CONCURRENT_OBJECTS, put_options};

impl ScanObjects<'_> {
    /// Removes these hosts' lines from the request files. Returns the names of changed objects.
    ///
    /// # Errors
    /// Returns an error if the store fails, or a file is malformed.
    pub async fn remove_requests(
        &self,
        hosts: &RemovedHosts,
    ) -> Result<BTreeSet<String>, RemovalError> {
        let index = self.site.get_tagged(&format!("{}{REQUESTS_INDEX_PATH}", self.prefix)).await?;
        let index = index.and_then(|index| RequestIndex::read(&index.bytes));
        let Some(index) = index.filter(|_| !hosts.is_empty()) else { return Ok(BTreeSet::new()) };
        let buckets: BTreeSet<u64> = if are_few(hosts) {
            hosts.hostnames.iter().map(|host| index.bucket(hostname_hash(host))).collect()
        } else {
            (0..index.files()).collect()
        };
        let changes = buckets.into_iter().map(|bucket| {
            let key = format!("{}{}", self.prefix, request_file_path(bucket, index.digits));
            async move { self.remove_lines(key, hosts).await }
        });
        let changed: Vec<Option<String>> =
            stream::iter(changes).buffered(CONCURRENT_OBJECTS).try_collect().await?;
        Ok(changed.into_iter().flatten().collect())
    }

    async fn remove_lines(
        &self,
        key: String,
        hosts: &RemovedHosts,
    ) -> Result<Option<String>, RemovalError> {
        let change = |before: Option<Tagged>| {
            let without = match &before {
                Some(before) => without_hosts(&before.bytes, hosts),
                None => Ok(None),
            };
            std::future::ready(match without {
                Ok(Some(bytes)) => Ok(ObjectChange::Write(bytes.into(), true)),
                Ok(None) => Ok(ObjectChange::Keep(false)),
                Err(error) => Err(RemovalError::NotUnderstood(format!(
                    "{key} is not a request file: {error}"
                ))),
            })
        };
        let was_changed = self.site.update(&key, put_options(&key), change).await?;
        self.heartbeat.beat();
        Ok(was_changed.then_some(key))
    }
}
