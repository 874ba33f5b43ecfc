//! Where a CDN's API is and who asks.

use crate::settings::AccessKey;

/// How to reach CloudFront's API. The default takes the SDK's chain: the environment
/// (`AWS_ENDPOINT_URL_CLOUDFRONT`, `AWS_ENDPOINT_URL`, keys), the profile, the instance.
#[derive(Clone, Debug, Default)]
pub struct CdnSettings {
    /// Endpoint of the API, in place of Amazon's.
    pub endpoint: Option<String>,
    /// Keys in place of the chain's.
    pub access_key: Option<AccessKey>,
}
