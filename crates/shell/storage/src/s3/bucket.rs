//! A bucket and a prefix: the client, and the names of the objects.

use aws_sdk_s3::Client;

use crate::{error::StorageError, key::check_key};

#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pub(super) client: Client,
    pub(super) name: String,
    /// Empty, or ends with a slash.
    pub(super) prefix: String,
    pub(super) url: String,
    pub(super) max_attempts: u32,
    pub(super) max_get_bytes: u64,
}

impl Bucket {
    pub(super) fn full(&self, key: &str) -> Result<String, StorageError> {
        check_key(&self.url, key)?;
        let full = format!("{}{key}", self.prefix);
        check_key(&self.url, &full)?;
        Ok(full)
    }

    pub(super) fn place(&self, key: &str) -> String {
        format!("{}/{key}", self.url)
    }
}
