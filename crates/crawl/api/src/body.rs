//! Reads request bodies as bytes, lines or JSON, within limits.

use std::time::Duration;

use axum::{
    body::{Body, HttpBody as _},
    extract::Request,
    http::{HeaderMap, header, request::Parts},
};
use bytes::{Bytes, BytesMut};
use everytab_coordinator::ApiCaller;
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;
use tokio::{sync::Semaphore, time::timeout};

use crate::{
    objects_only::ObjectsOnly,
    parameters::Parameters,
    problem::{Problem, ProblemCode},
    service::Service,
};

/// Maximum body size in bytes. This is enough for 10,000 URLs with 800 bytes each.
pub(crate) const MAX_BODY_BYTES: usize = 8 << 20;
/// Bodies up to this size, in bytes, need no permit.
const SMALL_BODY_BYTES: usize = 64 << 10;
/// Maximum number of larger bodies that are received concurrently.
const LARGE_BODIES: usize = 8;
/// Time limit for reading a body: 8 MiB at 2 Mbit/s.
const BODY_TIME: Duration = Duration::from_secs(35);
/// Maximum time that a large body waits for its permit.
const PERMIT_TIME: Duration = Duration::from_secs(10);
/// Maximum nesting depth. No request needs more than four levels.
const MAX_JSON_DEPTH: usize = 16;
/// Seconds after which a client may retry a large body.
const RETRY_S: u64 = 5;

static LARGE: Semaphore = Semaphore::const_new(LARGE_BODIES);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    Lines,
}

/// Determines a body's format from the headers. Without a content type it is JSON.
///
/// # Errors
/// Returns a problem for any other type or charset, and for a compressed body.
pub(crate) fn kind_of(headers: &HeaderMap) -> Result<BodyKind, Problem> {
    let refused = |what: &str| {
        let detail = format!("{what}; send application/json, or text/plain with one URL per line");
        Err(Problem::with(ProblemCode::UnsupportedMediaType, detail))
    };
    if headers.get(header::CONTENT_ENCODING).is_some_and(|value| value != "identity") {
        return refused("compressed bodies are not supported");
    }
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(BodyKind::Json) };
    let text = value.to_str().unwrap_or_default();
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
    let is_utf8 = parts.all(|part| {
        let value = part.to_ascii_lowercase();
        let value = value.strip_prefix("charset=").map(|value| value.trim_matches('"').to_owned());
        value.is_none_or(|charset| charset == "utf-8" || charset == "us-ascii")
    });
    match kind.as_str() {
        _ if !is_utf8 => refused("the charset is not UTF-8"),
        "application/json" => Ok(BodyKind::Json),
        "text/plain" => Ok(BodyKind::Lines),
        _ => refused("unsupported content type"),
    }
}

/// Returns a problem if the request has a parameter, if its content type is not JSON, or if
/// [`read`] fails.
pub(crate) async fn json_request(
    service: &Service,
    caller: &ApiCaller,
    request: Request,
) -> Result<(Parts, Bytes), Problem> {
    let (parts, bytes, _) = json_request_with(service, caller, request, &[]).await?;
    Ok((parts, bytes))
}

/// Like [`json_request`], but the request may have these parameters.
pub(crate) async fn json_request_with(
    service: &Service,
    caller: &ApiCaller,
    request: Request,
    parameters: &[&str],
) -> Result<(Parts, Bytes, Parameters), Problem> {
    let (parts, body) = request.into_parts();
    let parameters = Parameters::parse(&parts.uri, parameters)?;
    if kind_of(&parts.headers)? != BodyKind::Json {
        let detail = "this path accepts only application/json";
        return Err(Problem::with(ProblemCode::UnsupportedMediaType, detail));
    }
    let bytes = read(service, caller, body).await?;
    Ok((parts, bytes, parameters))
}

/// A body larger than [`SMALL_BODY_BYTES`] needs a permit, and costs the key one more request.
///
/// # Errors
/// Returns a problem if the body is too large, too slow or incomplete, or if a large body gets no
/// permit or its key is rejected.
pub(crate) async fn read(
    service: &Service,
    caller: &ApiCaller,
    body: Body,
) -> Result<Bytes, Problem> {
    let read = timeout(BODY_TIME, read_within(service, caller, body)).await;
    read.unwrap_or_else(|_| {
        let detail = "the body took too long to arrive; send a smaller one";
        Err(Problem::with(ProblemCode::BodyTooLarge, detail))
    })
}

