//! Maps failed calls of the S3 SDK to storage errors, with advice for the operator.

use std::error::Error;

use aws_sdk_s3::{
    config::http::HttpResponse,
    error::{ProvideErrorMetadata, SdkError},
};

use crate::{
    aws_error::{CONDITIONAL_CONFLICT, from_code, no_credentials},
    error::{StorageError, StorageErrorKind, describe},
};

/// Returns true if the condition of a put did not hold. S3 reports this with status 412, with a
/// conflict after all retries, or with status 404 because the object to replace was removed.
pub(super) fn is_precondition<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> bool {
    let status = error.raw_response().map(|response| response.status().as_u16());
    let code = error.code().unwrap_or_default();
    status == Some(412)
        || matches!(code, "PreconditionFailed" | "NoSuchKey")
        || code == CONDITIONAL_CONFLICT
}

pub(super) fn from_sdk<E>(
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
        SdkError::TimeoutError(_) => unreachable("no response in time; try again".to_owned()),
        SdkError::DispatchFailure(failure) if failure.is_timeout() => {
            unreachable("no connection in time; check the endpoint and the network".to_owned())
        }
        SdkError::DispatchFailure(failure) => {
            let cause = failure.as_connector_error().map(|cause| describe(cause));
            let cause = cause.unwrap_or_default();
            // The SDK loads credentials while it sends the request.
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
            let message = format!("the response is not from S3: {}", describe(error));
            from_code(action, place, "", Some(status), &message)
        }
        _ => StorageError::new(StorageErrorKind::Invalid, action, place, describe(error)),
    }
}
