//! Reads and removes old versions of a bucket's objects.
//!
//! A versioned bucket keeps overwritten and deleted objects until a lifecycle rule removes them.

use bytes::Bytes;

use crate::{
    error::StorageError,
    key::check_prefix,
    s3::{bucket::Bucket, read::size_of, sdk_error},
    store::OldVersion,
};

impl Bucket {
    pub(super) async fn old_versions(&self, prefix: &str) -> Result<Vec<OldVersion>, StorageError> {
        check_prefix(&self.url, prefix)?;
        let full = format!("{}{prefix}", self.prefix);
        let mut found = Vec::new();
        let (mut key_marker, mut version_marker) = (None, None);
        loop {
            let sent = self
                .client
                .list_object_versions()
                .bucket(&self.name)
                .prefix(&full)
                .set_key_marker(key_marker)
                .set_version_id_marker(version_marker)
                .send()
                .await;
            let page = sent
                .map_err(|error| sdk_error::from_sdk("list the versions of", &self.url, &error))?;
            for version in page.versions() {
                let key = version.key().and_then(|key| key.strip_prefix(&self.prefix));
                let (Some(key), Some(id)) = (key, version.version_id()) else { continue };
                if version.is_latest() != Some(true) {
                    let key = key.to_owned();
                    let version_id = id.to_owned();
                    found.push(OldVersion {
                        key,
                        version: version_id,
                        size: size_of(version.size()),
                    });
                }
            }
            if page.is_truncated() != Some(true) {
                return Ok(found);
            }
            key_marker = page.next_key_marker;
            version_marker = page.next_version_id_marker;
            if key_marker.is_none() {
                return Ok(found);
            }
        }
    }

    pub(super) async fn get_version(&self, old: &OldVersion) -> Result<Bytes, StorageError> {
        let sent = self
            .client
            .get_object()
            .bucket(&self.name)
            .key(self.full(&old.key)?)
            .version_id(&old.version)
            .send()
            .await;
        let place = self.place(&old.key);
        let output = sent.map_err(|error| sdk_error::from_sdk("read", &place, &error))?;
        self.collect(&old.key, None, output).await
    }

    pub(super) async fn delete_versions(&self, old: &[OldVersion]) -> Result<(), StorageError> {
        let named: Vec<_> =
            old.iter().map(|old| (old.key.as_str(), Some(old.version.as_str()))).collect();
        self.delete_each(&named).await
    }
}
