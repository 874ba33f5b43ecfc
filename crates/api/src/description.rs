//! The description of the service: OpenAPI 3.1, made from the types and served as it is committed.
//!
//! Invariant: docs/openapi.json is what this makes (a test compares), and each example in it is
//! sent by a test to the real service. Must not know: single paths.

mod refusals;

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderValue, header},
    response::Response,
    routing::get,
};
use utoipa::{
    Modify, OpenApi,
    openapi::{
        self,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use crate::{problem::ProblemDocument, service::Service};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "EveryTab",
        description = "Submit URLs and crawls, and read what became of them. Fields and \
            parameters that are not in this description are refused. Errors are problems \
            (RFC 9457) whose `code` is from a closed list.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    servers((url = "/", description = "The service that this description is of")),
    components(schemas(ProblemDocument)),
    security(("key" = [])),
    modifiers(&KeyScheme),
    tags(
        (name = "urls", description = "Single URLs and lists of them"),
        (name = "crawls", description = "Crawls as wholes"),
        (name = "schedules", description = "Crawls that start again and again"),
        (name = "filters", description = "Which URLs crawls ask for, and which pages they keep"),
        (name = "manners", description = "How sites are asked more gently than they ask for"),
        (name = "webhooks", description = "Where events are sent"),
        (name = "captures", description = "What is kept of the web"),
        (name = "service", description = "The service itself"),
    )
)]
struct Head;

/// Says how a key is sent.
struct KeyScheme;

impl Modify for KeyScheme {
    fn modify(&self, whole: &mut openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("et_<id>_<secret>")
            .description(Some("A key as the operator gave it."))
            .build();
        let components = whole.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
    }
}

/// The description of these parts together.
pub(crate) fn of(parts: impl IntoIterator<Item = openapi::OpenApi>) -> openapi::OpenApi {
    let mut whole = Head::openapi();
    for part in parts {
        whole.merge(part);
    }
    refusals::describe(&mut whole);
    whole
}

/// The route of the description.
pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/openapi.json", get(description))
}

async fn description(State(service): State<Arc<Service>>) -> Response {
    let mut response = Response::new(Body::from(service.description.clone()));
    let value = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, value);
    response
}
