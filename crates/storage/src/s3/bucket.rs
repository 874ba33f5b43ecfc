//! A bucket and a prefix in it: how to ask for it, and how its objects are called.

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
    /// Most tries of a body that breaks off.
    pub(super) max_attempts: u32,
    /// Most bytes that one read returns.
    pub(super) max_get_bytes: u64,
}

impl Bucket {
    /// The name of an object in the bucket, prefix included.
    pub(super) fn full(&self, key: &str) -> Result<String, StorageError> {
        check_key(&self.url, key)?;
        let full = format!("{}{key}", self.prefix);
        check_key(&self.url, &full)?;
        Ok(full)
    }

    /// The URL of an object, as errors show it.
    pub(super) fn place(&self, key: &str) -> String {
        format!("{}/{key}", self.url)
    }
}