async fn read_within(
    service: &Service,
    caller: &ApiCaller,
    mut body: Body,
) -> Result<Bytes, Problem> {
    let too_large = || {
        let detail =
            format!("the body is larger than {MAX_BODY_BYTES} bytes; send several requests");
        Problem::with(ProblemCode::BodyTooLarge, detail)
    };
    // Check this before the first read, which sends `100 Continue`. Otherwise the client would send
    // the body for nothing.
    if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(too_large());
    }
    let mut bytes = BytesMut::new();
    let mut permit = None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let detail = format!("the body is incomplete or not valid HTTP: {error}");
            Problem::with(ProblemCode::MalformedRequest, detail)
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > MAX_BODY_BYTES {
            return Err(too_large());
        }
        if permit.is_none() && bytes.len() + data.len() > SMALL_BODY_BYTES {
            let Ok(Ok(taken)) = timeout(PERMIT_TIME, LARGE.acquire()).await else {
                let detail = "too many large bodies are arriving; retry later";
                return Err(Problem::unavailable(detail, RETRY_S));
            };
            permit = Some(taken);
            service.coordinator.api_admit(caller).await?;
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

pub(crate) fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    if is_deeper_than(bytes, MAX_JSON_DEPTH) {
        let detail = format!("the JSON is nested more than {MAX_JSON_DEPTH} levels deep");
        return Err(Problem::with(ProblemCode::InvalidJson, detail));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = T::deserialize(ObjectsOnly(&mut json)).and_then(|value| json.end().map(|()| value));
    read.map_err(|error| json_problem(&error))
}

fn json_problem(error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    let code = match error.classify() {
        _ if text.starts_with("unknown field") => ProblemCode::UnknownField,
        serde_json::error::Category::Data => ProblemCode::InvalidParameter,
        _ => ProblemCode::InvalidJson,
    };
    match field_of(&text) {
        Some(field) => Problem::of_field(code, field, &text),
        None => Problem::with(code, text),
    }
}

fn field_of(text: &str) -> Option<&str> {
    let names = ["unknown field `", "missing field `", "duplicate field `"];
    let rest = names.iter().find_map(|name| text.strip_prefix(name))?;
    rest.split('`').next()
}

fn is_deeper_than(bytes: &[u8], most: usize) -> bool {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth += 1;
                if depth > most {
                    return true;
                }
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Small {
        number: f64,
    }

    fn code_of(text: &str) -> Option<ProblemCode> {
        from_json::<Small>(text.as_bytes()).err().map(|problem| problem.code)
    }

    #[test]
    fn json_errors_name_the_field_or_position() {
        assert_eq!(code_of(r#"{"number": 1}"#), None);
        for (text, code) in [
            ("", ProblemCode::InvalidJson),
            ("{", ProblemCode::InvalidJson),
            (r#"{"number": NaN}"#, ProblemCode::InvalidJson),
            (r#"{"number": 1e999}"#, ProblemCode::InvalidJson),
            (r#"{"number": 1} x"#, ProblemCode::InvalidJson),
            (r#"{"number": "1"}"#, ProblemCode::InvalidParameter),
            (r#"{"number": 1, "number": 2}"#, ProblemCode::InvalidParameter),
            ("{}", ProblemCode::InvalidParameter),
            ("[1]", ProblemCode::InvalidParameter),
            ("[[[[[[[[[[[[[[[[[[[[", ProblemCode::InvalidJson),
            (r#"{"number": 1, "name": 2}"#, ProblemCode::UnknownField),
            ("{\"number\u{0}\": 1}", ProblemCode::InvalidJson),
        ] {
            assert_eq!(code_of(text), Some(code), "{text}");
        }
        let named = from_json::<Small>(br#"{"nmber": 1}"#).unwrap_err();
        assert_eq!(named.errors[0].field.as_deref(), Some("nmber"));
    }

    #[test]
    fn depth_is_counted_outside_of_texts() {
        let deep = |depth: usize| "[".repeat(depth);
        assert!(!is_deeper_than(deep(16).as_bytes(), 16));
        assert!(is_deeper_than(deep(17).as_bytes(), 16));
        let in_text = format!(r#"["\"{}"]"#, deep(100));
        assert!(!is_deeper_than(in_text.as_bytes(), 16));
        assert!(!is_deeper_than("[]".repeat(100).as_bytes(), 16));
    }

    #[test]
    fn a_body_is_json_or_lines() {
        let kind = |name: &'static str, value: &'static str| {
            let name: header::HeaderName = name.parse().unwrap();
            kind_of(&[(name, value.parse().unwrap())].into_iter().collect()).ok()
        };
        assert_eq!(kind_of(&HeaderMap::new()).ok(), Some(BodyKind::Json));
        assert_eq!(kind("content-type", "Application/JSON; charset=UTF-8"), Some(BodyKind::Json));
        assert_eq!(kind("content-type", "text/plain;charset=\"utf-8\""), Some(BodyKind::Lines));
        for wrong in ["text/html", "", "text/plain; charset=utf-16", "application/x-ndjson"] {
            assert_eq!(kind("content-type", wrong), None, "{wrong}");
        }
        assert_eq!(kind("content-encoding", "gzip"), None);
    }
}
