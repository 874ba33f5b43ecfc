//! Replaces the account calls in a program that is built without the feature `cdn`.

use crate::{
    AwsSettings,
    error::{StorageError, StorageErrorKind},
};

/// The identity behind the credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The 12-digit account id.
    pub account: String,
    /// The region that requests are sent to.
    pub region: String,
}

/// Fails.
///
/// # Errors
/// Always returns an error, because this program cannot call STS.
pub async fn caller(_settings: &AwsSettings) -> Result<Caller, StorageError> {
    Err(rejection("STS for the account"))
}

/// Fails.
///
/// # Errors
/// Always returns an error, because this program cannot call Service Quotas.
pub async fn quota(
    service: &str,
    quota: &str,
    _settings: &AwsSettings,
) -> Result<f64, StorageError> {
    Err(rejection(&format!("quota {quota} of {service}")))
}

fn rejection(place: &str) -> StorageError {
    let cause = "this program was built without the feature `cdn`";
    StorageError::new(StorageErrorKind::Invalid, "query", place, cause)
}
