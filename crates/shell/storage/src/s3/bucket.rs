//! A bucket and a prefix: the client, and the names of the objects.

use aws_sdk_s3::Client;

use crate::{error::StorageError, key::check_key};

/// A bucket with a prefix.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pub(super) client: Client,
    pub(super) name: String,
    /// The prefix, which is empty or ends with a slash.
    pub(super) prefix: String,
    /// Bucket and prefix as `s3://bucket/prefix`.
    pub(super) url: String,
    /// Maximum attempts of a read whose body is truncated.
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

    /// Returns an object's URL for error messages.
    pub(super) fn place(&self, key: &str) -> String {
        format!("{}/{key}", self.url)
    }
}
