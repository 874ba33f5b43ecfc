//! Maps AWS error codes to storage errors, with advice for the operator.

use crate::error::{ACCESS_DENIED, StorageError, StorageErrorKind};

pub(crate) const CONDITIONAL_CONFLICT: &str = "ConditionalRequestConflict";

pub(crate) fn no_credentials(action: &'static str, place: &str) -> StorageError {
    StorageError::new(
        StorageErrorKind::Denied,
        action,
        place,
        "no AWS credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a \
         profile or an instance role, or open the store without credentials if it is public",
    )
}

/// Uses only the status if there is no code, as in responses to HEAD.
pub(crate) fn from_code(
    action: &'static str,
    place: &str,
    code: &str,
    status: Option<u16>,
    message: &str,
) -> StorageError {
    use StorageErrorKind as Kind;
    let (kind, remedy) = match code {
        "NoSuchKey" => (Kind::NotFound, ""),
        "NoSuchBucket" => {
            (Kind::Invalid, "; the bucket does not exist, create it or correct the URL")
        }
        "SignatureDoesNotMatch" => (Kind::Denied, "; the secret key is wrong"),
        "InvalidAccessKeyId" => (Kind::Denied, "; the access key is unknown there"),
        "ExpiredToken" | "TokenRefreshRequired" => {
            (Kind::Denied, "; the session has expired, sign in again")
        }
        "RequestTimeTooSkewed" => (Kind::Denied, "; correct this host's clock"),
        ACCESS_DENIED | "AllAccessDisabled" => (
            Kind::Denied,
            "; grant this key access (S3 also reports a missing object like this to a key that \
             may not list the bucket)",
        ),
        "PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraint" => {
            (Kind::Invalid, "; the bucket is in another region, set AWS_REGION")
        }
        "InvalidBucketName" => (Kind::Invalid, "; correct the bucket's name in the URL"),
        "QuotaExceeded" | "XMinioStorageFull" | "XMinioAdminBucketQuotaExceeded" => {
            (Kind::NoSpace, "; free some space there or raise the quota")
        }
        "SlowDown" | "InternalError" | "ServiceUnavailable" | "RequestTimeout"
        | CONDITIONAL_CONFLICT => (Kind::Unreachable, "; try again later"),
        "PreconditionFailed" => (Kind::PreconditionFailed, ""),
        _ => match status {
            Some(404) => (Kind::NotFound, ""),
            Some(401 | 403) => (Kind::Denied, "; check the credentials and their rights"),
            Some(301 | 307) => (Kind::Invalid, "; the bucket is elsewhere, set AWS_REGION"),
            Some(412) => (Kind::PreconditionFailed, ""),
            Some(507) => (Kind::NoSpace, "; free some space there"),
            Some(429 | 500 | 502..=504 | 508..=599) => (Kind::Unreachable, "; try again later"),
            Some(400 | 405 | 411 | 416) => (Kind::Invalid, ""),
            _ => (Kind::Other, ""),
        },
    };
    let status = status.map(|status| format!("status {status}")).unwrap_or_default();
    let facts: Vec<&str> =
        [code, &status, message].into_iter().filter(|fact| !fact.is_empty()).collect();
    let facts: String = facts.join(", ").chars().take(300).collect();
    let error = StorageError::new(kind, action, place, format!("{facts}{remedy}"));
    if kind == Kind::Unreachable { error.demanding_less() } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_code_has_its_kind_and_remedy() {
        use StorageErrorKind as Kind;
        for (code, status, kind, remedy) in [
            ("NoSuchKey", 404, Kind::NotFound, ""),
            ("NoSuchBucket", 404, Kind::Invalid, "create it"),
            ("SignatureDoesNotMatch", 403, Kind::Denied, "secret key is wrong"),
            ("AccessDenied", 403, Kind::Denied, "grant"),
            ("", 403, Kind::Denied, "credentials"),
            ("PermanentRedirect", 301, Kind::Invalid, "AWS_REGION"),
            ("XMinioStorageFull", 507, Kind::NoSpace, "free"),
            ("SlowDown", 503, Kind::Unreachable, "later"),
            ("", 429, Kind::Unreachable, "later"),
            ("NotImplemented", 501, Kind::Other, ""),
        ] {
            let error = from_code("write", "s3://b/k", code, Some(status), "");
            assert_eq!(error.kind(), kind, "{code} {status}");
            assert!(error.to_string().contains(remedy), "{error}");
            assert!(error.to_string().starts_with("cannot write s3://b/k: "), "{error}");
        }
    }
}
