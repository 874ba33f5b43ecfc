//! How a store behaves: limits, timeouts, credentials.

use std::{fmt, sync::Arc, time::Duration};

use crate::pace::Pace;

/// The program's name and version, as the User-Agent says them.
pub const PRODUCT: &str = concat!("everytab/", env!("CARGO_PKG_VERSION"));

/// A key pair of AWS, in place of the SDK's usual chain (environment, profile, instance).
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey {
    /// The public half: the access key id.
    pub id: String,
    /// The private half; `Debug` does not print it.
    pub secret: String,
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AccessKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// How to reach APIs of AWS. The default takes the SDK's chain: the environment
/// (`AWS_ENDPOINT_URL_CLOUDFRONT`, `AWS_ENDPOINT_URL`, keys), the profile, the instance.
#[derive(Clone, Debug, Default)]
pub struct AwsSettings {
    /// Endpoint of the API, in place of Amazon's.
    pub endpoint: Option<String>,
    /// Region in place of the chain's; a service without regions does not ask for it.
    pub region: Option<String>,
    /// Keys in place of the chain's.
    pub access_key: Option<AccessKey>,
}

/// How a store behaves. The default suits production.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// True if S3 is asked without a signature, for public buckets.
    pub no_credentials: bool,
    /// S3 keys; `None` takes the SDK's chain.
    pub access_key: Option<AccessKey>,
    /// S3 endpoint; `None` takes `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` or the profile's.
    pub endpoint: Option<String>,
    /// S3 region; `None` takes the SDK's chain, then us-east-1.
    pub region: Option<String>,
    /// More certificates to trust for `https://` stores, PEM.
    pub extra_certificates_pem: Option<Vec<u8>>,
    /// The User-Agent of every request: the program, and whom to write to about its requests.
    pub user_agent: String,
    /// What every request to a remote store waits for, repeated ones included; without it, requests
    /// are sent when they come.
    pub pace: Option<Arc<Pace>>,
    /// Most tries of one request, the first included; a range of S3 gets one more.
    pub max_attempts: u32,
    /// Longest time to a connection.
    pub connect_timeout: Duration,
    /// Longest time without a byte before a connection counts as broken.
    pub idle_timeout: Duration,
    /// Longest time for one try of one request, body included: enough for 16 MiB at 1 Mbit/s.
    pub attempt_timeout: Duration,
    /// Most bytes that one `get` or `get_range` returns; longer objects are read in ranges.
    pub max_get_bytes: u64,
    /// True if a directory store waits for the disk (fsync) before a write counts as done.
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
            pace: None,
            max_attempts: 6,
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(30),
            attempt_timeout: Duration::from_secs(150),
            max_get_bytes: 256 << 20,
            durable: true,
        }
    }
}
