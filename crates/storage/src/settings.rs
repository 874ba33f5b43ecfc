//! From a URL and settings to a store. Owns every limit of this crate and the forms of its URLs.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use crate::directory::Directory;
use crate::https::HttpsStore;
use crate::s3::S3Store;
use crate::{StorageError, StorageErrorKind, Store};

/// A key pair for S3, in place of the SDK's usual chain (environment, profile, instance).
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey {
    /// The public half.
    pub id: String,
    /// The private half; never printed.
    pub secret: String,
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AccessKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// How a store behaves. The default is right for production.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// S3 without signing, for public buckets.
    pub no_credentials: bool,
    /// S3 keys; `None` takes the SDK's chain.
    pub access_key: Option<AccessKey>,
    /// S3 endpoint; `None` takes `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` or the profile's.
    pub endpoint: Option<String>,
    /// S3 region; `None` takes the SDK's chain, then us-east-1.
    pub region: Option<String>,
    /// More certificates to trust for `https://` stores, PEM.
    pub extra_certificates_pem: Option<Vec<u8>>,
    /// Tries of one request in all, the first included; a range of S3 gets one more.
    pub max_attempts: u32,
    /// Time to a connection.
    pub connect_timeout: Duration,
    /// Time without a byte before a connection counts as broken.
    pub idle_timeout: Duration,
    /// Time for one try of one request, body included: 16 MiB at 1 Mbit/s.
    pub attempt_timeout: Duration,
    /// The longest object that `get` returns; longer ones are for `get_range`.
    pub max_get_bytes: u64,
    /// Whether a directory store waits for the disk (fsync) before a write counts as done.
    pub durable: bool,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            no_credentials: false,
            access_key: None,
            endpoint: None,
            region: None,
            extra_certificates_pem: None,
            max_attempts: 6,
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(30),
            attempt_timeout: Duration::from_secs(150),
            max_get_bytes: 256 << 20,
            durable: true,
        }
    }
}

/// Opens the store at `file:///path`, a bare path, `s3://bucket/prefix`, or, read-only,
/// `https://...` or `http://...`. Nothing is created and no network is touched yet, except that
/// the AWS SDK may look for a region.
pub async fn open(url: &str, settings: &StoreSettings) -> Result<Arc<dyn Store>, StorageError> {
    let Some((scheme, _)) = url.split_once("://") else {
        if url.is_empty() {
            return Err(refused(url, "it is empty; give a path or a URL"));
        }
        return Ok(Arc::new(Directory::open(PathBuf::from(url), settings)?));
    };
    let parsed = Url::parse(url).map_err(|error| refused(&without_secrets(url), error))?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(refused(
            &without_secrets(url),
            "it has a user name or password in it; remove them, and set AWS_ACCESS_KEY_ID and \
             AWS_SECRET_ACCESS_KEY for S3",
        ));
    }
    if parsed.query().is_some() || parsed.fragment().is_some() {
        return Err(refused(url, "it has a query or fragment; give scheme, host and path alone"));
    }
    match scheme.to_ascii_lowercase().as_str() {
        "file" => {
            let path = parsed.to_file_path().map_err(|()| {
                refused(url, "it names a host; write file:///path with three slashes")
            })?;
            Ok(Arc::new(Directory::open(path, settings)?))
        }
        "s3" => Ok(Arc::new(S3Store::open(&parsed, settings).await?)),
        "https" | "http" => Ok(Arc::new(HttpsStore::open(parsed, settings)?)),
        _ => Err(refused(url, "the scheme is unknown; use file://, s3://, https:// or a path")),
    }
}

/// The URL without what stands before an `@`, which may be a password.
fn without_secrets(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://***@{rest}"),
        _ => url.to_owned(),
    }
}

pub(crate) fn refused(url: &str, cause: impl fmt::Display) -> StorageError {
    StorageError::new(StorageErrorKind::Invalid, "open", url, cause)
}
