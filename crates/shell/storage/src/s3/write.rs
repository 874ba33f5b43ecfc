//! Writes an object in one request, and deletes objects.

use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use bytes::Bytes;

use crate::{
    aws_error,
    error::{StorageError, invalid_setting},
    s3::{bucket::Bucket, sdk_error},
    store::{Condition, PutIf, PutOptions},
};

/// Maximum objects in one DeleteObjects request (Amazon S3 API Reference).
const DELETE_BATCH: usize = 1000;

impl Bucket {
    pub(super) async fn put_once(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Option<&Condition>,
        options: PutOptions,
    ) -> Result<PutIf, StorageError> {
        let (absent, etag) = match condition {
            None => (None, None),
            Some(Condition::Absent) => (Some("*".to_owned()), None),
            Some(Condition::Etag(etag)) => (None, Some(etag.clone())),
        };
        let sent = self
            .client
            .put_object()
            .bucket(&self.name)
            .key(self.full(key)?)
            .set_content_type(options.content_type.map(str::to_owned))
            .set_cache_control(options.cache_control.map(str::to_owned))
            .set_content_encoding(options.content_encoding.map(str::to_owned))
            .set_if_none_match(absent)
            .set_if_match(etag)
            .body(bytes.into())
            .send()
            .await;
        match sent {
            Ok(output) => Ok(PutIf::Stored { etag: output.e_tag.unwrap_or_default() }),
            Err(error) if condition.is_some() && sdk_error::is_precondition(&error) => {
                Ok(PutIf::PreconditionFailed)
            }
            Err(error) => Err(sdk_error::from_sdk("write", &self.place(key), &error)),
        }
    }

    pub(super) async fn delete_all(&self, keys: &[String]) -> Result<(), StorageError> {
        let named: Vec<_> = keys.iter().map(|key| (key.as_str(), None)).collect();
        self.delete_each(&named).await
    }

    /// Deletes objects. For a pair with a version, removes this version permanently.
    pub(super) async fn delete_each(
        &self,
        named: &[(&str, Option<&str>)],
    ) -> Result<(), StorageError> {
        for batch in named.chunks(DELETE_BATCH) {
            let mut objects = Vec::with_capacity(batch.len());
            for &(key, version) in batch {
                let object = ObjectIdentifier::builder()
                    .key(self.full(key)?)
                    .set_version_id(version.map(str::to_owned))
                    .build();
                objects.push(object.map_err(|error| invalid_setting(&self.url, error))?);
            }
            let delete = Delete::builder().set_objects(Some(objects)).quiet(true).build();
            let delete = delete.map_err(|error| invalid_setting(&self.url, error))?;
            let sent = self.client.delete_objects().bucket(&self.name).delete(delete).send().await;
            let output =
                sent.map_err(|error| sdk_error::from_sdk("delete in", &self.url, &error))?;
            if let Some(first) = output.errors().first() {
                let place = format!("s3://{}/{}", self.name, first.key().unwrap_or_default());
                let code = first.code().unwrap_or_default();
                return Err(aws_error::from_code(
                    "delete",
                    &place,
                    code,
                    None,
                    first.message().unwrap_or_default(),
                ));
            }
        }
        Ok(())
    }
}
