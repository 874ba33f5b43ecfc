//! The header `Idempotency-Key`: a request that is sent twice takes effect once.
//!
//! This does not depend on what a request does.

use axum::http::request::Parts;
use everytab_coordinator::IdempotencyKey;
use sha2::{Digest as _, Sha256};

use crate::problem::{Problem, ProblemCode};

/// The header's name.
const HEADER: &str = "idempotency-key";
/// Maximum key length.
const MAX_CHARACTERS: usize = 255;

/// Returns a request's idempotency key, with a digest of the request. `None` if it has none.
///
/// # Errors
/// Returns a problem if the header is empty, too long, or sent twice.
pub(crate) fn of(parts: &Parts, body: &[u8]) -> Result<Option<IdempotencyKey>, Problem> {
    let mut values = parts.headers.get_all(HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let name = value.to_str().unwrap_or_default().trim();
    if name.is_empty() || name.len() > MAX_CHARACTERS || values.next().is_some() {
        let detail = format!("give one key of 1 to {MAX_CHARACTERS} characters of ASCII");
        return Err(Problem::of_field(ProblemCode::InvalidParameter, "Idempotency-Key", detail));
    }
    let mut digest = Sha256::new();
    // How long a client waits for the response does not change the request.
    let pairs = parts.uri.query().unwrap_or_default().split('&');
    let query: Vec<&str> = pairs.filter(|pair| !pair.starts_with("wait=")).collect();
    for part in [parts.method.as_str(), parts.uri.path(), &query.join("&")] {
        digest.update(part);
        // No part contains a newline.
        digest.update(b"\n");
    }
    digest.update(body);
    Ok(Some(IdempotencyKey { name: name.to_owned(), request_sha256: digest.finalize().into() }))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn key(path: &str, names: &[&str], body: &str) -> Result<Option<IdempotencyKey>, ProblemCode> {
        let mut request = Request::post(path);
        for name in names {
            request = request.header(HEADER, *name);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        of(&parts, body.as_bytes()).map_err(|problem| problem.code)
    }

    #[test]
    fn two_requests_are_the_same_when_all_of_them_is() {
        let one = key("/v1/crawls", &["a"], "{}").unwrap();
        assert_eq!(one, key("/v1/crawls", &["a"], "{}").unwrap());
        for other in [key("/v1/crawls", &["a"], "[]"), key("/v1/url", &["a"], "{}")] {
            let (one, other) = (one.clone().unwrap(), other.unwrap().unwrap());
            assert_eq!(one.name, other.name);
            assert_ne!(one.request_sha256, other.request_sha256);
        }
        let of_query = |query: &str| key(&format!("/v1/url?{query}"), &["a"], "{}").unwrap();
        assert_eq!(of_query("wait=5"), key("/v1/url", &["a"], "{}").unwrap());
        assert_eq!(of_query("wait=5&priority=2"), of_query("priority=2&wait=60"));
        assert_ne!(of_query("priority=1"), of_query("priority=2"));
        assert_eq!(key("/", &[], "{}"), Ok(None));
        let long = "a".repeat(256);
        for wrong in [&["", "a"][..], &["a", "a"], &[long.as_str()]] {
            assert_eq!(key("/", wrong, ""), Err(ProblemCode::InvalidParameter));
        }
    }
}
