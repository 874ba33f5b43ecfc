//! Replaces the CDN call in a program that is built without the feature `cdn`.

use crate::{
    AwsSettings,
    error::{StorageError, StorageErrorKind},
};

/// Fails.
///
/// # Errors
/// Always returns an error, because this program cannot call CloudFront.
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
