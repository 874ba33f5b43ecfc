//! Telling a CDN (CloudFront) to forget paths. Owns nothing but that call: who publishes decides
//! which paths and when.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region};
use aws_sdk_cloudfront::Client;
use aws_sdk_cloudfront::config::Credentials;
use aws_sdk_cloudfront::error::ProvideErrorMetadata;
use aws_sdk_cloudfront::types::{InvalidationBatch, Paths};

use crate::s3::faults;
use crate::{AccessKey, StorageError, StorageErrorKind};

/// Where the CDN's API is and who asks. The default takes the SDK's chain: the environment
/// (`AWS_ENDPOINT_URL_CLOUDFRONT`, `AWS_ENDPOINT_URL`, keys), the profile, the instance.
#[derive(Clone, Debug, Default)]
pub struct CdnSettings {
    /// In place of Amazon's endpoint.
    pub endpoint: Option<String>,
    /// In place of the chain's credentials.
    pub access_key: Option<AccessKey>,
}

/// Invalidates `paths` (each begins with `/`, may end with `*`, percent-encoded) and gives the id
/// of the invalidation. `caller_reference` makes it idempotent: the same reference with the same
/// paths starts no second one. Returns when CloudFront has accepted it, not when it is done.
pub async fn invalidate(
    distribution_id: &str,
    paths: &[String],
    caller_reference: &str,
    settings: &CdnSettings,
) -> Result<String, StorageError> {
    let place = format!("CloudFront distribution {distribution_id}");
    let invalid =
        |cause: &str| StorageError::new(StorageErrorKind::Invalid, "invalidate", &place, cause);
    let well_formed = |id: &str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric());
    if !well_formed(distribution_id) {
        return Err(invalid("its id must be letters and digits, such as E2QWRUHAPOMQZL"));
    }
    if paths.is_empty() || paths.iter().any(|path| !path.starts_with('/')) {
        return Err(invalid("each path must begin with a slash, and there must be one"));
    }
    let quantity = i32::try_from(paths.len()).map_err(|_| invalid("there are too many paths"))?;
    let batch = Paths::builder()
        .quantity(quantity)
        .set_items(Some(paths.to_vec()))
        .build()
        .and_then(|paths| {
            InvalidationBatch::builder().paths(paths).caller_reference(caller_reference).build()
        })
        .map_err(|error| invalid(&error.to_string()))?;
    let sent = client(settings)
        .await
        .create_invalidation()
        .distribution_id(distribution_id)
        .invalidation_batch(batch)
        .send()
        .await;
    match sent {
        Ok(output) => Ok(output.invalidation.map(|made| made.id).unwrap_or_default()),
        Err(error) => {
            let (kind, remedy) = match error.code().unwrap_or_default() {
                "NoSuchDistribution" => {
                    (StorageErrorKind::Invalid, "there is no such distribution; correct its id")
                }
                "TooManyInvalidationsInProgress" => (
                    StorageErrorKind::Unreachable,
                    "too many invalidations are in progress; try again in some minutes",
                ),
                _ => return Err(faults::from_sdk("invalidate", &place, &error)),
            };
            Err(StorageError::new(kind, "invalidate", &place, remedy))
        }
    }
}

async fn client(settings: &CdnSettings) -> Client {
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        // CloudFront is global and signs for this region.
        .region(Region::from_static("us-east-1"))
        .retry_config(RetryConfig::standard().with_max_attempts(5))
        .timeout_config(
            TimeoutConfig::builder()
                .connect_timeout(Duration::from_secs(5))
                .operation_attempt_timeout(Duration::from_secs(30))
                .build(),
        );
    if let Some(endpoint) = &settings.endpoint {
        loader = loader.endpoint_url(endpoint);
    }
    if let Some(pair) = &settings.access_key {
        let credentials = Credentials::new(&pair.id, &pair.secret, None, None, "everytab");
        loader = loader.credentials_provider(credentials);
    }
    Client::new(&loader.load().await)
}
