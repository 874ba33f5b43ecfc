//! A bucket and a prefix in it: the client, and the names of its objects.

use aws_sdk_s3::Client;

use crate::{error::StorageError, key::check_key};

/// A bucket below a prefix.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pub(super) client: Client,
    pub(super) name: String,
    /// Empty, or ending with a slash.
    pub(super) prefix: String,
    /// Bucket and prefix as `s3://bucket/prefix`.
    pub(super) url: String,
    /// Maximum attempts for a truncated body.
    pub(super) max_attempts: u32,
    /// Maximum bytes that one read returns.
    pub(super) max_get_bytes: u64,
}

impl Bucket {
    /// Returns the name of an object in the bucket, including the prefix.
    pub(super) fn full(&self, key: &str) -> Result<String, StorageError> {
        check_key(&self.url, key)?;
        let full = format!("{}{key}", self.prefix);
        check_key(&self.url, &full)?;
        Ok(full)
    }

    /// Returns the URL of an object, as errors show it.
    pub(super) fn place(&self, key: &str) -> String {
        format!("{}/{key}", self.url)
    }
}
