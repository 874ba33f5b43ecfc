//! The trait that every store implements, and its parameters and results.
//!
//! Invariant: a call has the same result on every store; the conformance suite in `tests/` checks
//! this for the directory and S3.

use std::{fmt, ops::Range, path::Path};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{TryStreamExt, stream::BoxStream};

use crate::error::{StorageError, StorageErrorKind};

/// An object's properties without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its name inside the store, without the store's own prefix.
    pub key: String,
    /// Its length in bytes.
    pub size: u64,
    /// Its opaque version. `None` if a store lists objects without it.
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

/// An old version of an object, which was overwritten or deleted and which the store keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldVersion {
    /// The object's name inside the store, without the store's own prefix.
    pub key: String,
    /// The version's opaque id.
    pub version: String,
    /// Its length in bytes.
    pub size: u64,
}

/// HTTP headers that are stored with an object. A directory does not keep them: the program that
/// serves it derives them from the names.
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

/// Result of [`Store::put_if`]. It is not an error if another writer was faster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum PutIf {
    /// The object was written and now has this version.
    Stored {
        /// The new version.
        etag: String,
    },
    /// The condition did not hold and nothing was written. Over a network, a store may also return
    /// this after it wrote the object, if its first response was lost. To find out, read the
    /// object.
    PreconditionFailed,
}

/// Objects by name. Keys are relative, `/`-separated, without empty, `.` or `..` segments.
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync {
    /// Returns the store's URL as an operator would write it; errors quote it.
    fn url(&self) -> &str;

    /// Returns size and version. `None` if the object does not exist, or if an S3 bucket does not
    /// exist, because a response to HEAD does not distinguish these cases.
    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StorageError>;

    /// Returns the whole object, which may have up to `StoreSettings::max_get_bytes`. A missing
    /// object is an error of the kind `NotFound`.
    async fn get(&self, key: &str) -> Result<Bytes, StorageError>;

    /// Returns the whole object with its version. `None` if it does not exist.
    async fn get_tagged(&self, key: &str) -> Result<Option<Tagged>, StorageError>;

    /// Returns the bytes `range.start..range.end`, cut at the object's end. An empty range yields
    /// no bytes and sends no request; a start at or past the end is an error with the kind
    /// `Invalid`.
    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StorageError>;

    /// Checks that the store exists and accepts reads, by reading the first byte of an object that
    /// need not exist.
    async fn check(&self, key: &str) -> Result<(), StorageError> {
        none_if_missing(self.get_range(key, 0..1).await).map(drop)
    }

    /// Writes or replaces an object, atomically.
    async fn put(&self, key: &str, bytes: Bytes, options: PutOptions) -> Result<(), StorageError>;

    /// Works like [`Store::put`], but reads a file, in bounded memory for any size. The file must
    /// not change during the call.
    async fn put_file(
        &self,
        key: &str,
        file: &Path,
        options: PutOptions,
    ) -> Result<(), StorageError>;

    /// Writes the object if the condition holds; no other write can happen between the two.
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

    /// Removes objects; missing ones are ignored.
    async fn delete(&self, keys: &[String]) -> Result<(), StorageError>;

    /// Returns the old versions of all objects with keys that start with `prefix`, including
    /// deleted ones. Takes about 200 bytes of memory per version. Empty if a store keeps none.
    async fn old_versions(&self, prefix: &str) -> Result<Vec<OldVersion>, StorageError> {
        let _ = prefix;
        Ok(Vec::new())
    }

    /// Returns an old version's bytes, up to the limit for [`Store::get`].
    async fn get_version(&self, old: &OldVersion) -> Result<Bytes, StorageError> {
        Err(keeps_no_versions(self.url(), &old.key))
    }

    /// Removes old versions permanently; missing ones are ignored.
    async fn delete_versions(&self, old: &[OldVersion]) -> Result<(), StorageError> {
        match old.first() {
            None => Ok(()),
            Some(old) => Err(keeps_no_versions(self.url(), &old.key)),
        }
    }

    /// Returns the prefixes directly below `prefix`, which ends with a slash. Each also ends with a
    /// slash; they are in byte order.
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

/// Converts the error for a missing object to `None`.
pub(crate) fn none_if_missing<T>(
    result: Result<T, StorageError>,
) -> Result<Option<T>, StorageError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a range's length, after checking it against the maximum bytes in memory.
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
