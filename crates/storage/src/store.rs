//! The trait that every store implements, and the values that pass through it.
//!
//! Invariants: the same call gives the same answer on every store; the conformance suite in
//! `tests/` holds the directory and S3 to that.

use std::{fmt, ops::Range, path::Path};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{TryStreamExt, stream::BoxStream};

use crate::error::{StorageError, StorageErrorKind};

/// An object without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its name inside the store, without the store's own prefix.
    pub key: String,
    /// Its length in bytes.
    pub size: u64,
    /// Its opaque version; `None` where a store lists objects without it.
    pub etag: Option<String>,
}

/// An object's bytes with the version they belong to, for a later [`Store::put_if`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// The whole object.
    pub bytes: Bytes,
    /// The version of exactly these bytes.
    pub etag: String,
}

/// A version of an object that is not its newest: it was overwritten or deleted, and the store
/// keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldVersion {
    /// The object's name inside the store, without the store's own prefix.
    pub key: String,
    /// The version's opaque id.
    pub version: String,
    /// Its length in bytes.
    pub size: u64,
}

/// HTTP headers to be stored with an object. A directory does not keep them: the program that
/// serves one derives them from the names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PutOptions {
    /// `Content-Type`.
    pub content_type: Option<&'static str>,
    /// `Cache-Control`.
    pub cache_control: Option<&'static str>,
    /// `Content-Encoding`, where the bytes are compressed already.
    pub content_encoding: Option<&'static str>,
}

impl PutOptions {
    /// Headers of an object whose bytes are not compressed.
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
    /// The object still has this version, as [`Store::get_tagged`] gave it.
    Etag(String),
}

/// How a [`Store::put_if`] ended. That another writer was faster is a result, not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum PutIf {
    /// The object was written and now has this version.
    Stored {
        /// The new version.
        etag: String,
    },
    /// The condition did not hold and nothing was written. Over a network, the store may also say
    /// so after it wrote the object, if its first answer was lost: read the object to know.
    PreconditionFailed,
}

/// Objects by name. Keys are relative, `/`-separated, without empty, `.` or `..` segments.
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync {
    /// Where the store is, as an operator would write it; errors quote it.
    fn url(&self) -> &str;

    /// Size and version, or `None` where there is no such object. For a missing bucket of S3 it is
    /// `None` too, because the answer to a HEAD request does not tell the difference.
    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StorageError>;

    /// The whole object, of at most `StoreSettings::max_get_bytes`. A missing object is an error of
    /// the kind `NotFound`.
    async fn get(&self, key: &str) -> Result<Bytes, StorageError>;

    /// The whole object with its version, or `None` where there is no such object.
    async fn get_tagged(&self, key: &str) -> Result<Option<Tagged>, StorageError>;

    /// The bytes `range.start..range.end`, cut short where the object ends. An empty range gives
    /// no bytes and sends no request; a start at or past the end is an error of the kind
    /// `Invalid`.
    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StorageError>;

    /// Checks that the store exists and accepts reads, by reading the first byte of an object that
    /// need not exist.
    async fn check(&self, key: &str) -> Result<(), StorageError> {
        none_if_missing(self.get_range(key, 0..1).await).map(drop)
    }

    /// Writes or replaces an object, atomically.
    async fn put(&self, key: &str, bytes: Bytes, options: PutOptions) -> Result<(), StorageError>;

    /// As [`Store::put`], from a file, in bounded memory whatever its size. The file must not
    /// change meanwhile.
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

    /// All objects whose key begins with `prefix` (plain text, so `scans/1` includes `scans/12/a`;
    /// end it with `/` for a folder), in byte order of their keys.
    fn list(&self, prefix: &str) -> BoxStream<'static, Result<ObjectInfo, StorageError>>;

    /// Removes objects; missing ones are no error.
    async fn delete(&self, keys: &[String]) -> Result<(), StorageError>;

    /// The old versions of all objects whose key begins with `prefix`, deleted ones included: about
    /// 200 bytes of memory a version. None where a store keeps none.
    async fn old_versions(&self, prefix: &str) -> Result<Vec<OldVersion>, StorageError> {
        let _ = prefix;
        Ok(Vec::new())
    }

    /// The bytes of an old version; the limit is that of [`Store::get`].
    async fn get_version(&self, old: &OldVersion) -> Result<Bytes, StorageError> {
        Err(keeps_no_versions(self.url(), &old.key))
    }

    /// Removes old versions for good; missing ones are no error.
    async fn delete_versions(&self, old: &[OldVersion]) -> Result<(), StorageError> {
        match old.first() {
            None => Ok(()),
            Some(old) => Err(keeps_no_versions(self.url(), &old.key)),
        }
    }

    /// The folders directly below `prefix`, which ends with a slash: each as a prefix that ends
    /// with a slash, in byte order.
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

    /// [`Store::list`], collected: about 100 bytes of memory an object.
    async fn list_all(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StorageError> {
        self.list(prefix).try_collect().await
    }
}

fn keeps_no_versions(url: &str, key: &str) -> StorageError {
    let cause = "this store keeps no old versions";
    StorageError::new(StorageErrorKind::Invalid, "read", format!("{url}/{key}"), cause)
}

/// `None` instead of the error that there is no such object.
pub(crate) fn none_if_missing<T>(
    result: Result<T, StorageError>,
) -> Result<Option<T>, StorageError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The length of a range, checked against the most bytes that may be held in memory.
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
