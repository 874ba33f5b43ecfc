//! What an S3 error code or a failed request means for a store, and what a person can do.

use std::error::Error;

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};

use crate::error::describe;
use crate::{StorageError, StorageErrorKind};

/// S3's answer to a conditional put that ran beside another one.
pub(super) const CONDITIONAL_CONFLICT: &str = "ConditionalRequestConflict";

/// Whether a conditional put lost: 412, the conflict above after all retries, or 404 where the
/// object to be replaced is gone.
pub(super) fn is_precondition<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> bool {
    let status = error.raw_response().map(|response| response.status().as_u16());
    let code = error.code().unwrap_or_default();
    status == Some(412)
        || matches!(code, "PreconditionFailed" | "NoSuchKey")
        || code == CONDITIONAL_CONFLICT
}

/// Classifies a failed call.
pub(crate) fn from_sdk<E>(
    action: &'static str,
    place: &str,
    error: &SdkError<E, HttpResponse>,
) -> StorageError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let unreachable =
        |cause: String| StorageError::new(StorageErrorKind::Unreachable, action, place, cause);
    match error {
        SdkError::TimeoutError(_) => unreachable("no answer in time; try again".to_owned()),
        SdkError::DispatchFailure(failure) if failure.is_timeout() => {
            unreachable("no connection in time; check the endpoint and the network".to_owned())
        }
        SdkError::DispatchFailure(failure) => {
            let cause = failure.as_connector_error().map(|cause| describe(cause));
            let cause = cause.unwrap_or_default();
            // Credentials are looked up while dispatching, so their absence surfaces here.
            if cause.contains("credential") {
                return no_credentials(action, place);
            }
            unreachable(format!("{cause}; check the endpoint and the network"))
        }
        SdkError::ConstructionFailure(_) if describe(error).contains("credential") => {
            no_credentials(action, place)
        }
        SdkError::ServiceError(context) => {
            let status = context.raw().status().as_u16();
            let message = error.message().unwrap_or_default();
            from_code(action, place, error.code().unwrap_or_default(), Some(status), message)
        }
        SdkError::ResponseError(context) => {
            let status = context.raw().status().as_u16();
            let message = format!("the answer was not S3's: {}", describe(error));
            from_code(action, place, "", Some(status), &message)
        }
        _ => StorageError::new(StorageErrorKind::Invalid, action, place, describe(error)),
    }
}

fn no_credentials(action: &'static str, place: &str) -> StorageError {
    StorageError::new(
        StorageErrorKind::Denied,
        action,
        place,
        "no AWS credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a \
         profile or an instance role, or open the store without credentials if it is public",
    )
}

/// Classifies an error code of S3, or the bare status where there is none (answers to HEAD).
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
        "RequestTimeTooSkewed" => (Kind::Denied, "; set this machine's clock"),
        "AccessDenied" | "AllAccessDisabled" => (
            Kind::Denied,
            "; grant this key the right (S3 says the same of a missing object to one who may \
             not list the bucket)",
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
    StorageError::new(kind, action, place, format!("{facts}{remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_kind_and_its_remedy() {
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
