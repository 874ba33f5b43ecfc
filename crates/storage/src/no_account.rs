//! The account in a program that was built without the feature `cdn`: nothing is asked.

use crate::{
    AwsSettings,
    error::{StorageError, StorageErrorKind},
};

/// Who the credentials are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The account's number, 12 digits.
    pub account: String,
    /// The region whose endpoint was asked.
    pub region: String,
}

/// Refuses.
///
/// # Errors
/// Always: this program cannot ask STS.
pub async fn caller(_settings: &AwsSettings) -> Result<Caller, StorageError> {
    Err(refusal("STS for the account"))
}

/// Refuses.
///
/// # Errors
/// Always: this program cannot ask Service Quotas.
pub async fn quota(
    service: &str,
    quota: &str,
    _settings: &AwsSettings,
) -> Result<f64, StorageError> {
    Err(refusal(&format!("quota {quota} of {service}")))
}

fn refusal(place: &str) -> StorageError {
    let cause = "this program was built without the feature `cdn`";
    StorageError::new(StorageErrorKind::Invalid, "ask", place, cause)
}
