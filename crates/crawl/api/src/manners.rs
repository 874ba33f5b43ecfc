//! Completes every response, on every route, with headers, a request ID and metrics. Rejects
//! requests that match no route.
//!
//! Invariants: no response is stored in a shared cache, is shown in a frame, sets a cookie, or can
//! be read by pages from other origins. If a handler panics, the client gets a response. A request
//! with several `Host` headers, or an HTTP/1.1 request without one, is rejected.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header, uri::Authority,
    },
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use futures_util::FutureExt as _;
use uuid::Uuid;

use crate::{
    caller::caller_of_value,
    metrics,
    problem::{Problem, ProblemCode},
    request_body::{UnreadBody, close_after},
    service::Service,
};

/// Header with the request ID, which log lines contain too.
pub const REQUEST_ID: &str = "x-request-id";
/// Default response headers. A response may set its own value.
pub(crate) const HEADERS: [(HeaderName, &str); 6] = [
    (header::CACHE_CONTROL, "private, no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

pub(crate) async fn with_manners(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let id = Uuid::now_v7().to_string();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or(metrics::NO_ROUTE, MatchedPath::as_str);
    let authorization = request.headers().get(header::AUTHORIZATION).cloned();
    let names_one_host = names_one_host(&request);
    let (request, unread) = UnreadBody::keep(request);
    let mut response = if names_one_host {
        let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
        answered.unwrap_or_else(|_| {
            tracing::error!(%id, %method, route, "a request handler panicked");
            Problem::new(ProblemCode::Internal).into_response()
        })
    } else {
        without_host()
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response = without_method(&method, response.headers());
    }
    if response.status().is_client_error()
        && let Some(caller) = authorization.as_ref().and_then(caller_of_value)
    {
        service.key_checks.note(&caller, &response);
    }
    unread.finish(&mut response).await;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, value);
    }
    let status = response.status();
    let took = began.elapsed();
    metrics::answered(route, status, took);
    if status.is_server_error() {
        tracing::warn!(%id, %method, route, %status, ?took, "answered");
    } else {
        tracing::debug!(%id, %method, route, %status, ?took, "answered");
    }
    response
}

/// Returns true if a request has one `Host` header, with a host and an optional port, or empty.
/// HTTP/1.0 requests need none (RFC 9112 3.2).
fn names_one_host(request: &Request) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, None) => request.version() != Version::HTTP_11,
        (Some(host), None) => host.is_empty() || is_host(host.as_bytes()),
        _ => false,
    }
}

fn is_host(value: &[u8]) -> bool {
    Authority::try_from(value).is_ok_and(|authority| {
        let text = authority.as_str();
        let host = authority.host();
        let has_no_port = matches!(text.strip_prefix(host), Some("" | ":"));
        !text.contains('@') && (has_no_port || authority.port_u16().is_some())
    })
}

/// Closes the connection, because a proxy in front of this service may interpret such a request
/// differently.
fn without_host() -> Response {
    let detail = "expected exactly one Host header, with a host and an optional port";
    let mut response = Problem::with(ProblemCode::MalformedRequest, detail).into_response();
    close_after(&mut response);
    response
}

/// Lists the path's methods. For OPTIONS this is a success.
fn without_method(method: &Method, found: &HeaderMap) -> Response {
    let mut response = if method == Method::OPTIONS {
        StatusCode::NO_CONTENT.into_response()
    } else {
        let detail = "the Allow header lists the methods of this path";
        Problem::with(ProblemCode::MethodNotAllowed, detail).into_response()
    };
    if let Some(allow) = found.get(header::ALLOW) {
        response.headers_mut().insert(header::ALLOW, allow.clone());
    }
    response
}

pub(crate) async fn no_route() -> Problem {
    Problem::with(ProblemCode::NotFound, "unknown path; GET /openapi.json lists all paths")
}
