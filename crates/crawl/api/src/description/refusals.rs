//! Adds each operation's error responses to the description.
//!
//! Most problem codes follow from an operation's parameters and body, and an operation lists the
//! others in the extension `x-problem-codes`. This module then writes the complete list to the
//! extension, so that clients can read it.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde_json::{Value, json};
use utoipa::openapi::{
    self, Content, Header, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Type,
    extensions::Extensions,
    path::{Operation, PathItem},
};

use crate::problem::{PROBLEM_TYPE, ProblemCode};

const CODES: &str = "x-problem-codes";

pub(super) fn describe(whole: &mut openapi::OpenApi) {
    let mut used = BTreeMap::new();
    for operation in whole.paths.paths.values_mut().flat_map(operations) {
        let codes = codes_of(operation);
        for code in &codes {
            let status = code.status();
            let name = name_of(status);
            let answer = RefOr::Ref(Ref::from_response_name(name.clone()));
            operation.responses.responses.insert(status.as_str().to_owned(), answer);
            used.insert(name, status);
        }
        let names: Vec<&str> = codes.into_iter().map(ProblemCode::as_str).collect();
        let extension = [(CODES.to_owned(), json!(names))].into_iter().collect::<Extensions>();
        operation.extensions.get_or_insert_default().merge(extension);
    }
    let responses = used.into_iter().map(|(name, status)| (name, RefOr::T(response(status))));
    whole.components.get_or_insert_default().responses.extend(responses);
}

fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = path;
    [get, put, post, delete, patch].into_iter().flatten()
}

/// The codes are in the order of [`ProblemCode::ALL`].
fn codes_of(operation: &Operation) -> Vec<ProblemCode> {
    let own = operation.extensions.as_ref().and_then(|extensions| extensions.get(CODES));
    let own: Vec<&str> =
        own.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let general = general_codes(operation);
    let is_one = |code: &ProblemCode| general.contains(code) || own.contains(&code.as_str());
    ProblemCode::ALL.iter().copied().filter(is_one).collect()
}

fn general_codes(operation: &Operation) -> Vec<ProblemCode> {
    let parameters = operation.parameters.as_deref().unwrap_or_default();
    let takes = |name: &str| parameters.iter().any(|parameter| parameter.name == name);
    let has_body = operation.request_body.is_some();
    // Only operations that need no key override the security requirement.
    let has_key = operation.security.is_none();
    let mut codes = vec![ProblemCode::UnknownField, ProblemCode::Internal];
    let mut add = |is_taken: bool, more: &[ProblemCode]| {
        codes.extend(more.iter().filter(|_| is_taken));
    };
    let of_key = [ProblemCode::Unauthorized, ProblemCode::Throttled, ProblemCode::Unavailable];
    add(has_key, &of_key);
    add(has_body || !parameters.is_empty(), &[ProblemCode::InvalidParameter]);
    add(takes("id") || takes("crawl") || takes("url"), &[ProblemCode::NotFound]);
    add(takes("after"), &[ProblemCode::InvalidCursor]);
    add(takes("wait"), &[ProblemCode::TooManyWaiters]);
    add(takes("Idempotency-Key"), &[ProblemCode::IdempotencyMismatch]);
    let of_body =
        [ProblemCode::InvalidJson, ProblemCode::BodyTooLarge, ProblemCode::UnsupportedMediaType];
    add(has_body, &of_body);
    codes
}

fn name_of(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or_default().replace(' ', "")
}

/// Describes the response with this status: its codes and their titles.
fn response(status: StatusCode) -> Response {
    let codes = ProblemCode::ALL.iter().filter(|code| code.status() == status);
    let lines = codes.map(|code| format!("`{}`: {}.", code.as_str(), code.title()));
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    let answer = ResponseBuilder::new()
        .description(lines.collect::<Vec<_>>().join("\n"))
        .content(PROBLEM_TYPE, content);
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return answer.build();
    }
    let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).build();
    let mut retry_after = Header::new(seconds);
    retry_after.description = Some("Seconds after which the client may retry.".to_owned());
    answer.header("Retry-After", retry_after).build()
}
