//! Uploads large objects in parts. An incomplete upload is aborted, even if the caller stops
//! waiting for it, because S3 charges for its invisible parts.

use std::{
    io::SeekFrom,
    ops::Range,
    path::{Path, PathBuf},
};

use aws_sdk_s3::{
    Client,
    types::{CompletedMultipartUpload, CompletedPart},
};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use crate::{
    error::{StorageError, StorageErrorKind},
    s3::{bucket::Bucket, sdk_error},
    store::PutOptions,
};

/// Objects up to this size are written by one PUT, and larger objects in parts.
pub(super) const PART_BYTES: u64 = 16 << 20;
/// S3's limit on the number of parts. Files over 156 GiB have larger parts.
const MAX_PARTS: u64 = 10_000;
/// Parts that are uploaded concurrently, and are therefore in memory.
const PARTS_IN_FLIGHT: usize = 3;

#[derive(Debug)]
pub(super) enum UploadSource {
    Bytes(Bytes),
    File { path: PathBuf, length: u64 },
}

impl UploadSource {
    pub(super) async fn open(path: &Path) -> Result<Self, StorageError> {
        let metadata = tokio::fs::metadata(path).await.map_err(|error| unreadable(path, &error))?;
        Ok(Self::File { path: path.to_path_buf(), length: metadata.len() })
    }

    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }

    pub(super) async fn read(&self, range: Range<u64>) -> Result<Bytes, StorageError> {
        match self {
            Self::Bytes(bytes) => {
                let clamp =
                    |at: u64| usize::try_from(at).map_or(bytes.len(), |at| at.min(bytes.len()));
                Ok(bytes.slice(clamp(range.start)..clamp(range.end)))
            }
            Self::File { path, .. } => {
                read_file(path, range).await.map_err(|error| unreadable(path, &error))
            }
        }
    }
}

async fn read_file(path: &Path, range: Range<u64>) -> std::io::Result<Bytes> {
    let length = usize::try_from(range.end.saturating_sub(range.start))
        .map_err(|_| std::io::ErrorKind::OutOfMemory)?;
    let mut file = tokio::fs::File::open(path).await?;
    file.seek(SeekFrom::Start(range.start)).await?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes).await?;
    Ok(Bytes::from(bytes))
}

fn unreadable(path: &Path, error: &std::io::Error) -> StorageError {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => StorageErrorKind::NotFound,
        std::io::ErrorKind::PermissionDenied => StorageErrorKind::Denied,
        _ => StorageErrorKind::Other,
    };
    StorageError::new(kind, "read", path.display().to_string(), error)
}

impl Bucket {
    pub(super) async fn put_parts(
        &self,
        key: &str,
        source: &UploadSource,
        options: PutOptions,
    ) -> Result<(), StorageError> {
        let full = self.full(key)?;
        let created = self
            .client
            .create_multipart_upload()
            .bucket(&self.name)
            .key(&full)
            .set_content_type(options.content_type.map(str::to_owned))
            .set_cache_control(options.cache_control.map(str::to_owned))
            .set_content_encoding(options.content_encoding.map(str::to_owned))
            .send()
            .await
            .map_err(|error| sdk_error::from_sdk("write", &self.place(key), &error))?;
        let mut upload = Upload {
            client: self.client.clone(),
            bucket: self.name.clone(),
            key: full,
            id: created.upload_id.unwrap_or_default(),
            open: true,
        };
        let sent = self.send_parts(key, source, &upload).await;
        if sent.is_err() {
            upload.abort().await;
        }
        upload.open = false;
        sent
    }

    async fn send_parts(
        &self,
        key: &str,
        source: &UploadSource,
        upload: &Upload,
    ) -> Result<(), StorageError> {
        let part_bytes = PART_BYTES.max(source.length().div_ceil(MAX_PARTS));
        let count = source.length().div_ceil(part_bytes);
        let parts: Vec<CompletedPart> = stream::iter(0..count)
            .map(|index| {
                let start = index.saturating_mul(part_bytes);
                let end = start.saturating_add(part_bytes).min(source.length());
                self.send_part(key, source, upload, index, start..end)
            })
            .buffered(PARTS_IN_FLIGHT)
            .try_collect()
            .await?;
        let whole = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
        self.client
            .complete_multipart_upload()
            .bucket(&upload.bucket)
            .key(&upload.key)
            .upload_id(&upload.id)
            .multipart_upload(whole)
            .send()
            .await
            .map_err(|error| sdk_error::from_sdk("write", &self.place(key), &error))?;
        Ok(())
    }

    async fn send_part(
        &self,
        key: &str,
        source: &UploadSource,
        upload: &Upload,
        index: u64,
        range: Range<u64>,
    ) -> Result<CompletedPart, StorageError> {
        // There are at most MAX_PARTS parts, so the number always fits.
        let number = i32::try_from(index.saturating_add(1)).unwrap_or(i32::MAX);
        let bytes = source.read(range).await?;
        let sent = self
            .client
            .upload_part()
            .bucket(&upload.bucket)
            .key(&upload.key)
            .upload_id(&upload.id)
            .part_number(number)
            .body(bytes.into())
            .send()
            .await
            .map_err(|error| sdk_error::from_sdk("write", &self.place(key), &error))?;
        // If the SDK added a checksum to a part, S3 requires the checksum again when the upload is
        // completed.
        Ok(CompletedPart::builder()
            .part_number(number)
            .set_e_tag(sent.e_tag)
            .set_checksum_crc32(sent.checksum_crc32)
            .set_checksum_crc64_nvme(sent.checksum_crc64_nvme)
            .build())
    }
}

#[derive(Debug)]
struct Upload {
    client: Client,
    bucket: String,
    key: String,
    id: String,
    open: bool,
}

impl Upload {
    async fn abort(&self) {
        let sent = self
            .client
            .abort_multipart_upload()
            .bucket(&self.bucket)
            .key(&self.key)
            .upload_id(&self.id)
            .send()
            .await;
        if let Err(error) = sent {
            let place = format!("s3://{}/{}", self.bucket, self.key);
            let error = sdk_error::from_sdk("abort the upload of", &place, &error);
            tracing::warn!(%error, "cannot abort the upload; a lifecycle rule will remove it");
        }
    }
}

impl Drop for Upload {
    /// Aborts the upload in the background if the caller stopped waiting.
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.open {
            let abandoned = Self {
                client: self.client.clone(),
                bucket: std::mem::take(&mut self.bucket),
                key: std::mem::take(&mut self.key),
                id: std::mem::take(&mut self.id),
                open: false,
            };
            runtime.spawn(async move { abandoned.abort().await });
        }
    }
}
