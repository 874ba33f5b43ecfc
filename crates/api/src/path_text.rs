//! A path's variable part.

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use everytab_coordinator::ApiCaller;
use uuid::Uuid;

use crate::{
    problem::{Problem, ProblemCode},
    service::Service,
};

/// The only variable part of a path, as a string.
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

/// Returns the ID. A malformed or forged one costs one request, like an unknown one. Without a
/// valid key, the result is `unauthorized` for every ID, so that it reveals nothing.
///
/// # Errors
/// Returns a problem if there is no ID.
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
