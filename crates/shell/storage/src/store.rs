//! The trait that every store implements, with its parameters and results.
//!
//! A call has the same result on every store that supports it. The conformance suite in `tests/`
//! checks this for the directory and S3.

use std::{fmt, ops::Range, path::Path};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{TryStreamExt, stream::BoxStream};

use crate::error::{StorageError, StorageErrorKind};

/// An object's properties without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// The object's name inside the store, without the store's prefix.
    pub key: String,
    /// The length in bytes.
    pub size: u64,
    /// An opaque version. `None` if the store lists objects without versions.
    pub etag: Option<String>,
}

/// An object's bytes with their version, for a later [`Store::put_if`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// The whole object.
    pub bytes: Bytes,
    /// The version of exactly these bytes.
    pub etag: String,
}

/// An old version of an overwritten or deleted object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldVersion {
    /// The object's name inside the store, without the store's prefix.
    pub key: String,
    /// The version's opaque id.
    pub version: String,
    /// The length in bytes.
    pub size: u64,
}

/// HTTP headers that are stored with an object. A directory does not store them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PutOptions {
    /// `Content-Type`.
    pub content_type: Option<&'static str>,
    /// `Cache-Control`.
    pub cache_control: Option<&'static str>,
    /// `Content-Encoding`, if the bytes are already compressed.
    pub content_encoding: Option<&'static str>,
}

impl PutOptions {
    /// Returns the headers for an object without compression.
    pub fn new(content_type: &'static str, cache_control: &'static str) -> Self {
        Self {
            content_type: Some(content_type),
            cache_control: Some(cache_control),
            content_encoding: None,
        }
    }
}

/// The condition under which [`Store::put_if`] writes an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// No object has this name.
    Absent,
    /// The object still has this version, as returned by [`Store::get_tagged`].
    Etag(String),
}

/// Result of [`Store::put_if`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum PutIf {
    /// The object was written.
    Stored {
        /// The object's new version.
        etag: String,
    },
    /// The condition did not hold, so nothing was written. A remote store may also return this
    /// after it wrote the object, if the first response was lost and the request was retried.
    PreconditionFailed,
}

/// Objects by name. Keys are relative, `/`-separated, without empty, `.` or `..` segments.
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync {
    /// Returns the store's URL in the form that an operator uses.
    fn url(&self) -> &str;

    /// Returns size and version. `None` if the object or the S3 bucket does not exist, because a
    /// response to HEAD does not distinguish these cases.
    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StorageError>;

    /// Returns the whole object, up to `StoreSettings::max_get_bytes`. If the object is missing,
    /// returns an error of kind `NotFound`.
    async fn get(&self, key: &str) -> Result<Bytes, StorageError>;

    /// Returns the whole object with its version. `None` if it does not exist.
    async fn get_tagged(&self, key: &str) -> Result<Option<Tagged>, StorageError>;

    /// Returns the bytes `range.start..range.end`, cut at the object's end. If the range starts at
    /// or past the end, returns an error of kind `Invalid`, unless the range is empty.
    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StorageError>;

    /// Checks that the store exists and accepts reads. The object need not exist.
    async fn check(&self, key: &str) -> Result<(), StorageError> {
        none_if_missing(self.get_range(key, 0..1).await).map(drop)
    }

    /// Writes or replaces an object, atomically.
    async fn put(&self, key: &str, bytes: Bytes, options: PutOptions) -> Result<(), StorageError>;

    /// Works like [`Store::put`], but reads a file in bounded memory. The file must not change
    /// during the call.
    async fn put_file(
        &self,
        key: &str,
        file: &Path,
        options: PutOptions,
    ) -> Result<(), StorageError>;

    /// Atomically checks the condition and writes the object if it holds.
    async fn put_if(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        options: PutOptions,
    ) -> Result<PutIf, StorageError>;

    /// Lists all objects with keys that start with `prefix` (a plain string, so `scans/1` includes
    /// `scans/12/a`; end it with `/` for a directory), in byte order of their keys.
    fn list(&self, prefix: &str) -> BoxStream<'static, Result<ObjectInfo, StorageError>>;

    /// Removes objects. Ignores missing ones.
    async fn delete(&self, keys: &[String]) -> Result<(), StorageError>;

    /// Returns the old versions of all objects with keys that start with `prefix`, including
    /// deleted objects. Takes about 200 bytes of memory per version.
    async fn old_versions(&self, prefix: &str) -> Result<Vec<OldVersion>, StorageError> {
        let _ = prefix;
        Ok(Vec::new())
    }

    /// Returns an old version's bytes, up to `StoreSettings::max_get_bytes`.
    async fn get_version(&self, old: &OldVersion) -> Result<Bytes, StorageError> {
        Err(keeps_no_versions(self.url(), &old.key))
    }

    /// Removes old versions permanently. Ignores missing ones.
    async fn delete_versions(&self, old: &[OldVersion]) -> Result<(), StorageError> {
        match old.first() {
            None => Ok(()),
            Some(old) => Err(keeps_no_versions(self.url(), &old.key)),
        }
    }

    /// Returns the prefixes directly below `prefix`, in byte order. All prefixes end with a slash.
    async fn list_folders(&self, prefix: &str) -> Result<Vec<String>, StorageError> {
        let mut objects = self.list(prefix);
        let mut folders: Vec<String> = Vec::new();
        while let Some(object) = objects.try_next().await? {
            let rest = object.key.strip_prefix(prefix).unwrap_or_default();
            let Some((folder, _)) = rest.split_once('/') else { continue };
            let folder = format!("{prefix}{folder}/");
            if folders.last() != Some(&folder) {
                folders.push(folder);
            }
        }
        Ok(folders)
    }

    /// Collects [`Store::list`], which takes about 100 bytes of memory per object.
    async fn list_all(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StorageError> {
        self.list(prefix).try_collect().await
    }
}

fn keeps_no_versions(url: &str, key: &str) -> StorageError {
    let cause = "this store keeps no old versions";
    StorageError::new(StorageErrorKind::Invalid, "read", format!("{url}/{key}"), cause)
}

pub(crate) fn none_if_missing<T>(
    result: Result<T, StorageError>,
) -> Result<Option<T>, StorageError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn range_length(
    place: &str,
    range: &Range<u64>,
    most: u64,
) -> Result<u64, StorageError> {
    let Some(length) = range.end.checked_sub(range.start) else {
        return Err(StorageError::new(
            StorageErrorKind::Invalid,
            "read",
            place,
            format!("the range {}..{} ends before it starts", range.start, range.end),
        ));
    };
    if length > most { Err(too_large(place, length, most)) } else { Ok(length) }
}

pub(crate) fn starts_past_the_end(place: &str, range: &Range<u64>) -> StorageError {
    StorageError::new(
        StorageErrorKind::Invalid,
        "read",
        place,
        format!("the range {}..{} starts at or past its end", range.start, range.end),
    )
}

pub(crate) fn too_large(place: &str, size: u64, most: u64) -> StorageError {
    StorageError::new(
        StorageErrorKind::Invalid,
        "read",
        place,
        format!("{size} bytes are more than the {most} read in one piece; read it in ranges"),
    )
}
