//! Reads and lists a bucket. Retries a request if its body is truncated after the headers, because
//! the SDK does not.

use std::{collections::VecDeque, ops::Range};

use aws_sdk_s3::operation::{get_object::GetObjectOutput, list_objects_v2::ListObjectsV2Output};
use bytes::{Bytes, BytesMut};
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};

use crate::{
    backoff,
    error::{StorageError, StorageErrorKind, describe},
    s3::{bucket::Bucket, sdk_error},
    store::{ObjectInfo, Tagged, starts_past_the_end, too_large},
};

impl Bucket {
    pub(super) async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StorageError> {
        let sent = self.client.head_object().bucket(&self.name).key(self.full(key)?).send().await;
        match sent {
            Ok(output) => Ok(Some(ObjectInfo {
                key: key.to_owned(),
                size: size_of(output.content_length),
                etag: output.e_tag,
            })),
            Err(error) => match sdk_error::from_sdk("read", &self.place(key), &error) {
                error if error.is_not_found() => Ok(None),
                error => Err(error),
            },
        }
    }

    pub(super) async fn fetch(
        &self,
        key: &str,
        range: Option<&Range<u64>>,
    ) -> Result<Tagged, StorageError> {
        let mut attempt = 1;
        loop {
            let output = self.request(key, range).await?;
            let etag = output.e_tag.clone().unwrap_or_default();
            match self.collect(key, range, output).await {
                Ok(bytes) => return Ok(Tagged { bytes, etag }),
                Err(error) if error.is_retryable() && attempt < self.max_attempts => {
                    tracing::debug!(%error, attempt, "retrying the read");
                    tokio::time::sleep(backoff::jittered(attempt)).await;
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn request(
        &self,
        key: &str,
        range: Option<&Range<u64>>,
    ) -> Result<GetObjectOutput, StorageError> {
        let header =
            range.map(|range| format!("bytes={}-{}", range.start, range.end.saturating_sub(1)));
        let sent = self
            .client
            .get_object()
            .bucket(&self.name)
            .key(self.full(key)?)
            .set_range(header)
            .send()
            .await;
        sent.map_err(|error| {
            let status = error.raw_response().map(|response| response.status().as_u16());
            match (range, status) {
                (Some(range), Some(416)) => starts_past_the_end(&self.place(key), range),
                _ => sdk_error::from_sdk("read", &self.place(key), &error),
            }
        })
    }

    pub(super) async fn collect(
        &self,
        key: &str,
        range: Option<&Range<u64>>,
        mut output: GetObjectOutput,
    ) -> Result<Bytes, StorageError> {
        let expected = size_of(output.content_length);
        let most = match range {
            Some(_) if output.content_range.is_none() => {
                return Err(StorageError::new(
                    StorageErrorKind::Invalid,
                    "read",
                    self.place(key),
                    "the server ignores the Range header; use a store that supports it",
                ));
            }
            Some(range) => range.end.saturating_sub(range.start),
            None => self.max_get_bytes,
        };
        if expected > most {
            return Err(too_large(&self.place(key), expected, most));
        }
        let mut bytes = BytesMut::with_capacity(usize::try_from(expected).unwrap_or(0));
        while let Some(chunk) = output.body.next().await {
            let chunk = chunk.map_err(|error| self.broke_off(key, &describe(&error)))?;
            if (bytes.len() + chunk.len()) as u64 > most {
                return Err(too_large(&self.place(key), (bytes.len() + chunk.len()) as u64, most));
            }
            bytes.extend_from_slice(&chunk);
        }
        if output.content_length.is_some() && bytes.len() as u64 != expected {
            let cause = format!("received {} of {expected} bytes", bytes.len());
            return Err(self.broke_off(key, &cause));
        }
        Ok(bytes.freeze())
    }

    fn broke_off(&self, key: &str, cause: &str) -> StorageError {
        StorageError::new(
            StorageErrorKind::Unreachable,
            "read",
            self.place(key),
            format!("the response was truncated: {cause}; try again"),
        )
    }

    /// Lists pages of 1,000 objects. Each page is fetched when the caller has consumed the previous
    /// one.
    pub(super) fn list_pages(
        &self,
        prefix: &str,
        checked: Result<(), StorageError>,
    ) -> BoxStream<'static, Result<ObjectInfo, StorageError>> {
        if let Err(error) = checked {
            return stream::once(async { Err(error) }).boxed();
        }
        let pages = self
            .client
            .list_objects_v2()
            .bucket(&self.name)
            .prefix(format!("{}{prefix}", self.prefix))
            .into_paginator()
            .send();
        let state = (pages, VecDeque::new(), self.clone());
        stream::try_unfold(state, |(mut pages, mut waiting, store)| async move {
            loop {
                if let Some(object) = waiting.pop_front() {
                    return Ok(Some((object, (pages, waiting, store))));
                }
                match pages.next().await {
                    None => return Ok(None),
                    Some(Ok(page)) => waiting = store.objects_of(page),
                    Some(Err(error)) => {
                        return Err(sdk_error::from_sdk("list", &store.url, &error));
                    }
                }
            }
        })
        .boxed()
    }

    fn objects_of(&self, page: ListObjectsV2Output) -> VecDeque<ObjectInfo> {
        let objects = page.contents.unwrap_or_default().into_iter();
        objects
            .filter_map(|object| {
                let key = object.key?.strip_prefix(&self.prefix)?.to_owned();
                // Web consoles create "folders", which are empty objects with a trailing slash in
                // their names.
                let is_folder = key.is_empty() || key.ends_with('/');
                let size = size_of(object.size);
                (!is_folder).then_some(ObjectInfo { key, size, etag: object.e_tag })
            })
            .collect()
    }
}

pub(super) fn size_of(length: Option<i64>) -> u64 {
    length.and_then(|length| u64::try_from(length).ok()).unwrap_or(0)
}
