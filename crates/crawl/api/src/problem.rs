//! The HTTP API's errors: problem documents (RFC 9457) with codes from a closed list.
//!
//! Invariants: every response that is not a success is a [`Problem`]. No error message from
//! Postgres reaches a client.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use everytab_coordinator::{ApiError, Error};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Seconds after which a client may retry while Postgres is unreachable.
const AWAY_RETRY_S: u64 = 5;
/// Maximum errors in a problem: one for each URL in a batch.
const MAX_ERRORS: usize = 10_000;
pub(crate) const PROBLEM_TYPE: &str = "application/problem+json";
const PROBLEM_URN: &str = "urn:everytab:problem:";

macro_rules! codes {
    ($($code:ident = $text:literal $status:ident $title:literal,)+) => {
        /// Why a request was rejected.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ProblemCode {
            $(#[doc = $title] $code,)+
        }

        impl ProblemCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$code),+];

            /// Returns the stable name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => $text,)+ }
            }

            /// Returns the HTTP status for this code.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$code => StatusCode::$status,)+ }
            }

            /// Returns the code's description.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$code => $title,)+ }
            }

            /// Returns the code with this name. `None` if there is none.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == name)
            }
        }
    };
}

codes! {
    InvalidJson = "invalid_json" BAD_REQUEST "The body is not valid JSON",
    UnknownField = "unknown_field" BAD_REQUEST "Unknown field or parameter",
    InvalidUrl = "invalid_url" BAD_REQUEST "The URL cannot be crawled",
    PortNotAllowed = "port_not_allowed" BAD_REQUEST "The key may not use the URL's port",
    InvalidSetting = "invalid_setting" BAD_REQUEST "A setting is out of bounds",
    InvalidCursor = "invalid_cursor" BAD_REQUEST "The cursor does not belong to this list",
    InvalidParameter = "invalid_parameter" BAD_REQUEST "A field or parameter has an invalid value",
    InvalidPattern = "invalid_pattern" BAD_REQUEST "A pattern cannot be used",
    TooManyUrls = "too_many_urls" BAD_REQUEST "The request has too many URLs",
    MalformedRequest = "malformed_request" BAD_REQUEST "The request is not valid HTTP",
    Unauthorized = "unauthorized" UNAUTHORIZED "The request has no valid key",
    NotAllowed = "not_allowed" FORBIDDEN "The operator's limits for this key do not allow this",
    NotFound = "not_found" NOT_FOUND "Not found",
    MethodNotAllowed = "method_not_allowed" METHOD_NOT_ALLOWED
        "The path does not support this method",
    IdempotencyMismatch = "idempotency_mismatch" CONFLICT
        "The Idempotency-Key belongs to another request",
    CrawlEnded = "crawl_ended" CONFLICT "The crawl has ended",
    CrawlOpen = "crawl_open" CONFLICT "The crawl has not ended",
    NameTaken = "name_taken" CONFLICT "The name is in use",
    WebhookDisabled = "webhook_disabled" CONFLICT "The webhook is disabled",
    BodyTooLarge = "body_too_large" PAYLOAD_TOO_LARGE "The body is too large",
    UriTooLong = "uri_too_long" URI_TOO_LONG "The URI of the request is too long",
    UnsupportedMediaType = "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE
        "The content type of the body is not supported",
    NothingToCrawl = "nothing_to_crawl" UNPROCESSABLE_ENTITY "The request has no URL to crawl",
    Throttled = "throttled" TOO_MANY_REQUESTS "The key sends requests too fast",
    QuotaUrls = "quota_urls" TOO_MANY_REQUESTS "The key has reached its daily URL quota",
    QuotaPages = "quota_pages" TOO_MANY_REQUESTS "The key has reached its daily page quota",
    QuotaBytes = "quota_bytes" TOO_MANY_REQUESTS "The key has reached its storage quota",
    QuotaCrawls = "quota_crawls" TOO_MANY_REQUESTS "The key has reached its limit of open crawls",
    TooManyWaiters = "too_many_waiters" TOO_MANY_REQUESTS "The key has too many waiting requests",
    HeadersTooLarge = "headers_too_large" REQUEST_HEADER_FIELDS_TOO_LARGE
        "The headers of the request are too large",
    Internal = "internal" INTERNAL_SERVER_ERROR "The service has an internal error",
    Unavailable = "unavailable" SERVICE_UNAVAILABLE "The service is temporarily unavailable",
}

