//! A store in an S3 bucket, below a prefix.
//!
//! The SDK retries requests with jitter and a quota over all requests (`client`), and `read`
//! retries a truncated body. A range is first requested without the SDK (`ranges`), which is one
//! additional attempt. With an adaptive rate, each attempt of a read needs a permit, so attempts
//! are counted here and the SDK makes one attempt per call.

mod bucket;
mod client;
mod multipart;
mod ranges;
mod read;
mod sdk_error;
mod signature;
mod versions;
mod write;

use std::{ops::Range, path::Path, sync::Arc};

use async_trait::async_trait;
use bucket::Bucket;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use multipart::{PART_BYTES, UploadSource};
use ranges::{Ranges, SdkRetry};
use url::Url;

use crate::{
    adaptive_rate::{AdaptiveRate, Attempts},
    backoff,
    error::{StorageError, StorageErrorKind, invalid_setting},
    key::{check_key, check_prefix},
    settings::StoreSettings,
    store::{
        Condition, ObjectInfo, OldVersion, PutIf, PutOptions, Store, Tagged, none_if_missing,
        range_length,
    },
};

#[derive(Debug)]
pub(crate) struct S3Store {
    bucket: Bucket,
    /// `None` if only the SDK can sign requests for the bucket.
    ranges: Option<Ranges>,
    rate: Option<Arc<AdaptiveRate>>,
    max_attempts: u32,
}

impl S3Store {
    pub(crate) async fn open(url: &Url, settings: &StoreSettings) -> Result<Self, StorageError> {
        let name = url
            .host_str()
            .filter(|name| !name.is_empty())
            .ok_or_else(|| {
                invalid_setting(url.as_str(), "it names no bucket; write s3://bucket/prefix")
            })?
            .to_owned();
        let folder = url.path().trim_matches('/').to_owned();
        if !folder.is_empty() {
            check_key(url.as_str(), &folder)?;
        }
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let url = format!("s3://{name}/{folder}").trim_end_matches('/').to_owned();
        let (client, credentials) = client::build(settings).await;
        let ranges = Ranges::of(&client, credentials, &name, settings).await;
        let bucket = Bucket {
            client,
            name,
            prefix,
            url,
            max_attempts: if settings.rate.is_some() { 1 } else { settings.max_attempts.max(1) },
            max_get_bytes: settings.max_get_bytes,
        };
        let rate = settings.rate.clone();
        let max_attempts = settings.max_attempts.max(1);
        Ok(Self { bucket, ranges, rate, max_attempts })
    }

    async fn fetch(&self, key: &str, range: Option<&Range<u64>>) -> Result<Tagged, StorageError> {
        if let (Some(range), Some(ranges), None) = (range, &self.ranges, &self.rate) {
            match ranges.read(&self.bucket.full(key)?, range).await {
                Ok(bytes) => return Ok(Tagged { bytes, etag: String::new() }),
                Err(SdkRetry::Now) => {
                    tracing::debug!(key, "the response is not the range; retrying with the SDK")
                }
                Err(_) => tokio::time::sleep(backoff::jittered(1)).await,
            }
        }
        let Some(rate) = &self.rate else { return self.bucket.fetch(key, range).await };
        let mut attempts = Attempts::new(Some(rate), self.max_attempts);
        loop {
            let attempt = attempts.begin().await;
            let result = match (range, &self.ranges) {
                (Some(range), Some(ranges)) if attempt == 1 => {
                    match ranges.read(&self.bucket.full(key)?, range).await {
                        Ok(bytes) => Ok(Tagged { bytes, etag: String::new() }),
                        Err(SdkRetry::Now) => {
                            // The SDK's error explains the rejection.
                            attempts.begin().await;
                            self.bucket.fetch(key, Some(range)).await
                        }
                        Err(SdkRetry::WhenLessBusy) => Err(self.no_range(key).demanding_less()),
                        Err(SdkRetry::AfterWait) => Err(self.no_range(key)),
                    }
                }
                _ => self.bucket.fetch(key, range).await,
            };
            if !attempts.goes_on(result.as_ref().err()) {
                return result;
            }
            tokio::time::sleep(backoff::jittered(attempt)).await;
        }
    }

    fn no_range(&self, key: &str) -> StorageError {
        let cause = "the server is busy, or the connection broke; try again later";
        StorageError::new(StorageErrorKind::Unreachable, "read", self.bucket.place(key), cause)
    }
}

#[async_trait]
impl Store for S3Store {
    fn url(&self) -> &str {
        &self.bucket.url
    }

    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StorageError> {
        let Some(rate) = &self.rate else { return self.bucket.head(key).await };
        let mut attempts = Attempts::new(Some(rate), self.max_attempts);
        loop {
            let attempt = attempts.begin().await;
            let result = self.bucket.head(key).await;
            if !attempts.goes_on(result.as_ref().err()) {
                return result;
            }
            tokio::time::sleep(backoff::jittered(attempt)).await;
        }
    }

    async fn get(&self, key: &str) -> Result<Bytes, StorageError> {
        self.fetch(key, None).await.map(|tagged| tagged.bytes)
    }

    async fn get_tagged(&self, key: &str) -> Result<Option<Tagged>, StorageError> {
        none_if_missing(self.fetch(key, None).await)
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StorageError> {
        check_key(&self.bucket.url, key)?;
        let length = range_length(&self.bucket.place(key), &range, self.bucket.max_get_bytes)?;
        if length == 0 {
            return Ok(Bytes::new());
        }
        self.fetch(key, Some(&range)).await.map(|tagged| tagged.bytes)
    }

    async fn check(&self, key: &str) -> Result<(), StorageError> {
        match none_if_missing(self.bucket.fetch(key, Some(&(0..1))).await) {
            // The bucket exists and accepts the credentials, but they do not allow listing it.
            Err(error) if error.is_access_denied() => Ok(()),
            checked => checked.map(drop),
        }
    }

    async fn put(&self, key: &str, bytes: Bytes, options: PutOptions) -> Result<(), StorageError> {
        if bytes.len() as u64 > PART_BYTES {
            return self.bucket.put_parts(key, &UploadSource::Bytes(bytes), options).await;
        }
        self.bucket.put_once(key, bytes, None, options).await.map(|_| ())
    }

    async fn put_file(
        &self,
        key: &str,
        file: &Path,
        options: PutOptions,
    ) -> Result<(), StorageError> {
        let source = UploadSource::open(file).await?;
        if source.length() > PART_BYTES {
            return self.bucket.put_parts(key, &source, options).await;
        }
        let bytes = source.read(0..source.length()).await?;
        self.bucket.put_once(key, bytes, None, options).await.map(|_| ())
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        options: PutOptions,
    ) -> Result<PutIf, StorageError> {
        self.bucket.put_once(key, bytes, Some(&condition), options).await
    }

    fn list(&self, prefix: &str) -> BoxStream<'static, Result<ObjectInfo, StorageError>> {
        let checked = check_prefix(&self.bucket.url, prefix);
        self.bucket.list_pages(prefix, checked)
    }

    async fn old_versions(&self, prefix: &str) -> Result<Vec<OldVersion>, StorageError> {
        self.bucket.old_versions(prefix).await
    }

    async fn get_version(&self, old: &OldVersion) -> Result<Bytes, StorageError> {
        self.bucket.get_version(old).await
    }

    async fn delete_versions(&self, old: &[OldVersion]) -> Result<(), StorageError> {
        self.bucket.delete_versions(old).await
    }

    async fn delete(&self, keys: &[String]) -> Result<(), StorageError> {
        self.bucket.delete_all(keys).await
    }
}
