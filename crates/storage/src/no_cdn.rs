//! The CDN in a program that was built without the feature `cdn`: every invalidation is refused.

use crate::{
    AwsSettings,
    error::{StorageError, StorageErrorKind},
};

/// Refuses.
///
/// # Errors
/// Always: this program cannot ask CloudFront.
pub async fn invalidate(
    distribution_id: &str,
    _paths: &[String],
    _caller_reference: &str,
    _settings: &AwsSettings,
) -> Result<String, StorageError> {
    Err(StorageError::new(
        StorageErrorKind::Invalid,
        "invalidate",
        format!("CloudFront distribution {distribution_id}"),
        "this program was built without the feature `cdn`",
    ))
}
