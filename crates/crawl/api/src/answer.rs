//! Builds JSON responses.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

use crate::problem::{Problem, ProblemCode};

const JSON_TYPE: &str = "application/json";

pub(crate) fn json<T: Serialize>(status: StatusCode, value: &T) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => {
            let mut response = Response::new(Body::from(body));
            *response.status_mut() = status;
            let value = HeaderValue::from_static(JSON_TYPE);
            response.headers_mut().insert(header::CONTENT_TYPE, value);
            response
        }
        Err(error) => {
            tracing::error!(%error, "cannot serialize a response");
            Problem::new(ProblemCode::Internal).into_response()
        }
    }
}

/// Returns a 201 response with the created resource's path in `Location`.
pub(crate) fn created<T: Serialize>(place: &str, value: &T) -> Response {
    at(place, json(StatusCode::CREATED, value))
}

pub(crate) fn at(place: &str, mut response: Response) -> Response {
    if let Ok(place) = HeaderValue::try_from(place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

pub(crate) fn nothing() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

pub(crate) fn ok<T: Serialize>(value: &T) -> Response {
    json(StatusCode::OK, value)
}
