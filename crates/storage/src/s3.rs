//! A store in an S3 bucket, below a prefix.
//!
//! Invariants: writes are single PUTs up to 16 MiB and multipart uploads beyond, which are aborted
//! when they fail or are abandoned; conditions are S3's own (`If-None-Match`, `If-Match`).
//! Tries again on 5xx, 429, timeouts and broken connections: requests by the SDK's standard retry
//! with jitter (`client`), bodies that break off here. The number of tries is the only end: the
//! SDK's quota over all requests is off. A range is first asked for without the SDK (`ranges`),
//! which is one try more.

mod client;
pub(crate) mod faults;
mod multipart;
mod ranges;
mod read;
mod signature;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_s3::Client;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use url::Url;

use crate::key::{check_key, check_prefix};
use crate::settings::{StoreSettings, refused};
use crate::{Condition, ObjectInfo, PutIf, PutOptions, StorageError, Store, Tagged, backoff};
use multipart::{PART_BYTES, Source};
use ranges::{Again, Ranges};

/// The most that one DeleteObjects request may name.
const DELETE_BATCH: usize = 1000;

/// A store in an S3 bucket.
#[derive(Clone, Debug)]
pub(crate) struct S3Store {
    client: Client,
    bucket: String,
    /// Empty, or ending with a slash.
    prefix: String,
    url: String,
    max_attempts: u32,
    max_get_bytes: u64,
    /// `None` where only the SDK knows how to ask.
    ranges: Arc<Option<Ranges>>,
}

impl S3Store {
    pub(crate) async fn open(url: &Url, settings: &StoreSettings) -> Result<Self, StorageError> {
        let bucket = url
            .host_str()
            .filter(|bucket| !bucket.is_empty())
            .ok_or_else(|| refused(url.as_str(), "it names no bucket; write s3://bucket/prefix"))?
            .to_owned();
        let folder = url.path().trim_matches('/').to_owned();
        if !folder.is_empty() {
            check_key(url.as_str(), &folder)?;
        }
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let url = format!("s3://{bucket}/{folder}").trim_end_matches('/').to_owned();
        let (client, credentials) = client::build(settings).await;
        let ranges = Ranges::of(&client, credentials, &bucket, settings).await;
        Ok(Self {
            client,
            ranges: Arc::new(ranges),
            bucket,
            prefix,
            url,
            max_attempts: settings.max_attempts.max(1),
            max_get_bytes: settings.max_get_bytes,
        })
    }

    /// The name in the bucket.
    fn full(&self, key: &str) -> Result<String, StorageError> {
        check_key(&self.url, key)?;
        let full = format!("{}{key}", self.prefix);
        check_key(&self.url, &full)?;
        Ok(full)
    }

    /// As errors show an object.
    fn place(&self, key: &str) -> String {
        format!("{}/{key}", self.url)
    }

    async fn put_once(
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
            .bucket(&self.bucket)
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
            Err(error) if condition.is_some() && faults::is_precondition(&error) => {
                Ok(PutIf::PreconditionFailed)
            }
            Err(error) => Err(faults::from_sdk("write", &self.place(key), &error)),
        }
    }
}

#[async_trait]
impl Store for S3Store {
    fn url(&self) -> &str {
        &self.url
    }

    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StorageError> {
        self.head_object(key).await
    }

    async fn get(&self, key: &str) -> Result<Bytes, StorageError> {
        self.fetch(key, None).await.map(|tagged| tagged.bytes)
    }

    async fn get_tagged(&self, key: &str) -> Result<Option<Tagged>, StorageError> {
        match self.fetch(key, None).await {
            Ok(tagged) => Ok(Some(tagged)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StorageError> {
        check_key(&self.url, key)?;
        let length = crate::store::range_length(&self.place(key), &range, self.max_get_bytes)?;
        if length == 0 {
            return Ok(Bytes::new());
        }
        if let Some(ranges) = self.ranges.as_ref() {
            match ranges.read(&self.full(key)?, &range).await {
                Ok(bytes) => return Ok(bytes),
                Err(Again::Now) => tracing::debug!(key, "not the range: the SDK asks again"),
                Err(Again::Later) => tokio::time::sleep(backoff::jittered(1)).await,
            }
        }
        self.fetch(key, Some(&range)).await.map(|tagged| tagged.bytes)
    }

    async fn put(&self, key: &str, bytes: Bytes, options: PutOptions) -> Result<(), StorageError> {
        if bytes.len() as u64 > PART_BYTES {
            return self.put_parts(key, &Source::Bytes(bytes), options).await;
        }
        self.put_once(key, bytes, None, options).await.map(|_| ())
    }

    async fn put_file(
        &self,
        key: &str,
        file: &Path,
        options: PutOptions,
    ) -> Result<(), StorageError> {
        let source = Source::open(file).await?;
        if source.length() > PART_BYTES {
            return self.put_parts(key, &source, options).await;
        }
        let bytes = source.read(0..source.length()).await?;
        self.put_once(key, bytes, None, options).await.map(|_| ())
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        options: PutOptions,
    ) -> Result<PutIf, StorageError> {
        self.put_once(key, bytes, Some(&condition), options).await
    }

    fn list(&self, prefix: &str) -> BoxStream<'static, Result<ObjectInfo, StorageError>> {
        let checked = check_prefix(&self.url, prefix);
        self.list_pages(prefix, checked)
    }

    async fn delete(&self, keys: &[String]) -> Result<(), StorageError> {
        for batch in keys.chunks(DELETE_BATCH) {
            let mut objects = Vec::with_capacity(batch.len());
            for key in batch {
                let object = ObjectIdentifier::builder().key(self.full(key)?).build();
                objects.push(object.map_err(|error| refused(&self.url, error))?);
            }
            let delete = Delete::builder().set_objects(Some(objects)).quiet(true).build();
            let delete = delete.map_err(|error| refused(&self.url, error))?;
            let sent =
                self.client.delete_objects().bucket(&self.bucket).delete(delete).send().await;
            let output = sent.map_err(|error| faults::from_sdk("delete in", &self.url, &error))?;
            if let Some(first) = output.errors().first() {
                let place = format!("s3://{}/{}", self.bucket, first.key().unwrap_or_default());
                let code = first.code().unwrap_or_default();
                return Err(faults::from_code(
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
