//! Replaces the HTTP library's response to a request that is not valid HTTP/1.1, because this
//! response has no body.

use std::{str, time::Duration};

use axum::http::StatusCode;
use uuid::Uuid;

use crate::{
    manners::{HEADERS, REQUEST_ID},
    metrics,
    problem::{PROBLEM_TYPE, Problem, ProblemCode},
};

/// Returns a complete response with a problem document. `None` if `answer` does not reject the
/// request.
#[must_use]
pub fn problem_of_malformed(answer: &[u8]) -> Option<Vec<u8>> {
    let head = str::from_utf8(answer).ok()?;
    let status: u16 = head.split(' ').nth(1)?.parse().ok()?;
    let problem = match StatusCode::from_u16(status).ok()? {
        StatusCode::BAD_REQUEST => Problem::with(
            ProblemCode::MalformedRequest,
            "the request line or a header is not valid HTTP/1.1",
        ),
        StatusCode::URI_TOO_LONG => {
            Problem::with(ProblemCode::UriTooLong, "the URI is longer than 65,534 bytes")
        }
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => Problem::with(
            ProblemCode::HeadersTooLarge,
            "the request has more than 100 headers, or more than 400 KB of them",
        ),
        _ => return None,
    };
    let status = problem.code.status();
    let id = Uuid::now_v7();
    metrics::answered(metrics::NO_ROUTE, status, Duration::ZERO);
    tracing::debug!(%id, %status, "rejected a malformed request");
    let body = problem.body();
    let mut text = format!("HTTP/1.1 {status}\r\ncontent-type: {PROBLEM_TYPE}\r\n");
    for (name, value) in HEADERS {
        text += &format!("{name}: {value}\r\n");
    }
    if let Some(date) = head.lines().find(|line| line.starts_with("date: ")) {
        text += &format!("{date}\r\n");
    }
    let length = body.len();
    text += &format!("{REQUEST_ID}: {id}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    Some([text.into_bytes(), body].concat())
}
