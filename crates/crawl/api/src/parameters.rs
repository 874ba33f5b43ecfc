//! Parses a request's short inputs: query parameters, the variable part of a path, the header
//! `Idempotency-Key`, names and lines.
//!
//! Invariants: an unknown or repeated parameter is rejected, so that a misspelt one does not
//! silently become a default. An accepted string has no character that Postgres rejects.

use std::{collections::BTreeMap, time::Duration};

use axum::{
    extract::{FromRequestParts, Path},
    http::{Uri, request::Parts},
};
use everytab_coordinator::{ApiCaller, IdempotencyKey};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{
    problem::{Problem, ProblemCode},
    service::Service,
};

/// Maximum time that a request may wait, in seconds. Proxies usually time out after 60 seconds.
pub(crate) const MAX_WAIT_S: u64 = 60;

#[derive(Debug)]
pub(crate) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Returns a problem for a parameter that is not in `known`, or that is repeated.
    pub(crate) fn parse(uri: &Uri, known: &[&str]) -> Result<Self, Problem> {
        let mut found = BTreeMap::new();
        let query = uri.query().unwrap_or_default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            if !known.contains(&name.as_ref()) {
                let detail = match known {
                    [] => "this path takes no parameters".to_owned(),
                    known => format!("unknown parameter: expected {}", known.join(", ")),
                };
                return Err(Problem::of_field(ProblemCode::UnknownField, &name, detail));
            }
            if found.insert(name.clone().into_owned(), value.into_owned()).is_some() {
                let code = ProblemCode::InvalidParameter;
                return Err(Problem::of_field(code, &name, format!("{name} is given twice")));
            }
        }
        Ok(Self(found))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Parses a parameter. `what` describes valid values.
    ///
    /// # Errors
    /// Returns a problem if the value cannot be parsed.
    pub(crate) fn value<T: std::str::FromStr>(
        &self,
        name: &str,
        what: &str,
    ) -> Result<Option<T>, Problem> {
        let parsed = |text: &str| {
            text.parse().map_err(|_| {
                let detail = format!("invalid {name} {text:?}: expected {what}");
                Problem::of_field(ProblemCode::InvalidParameter, name, detail)
            })
        };
        self.text(name).map(parsed).transpose()
    }

    pub(crate) fn limit(&self, name: &str, default: i32, most: i32) -> Result<i32, Problem> {
        let what = format!("a number from 1 to {most}");
        let number = self.value(name, &what)?.unwrap_or(default);
        if (1..=most).contains(&number) {
            return Ok(number);
        }
        let detail = format!("invalid {name} {number}: expected {what}");
        Err(Problem::of_field(ProblemCode::InvalidParameter, name, detail))
    }

    pub(crate) fn wait(&self) -> Result<Duration, Problem> {
        let what = format!("a number of seconds from 0 to {MAX_WAIT_S}");
        let seconds: f64 = self.value("wait", &what)?.unwrap_or(0.0);
        if (0.0..=MAX_WAIT_S as f64).contains(&seconds) {
            return Ok(Duration::from_secs_f64(seconds));
        }
        let detail = format!("invalid wait {seconds}: expected {what}");
        Err(Problem::of_field(ProblemCode::InvalidParameter, "wait", detail))
    }
}

/// Returns a problem if the value is in both the query and the body.
pub(crate) fn given_once<T>(
    name: &str,
    of_query: Option<T>,
    of_body: Option<T>,
) -> Result<Option<T>, Problem> {
    if of_query.is_some() && of_body.is_some() {
        let detail = format!("{name} is given twice: in the query and in the body");
        return Err(Problem::of_field(ProblemCode::InvalidParameter, name, detail));
    }
    Ok(of_query.or(of_body))
}

/// The only variable part of a path.
pub(crate) struct PathText(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = Path::<String>::from_request_parts(parts, state).await;
        text.map(|Path(text)| Self(text)).map_err(|_| Problem::new(ProblemCode::NotFound))
    }
}

/// The only variable part of a path, as an ID. `None` if it is malformed.
pub(crate) struct PathId(pub(crate) Option<Uuid>);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let PathText(text) = PathText::from_request_parts(parts, state).await?;
        Ok(Self(text.parse().ok()))
    }
}

/// Charges the key one request for a malformed or forged ID, as for an unknown one. Without a valid
/// key the problem is `unauthorized` for every ID, so that it reveals nothing.
///
/// # Errors
/// Returns a problem if `id` is `None`.
pub(crate) async fn known<T>(
    service: &Service,
    caller: &ApiCaller,
    id: Option<T>,
) -> Result<T, Problem> {
    let Some(id) = id else {
        service.coordinator.api_admit(caller).await?;
        return Err(Problem::new(ProblemCode::NotFound));
    };
    Ok(id)
}

const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Maximum key length.
const MAX_KEY_CHARACTERS: usize = 255;

/// Returns a request's idempotency key and digest. `None` if it has none.
///
/// # Errors
/// Returns a problem if the header is empty, too long, not ASCII, or sent twice.
pub(crate) fn idempotency_key(
    parts: &Parts,
    body: &[u8],
) -> Result<Option<IdempotencyKey>, Problem> {
    let mut values = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let name = value.to_str().unwrap_or_default().trim();
    if name.is_empty() || name.len() > MAX_KEY_CHARACTERS || values.next().is_some() {
        let detail =
            format!("expected one Idempotency-Key of 1 to {MAX_KEY_CHARACTERS} ASCII characters");
        return Err(Problem::of_field(ProblemCode::InvalidParameter, "Idempotency-Key", detail));
    }
    let mut digest = Sha256::new();
    // `wait` does not change what the request does.
    let pairs = parts.uri.query().unwrap_or_default().split('&');
    let query: Vec<&str> = pairs.filter(|pair| !pair.starts_with("wait=")).collect();
    for part in [parts.method.as_str(), parts.uri.path(), &query.join("&")] {
        digest.update(part);
        // The separator is unambiguous, because no part contains a newline.
        digest.update(b"\n");
    }
    digest.update(body);
    Ok(Some(IdempotencyKey { name: name.to_owned(), request_sha256: digest.finalize().into() }))
}

/// Maximum name length.
const MAX_NAME_CHARACTERS: usize = 100;

pub(crate) fn check_name(name: &str) -> Result<(), Problem> {
    check_line(name, "name", MAX_NAME_CHARACTERS)
}

/// Returns a problem if the field is not one line of at most this many characters, without control
/// characters or surrounding spaces.
pub(crate) fn check_line(text: &str, field: &str, max_characters: usize) -> Result<(), Problem> {
    let is_long_enough = (1..=max_characters).contains(&text.chars().count());
    if is_long_enough && text.trim() == text && !text.chars().any(char::is_control) {
        return Ok(());
    }
    let detail = format!(
        "invalid {field}: expected 1 to {max_characters} characters, without control characters or \
         surrounding spaces"
    );
    Err(Problem::of_field(ProblemCode::InvalidParameter, field, detail))
}

/// Returns a problem for the field if a string contains NUL, which Postgres cannot store.
pub(crate) fn check_no_nul<T: Serialize>(
    value: &T,
    field: &str,
    code: ProblemCode,
) -> Result<(), Problem> {
    match serde_json::to_value(value) {
        Ok(value) if !has_nul(&value) => Ok(()),
        Ok(_) => Err(Problem::of_field(code, field, "a string contains the NUL character")),
        Err(error) => Err(Problem::of_field(code, field, error)),
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(list) => list.iter().any(has_nul),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| name.contains('\0') || has_nul(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests;
