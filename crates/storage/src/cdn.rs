//! Invalidating paths of a CDN (CloudFront), so that it asks the site for them again.
//!
//! Owns that one call; the caller decides which paths and when. The request is signed by
//! `aws-sigv4` and sent by reqwest, because all of CloudFront's SDK would be compiled for it
//! (`docs/decisions/0033-cdn-without-its-sdk.md`). Credentials, profile and endpoint come from the
//! SDK's usual chain (`aws-config`).

mod request;
mod settings;

use std::time::Duration;

use reqwest::{Client, StatusCode, redirect::Policy};

use crate::{
    aws_error, backoff,
    error::{StorageError, StorageErrorKind, describe},
};
use request::{CdnAccount, element, invalidation_batch};

pub use settings::CdnSettings;

/// Tries of one invalidation: with their waits of up to 3 s they outlast a short overload.
const MAX_TRIES: u32 = 5;
/// Time to a connection to the API, which has one address for the whole world.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for one try, answer included.
const TRY_TIMEOUT: Duration = Duration::from_secs(30);
const ACTION: &str = "invalidate";

/// Why a try failed.
struct CdnFailure {
    error: StorageError,
    /// True if the same request may succeed in some seconds.
    is_transient: bool,
}

/// Invalidates `paths` (each begins with `/`, may end with `*`, percent-encoded) and returns the
/// id of the invalidation. `caller_reference` makes it idempotent: the same reference with the
/// same paths starts no second one. Returns when CloudFront has accepted it, not when it is done.
///
/// # Errors
/// When the distribution's id or a path is malformed, there are no credentials, or CloudFront
/// refuses or cannot be reached.
pub async fn invalidate(
    distribution_id: &str,
    paths: &[String],
    caller_reference: &str,
    settings: &CdnSettings,
) -> Result<String, StorageError> {
    let place = format!("CloudFront distribution {distribution_id}");
    let invalid = |cause: &str| StorageError::new(StorageErrorKind::Invalid, ACTION, &place, cause);
    let well_formed = |id: &str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric());
    if !well_formed(distribution_id) {
        return Err(invalid("its id must be letters and digits, such as E2QWRUHAPOMQZL"));
    }
    if paths.is_empty() || paths.iter().any(|path| !path.starts_with('/')) {
        return Err(invalid("each path must begin with a slash, and there must be one"));
    }
    let account = CdnAccount::load(settings).await;
    let account = account.ok_or_else(|| aws_error::no_credentials(ACTION, &place))?;
    let client = client().map_err(|error| invalid(&describe(&error)))?;
    let body = invalidation_batch(paths, caller_reference);
    let mut tries = 1;
    loop {
        let request = account.request(distribution_id, body.clone());
        let request = request.map_err(|cause| invalid(&cause))?;
        let mut sending = client.post(request.address).body(request.body);
        for (name, value) in request.headers {
            sending = sending.header(name, value);
        }
        match answer(&place, sending.send().await).await {
            Ok(id) => return Ok(id),
            Err(failed) if failed.is_transient && tries < MAX_TRIES => {
                tracing::debug!(error = %failed.error, tries, "asking the CDN again");
                tokio::time::sleep(backoff::jittered(tries)).await;
                tries += 1;
            }
            Err(failed) => return Err(failed.error),
        }
    }
}

fn client() -> reqwest::Result<Client> {
    Client::builder()
        .user_agent(concat!("everytab/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TRY_TIMEOUT)
        .redirect(Policy::none())
        .build()
}

/// The id of the invalidation, or why there is none.
async fn answer(
    place: &str,
    sent: reqwest::Result<reqwest::Response>,
) -> Result<String, CdnFailure> {
    let broken = |error: &reqwest::Error| {
        let cause = match error.is_timeout() {
            true => "no answer in time; try again".to_owned(),
            false => format!("{}; check the endpoint and the network", describe(error)),
        };
        let error = StorageError::new(StorageErrorKind::Unreachable, ACTION, place, cause);
        CdnFailure { error, is_transient: true }
    };
    let response = sent.map_err(|error| broken(&error))?;
    let status = response.status();
    let xml = response.text().await.map_err(|error| broken(&error))?;
    if status.is_success() {
        return Ok(element(&xml, "Id").unwrap_or_default().to_owned());
    }
    let is_transient = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    Err(CdnFailure { error: refusal(place, status, &xml), is_transient })
}

fn refusal(place: &str, status: StatusCode, xml: &str) -> StorageError {
    let (kind, remedy) = match element(xml, "Code").unwrap_or_default() {
        "NoSuchDistribution" => {
            (StorageErrorKind::Invalid, "there is no such distribution; correct its id")
        }
        "TooManyInvalidationsInProgress" => (
            StorageErrorKind::Unreachable,
            "too many invalidations are in progress; try again in some minutes",
        ),
        code => {
            let message = element(xml, "Message").unwrap_or_default();
            return aws_error::from_code(ACTION, place, code, Some(status.as_u16()), message);
        }
    };
    StorageError::new(kind, ACTION, place, remedy)
}
