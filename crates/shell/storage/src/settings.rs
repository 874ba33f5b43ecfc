//! A store's settings: limits, timeouts, credentials.

use std::{fmt, sync::Arc, time::Duration};

use crate::adaptive_rate::AdaptiveRate;

/// The default User-Agent: the program's name and version.
pub const PRODUCT: &str = concat!("everytab/", env!("CARGO_PKG_VERSION"));

/// An AWS key pair.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey {
    /// The access key id, which is not secret.
    pub id: String,
    /// The secret access key. `Debug` does not print it.
    pub secret: String,
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AccessKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Settings for AWS APIs. By default, the SDK's chain of environment, profile and instance applies.
#[derive(Clone, Debug, Default)]
pub struct AwsSettings {
    /// The API's endpoint.
    pub endpoint: Option<String>,
    /// The region. Ignored for a service without regions.
    pub region: Option<String>,
    /// The keys.
    pub access_key: Option<AccessKey>,
}

/// A store's settings.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// Whether requests to S3 are unsigned, for public buckets.
    pub no_credentials: bool,
    /// S3 keys. If `None`, the SDK's chain is used.
    pub access_key: Option<AccessKey>,
    /// S3 endpoint. If `None`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` or the profile sets it.
    pub endpoint: Option<String>,
    /// S3 region. If `None`, the SDK's chain sets it, with us-east-1 as the default.
    pub region: Option<String>,
    /// Additional trusted certificates for `https://` stores, in PEM.
    pub extra_certificates_pem: Option<Vec<u8>>,
    /// The User-Agent of every request: the program and a contact.
    pub user_agent: String,
    /// The rate that limits reads from a remote store, including retries.
    pub rate: Option<Arc<AdaptiveRate>>,
    /// Maximum attempts per request, including the first. Without `rate`, a range from S3 gets one
    /// more.
    pub max_attempts: u32,
    /// Maximum time for connecting.
    pub connect_timeout: Duration,
    /// Maximum time without receiving a byte.
    pub idle_timeout: Duration,
    /// Maximum time for one attempt of a request, including the body. This suffices for 16 MiB at 1
    /// Mbit/s.
    pub attempt_timeout: Duration,
    /// Maximum bytes that one `get` or `get_range` returns. Longer objects must be read in ranges.
    pub max_get_bytes: u64,
    /// Whether a write to a directory store waits for the disk (fsync).
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
            user_agent: PRODUCT.to_owned(),
            rate: None,
            max_attempts: 6,
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(30),
            attempt_timeout: Duration::from_secs(150),
            max_get_bytes: 256 << 20,
            durable: true,
        }
    }
}
