//! The CDN in a program that was built without the feature `cdn`: every invalidation is refused.

use crate::error::{StorageError, StorageErrorKind};

/// Nothing to set.
#[derive(Debug, Clone, Default)]
pub struct CdnSettings {}

/// Refuses.
///
/// # Errors
/// Always: this program cannot ask CloudFront.
pub async fn invalidate(
    distribution_id: &str,
    _paths: &[String],
    _caller_reference: &str,
    _settings: &CdnSettings,
) -> Result<String, StorageError> {
    Err(StorageError::new(
        StorageErrorKind::Invalid,
        "invalidate",
        &format!("CloudFront distribution {distribution_id}"),
        "this program was built without the feature `cdn`",
    ))
}