/// One of several errors, for a line or a field.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ProblemItem {
    /// The line, or the position in a list, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The field's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The error's code.
    pub code: ProblemCode,
    /// What is wrong.
    pub detail: String,
}

/// A problem document.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemDocument {
    /// `urn:everytab:problem:` and the code.
    #[serde(rename = "type")]
    #[schema(format = "uri")]
    pub(crate) urn: String,
    /// The code's description.
    pub(crate) title: String,
    /// The HTTP status.
    pub(crate) status: u16,
    /// The code, from a closed list.
    pub(crate) code: ProblemCode,
    /// What is wrong with this request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// Errors in single lines or fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<ProblemItem>,
}

/// Time during which all the key's requests are rejected. The key checks read it from the
/// extensions of a 429 response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BusyFor(pub(crate) Duration);

/// A rejected request.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The code.
    pub code: ProblemCode,
    /// What is wrong, for a person.
    pub detail: Option<String>,
    /// Errors in single lines or fields.
    pub errors: Vec<ProblemItem>,
    /// Seconds after which the client may retry.
    pub retry_after_s: Option<u64>,
    /// Time until the key's bucket has room for even the cheapest request.
    pub(crate) busy_for: Option<BusyFor>,
}

impl Problem {
    /// Creates a problem without details.
    #[must_use]
    pub const fn new(code: ProblemCode) -> Self {
        Self { code, detail: None, errors: Vec::new(), retry_after_s: None, busy_for: None }
    }

    /// Creates a problem that says what is wrong.
    #[must_use]
    pub fn with(code: ProblemCode, detail: impl ToString) -> Self {
        Self { detail: Some(detail.to_string()), ..Self::new(code) }
    }

    /// Creates a temporary problem: the client may retry after this many seconds.
    #[must_use]
    pub fn unavailable(detail: impl ToString, seconds: u64) -> Self {
        Self { retry_after_s: Some(seconds), ..Self::with(ProblemCode::Unavailable, detail) }
    }

    /// Creates a problem for one field.
    #[must_use]
    pub fn of_field(code: ProblemCode, field: &str, detail: impl ToString) -> Self {
        let detail = detail.to_string();
        let field = Some(field.to_owned());
        let item = ProblemItem { line: None, field, code, detail: detail.clone() };
        Self { errors: vec![item], ..Self::with(code, detail) }
    }

    pub(crate) fn throttled(time: Duration) -> Self {
        let retry_after_s = Some(whole_seconds(time.as_secs_f64()));
        Self { retry_after_s, ..Self::new(ProblemCode::Throttled) }
    }

    /// Adds the errors in single lines or fields.
    #[must_use]
    pub fn listing(mut self, errors: Vec<ProblemItem>) -> Self {
        self.errors = errors;
        self.errors.truncate(MAX_ERRORS);
        self
    }

    /// Creates a problem from a code and details that Postgres returned.
    #[must_use]
    pub fn of_refusal(code: &str, detail: &Value) -> Self {
        let Some(code) = ProblemCode::parse(code) else {
            tracing::error!(code, "Postgres returned an unknown problem code");
            return Self::new(ProblemCode::Internal);
        };
        let seconds = detail.get("retry_after_s").and_then(Value::as_f64).map(whole_seconds);
        let retry_after_s = match code {
            ProblemCode::Throttled => Some(seconds.unwrap_or(1)),
            _ => seconds,
        };
        let free_after = detail.get("free_after_s").and_then(Value::as_f64);
        let busy_for = free_after.and_then(|time| Duration::try_from_secs_f64(time).ok());
        let busy_for = busy_for.map(BusyFor);
        let number = |name: &str| detail.get(name).and_then(Value::as_i64);
        let detail = match (number("used"), number("limit")) {
            (Some(used), Some(limit)) => Some(format!("{used} of {limit} are used")),
            (None, Some(limit)) => Some(format!("the limit is {limit}")),
            _ => detail.get("reason").and_then(Value::as_str).map(str::to_owned),
        };
        Self { detail, retry_after_s, busy_for, ..Self::new(code) }
    }

    pub(crate) fn body(self) -> Vec<u8> {
        serde_json::to_vec(&self.document()).unwrap_or_default()
    }

    fn document(self) -> ProblemDocument {
        let Self { code, detail, errors, .. } = self;
        let urn = format!("{PROBLEM_URN}{}", code.as_str());
        let title = code.title().to_owned();
        ProblemDocument { urn, title, status: code.status().as_u16(), code, detail, errors }
    }
}

fn whole_seconds(seconds: f64) -> u64 {
    // The cast saturates, and turns NaN into 0.
    (seconds.ceil() as u64).max(1)
}

impl From<Error> for Problem {
    /// Logs the message, and does not pass it on, because it may contain tables, values and hosts.
    fn from(error: Error) -> Self {
        if error.is_transient() {
            tracing::warn!(%error, "a call to Postgres failed temporarily");
            let retry_after_s = Some(AWAY_RETRY_S);
            return Self { retry_after_s, ..Self::new(ProblemCode::Unavailable) };
        }
        tracing::error!(%error, "a call to Postgres failed");
        Self::new(ProblemCode::Internal)
    }
}

impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Refused(refusal) => Self::of_refusal(&refusal.code, &refusal.detail),
            ApiError::Database(error) => error.into(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.code.status();
        let retry_after_s = self.retry_after_s;
        let code = self.code;
        let busy_for = self.busy_for;
        let mut response = Response::new(Body::from(self.body()));
        *response.status_mut() = status;
        if let Some(busy_for) = busy_for {
            response.extensions_mut().insert(busy_for);
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_TYPE));
        if code == ProblemCode::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_codes_are_a_closed_list_that_never_changes() {
        let list = ProblemCode::ALL.iter();
        let list: Vec<String> =
            list.map(|code| format!("{} {}", code.status().as_u16(), code.as_str())).collect();
        let expected = "400 invalid_json, 400 unknown_field, 400 invalid_url, \
            400 port_not_allowed, \
            400 invalid_setting, 400 invalid_cursor, 400 invalid_parameter, 400 invalid_pattern, \
            400 too_many_urls, 400 malformed_request, 401 unauthorized, 403 not_allowed, \
            404 not_found, 405 method_not_allowed, 409 idempotency_mismatch, 409 crawl_ended, \
            409 crawl_open, 409 name_taken, 409 webhook_disabled, 413 body_too_large, \
            414 uri_too_long, 415 unsupported_media_type, \
            422 nothing_to_crawl, 429 throttled, 429 quota_urls, 429 quota_pages, \
            429 quota_bytes, 429 quota_crawls, 429 too_many_waiters, 431 headers_too_large, \
            500 internal, 503 unavailable";
        assert_eq!(list.join(", "), expected);
        for code in ProblemCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), json!(code.as_str()));
            assert_eq!(ProblemCode::parse(code.as_str()), Some(*code));
        }
    }

    #[test]
    fn errors_from_postgres_have_a_code_and_a_retry_time() {
        let throttled = Problem::of_refusal("throttled", &json!({"retry_after_s": 0.2}));
        assert_eq!(throttled.retry_after_s, Some(1));
        assert_eq!(Problem::of_refusal("throttled", &Value::Null).retry_after_s, Some(1));
        assert_eq!(Problem::of_refusal("not_found", &Value::Null).retry_after_s, None);
        assert_eq!(Problem::of_refusal("what?", &Value::Null).code, ProblemCode::Internal);
        let huge = Problem::of_refusal("quota_urls", &json!({"retry_after_s": 1e300}));
        assert_eq!(huge.retry_after_s, Some(u64::MAX));
    }

    #[test]
    fn a_problem_document_follows_rfc_9457() {
        let problem = Problem::of_field(ProblemCode::InvalidUrl, "url", "no host");
        let document = serde_json::to_value(problem.clone().document()).unwrap();
        let expected = json!({
            "type": "urn:everytab:problem:invalid_url", "title": "The URL cannot be crawled",
            "status": 400, "code": "invalid_url", "detail": "no host",
            "errors": [{"field": "url", "code": "invalid_url", "detail": "no host"}],
        });
        assert_eq!(document, expected);
        let response = problem.into_response();
        assert_eq!(response.headers()["content-type"], PROBLEM_TYPE);
    }
}
