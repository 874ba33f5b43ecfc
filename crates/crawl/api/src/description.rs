//! The service's OpenAPI 3.1 description, generated from the types and served from memory.
//!
//! Invariants: docs/openapi.json equals this description (a test compares them). A test sends each
//! example in the description to the real service.

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
        description = "Submit URLs and crawls, and read their results. Unknown fields and \
            parameters are rejected. Errors are problems (RFC 9457) whose `code` is from a \
            closed list.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    servers((url = "/", description = "This service")),
    components(schemas(ProblemDocument)),
    security(("key" = [])),
    modifiers(&KeyScheme),
    tags(
        (name = "urls", description = "Single URLs and lists of URLs"),
        (name = "crawls", description = "Whole crawls"),
        (name = "schedules", description = "Crawls that start regularly"),
        (name = "filters", description = "Which URLs crawls fetch, and which pages they keep"),
        (name = "manners", description = "Stricter limits for sites than their own robots.txt"),
        (name = "webhooks", description = "Receivers of events"),
        (name = "captures", description = "Stored pages and their requisites"),
        (name = "service", description = "The service itself"),
    )
)]
struct Head;

struct KeyScheme;

impl Modify for KeyScheme {
    fn modify(&self, whole: &mut openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("et_<id>_<secret>")
            .description(Some("A key that the operator issued."))
            .build();
        let components = whole.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
    }
}

pub(crate) fn of(parts: impl IntoIterator<Item = openapi::OpenApi>) -> openapi::OpenApi {
    let mut whole = Head::openapi();
    for part in parts {
        whole.merge(part);
    }
    refusals::describe(&mut whole);
    whole
}

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/openapi.json", get(description))
}

async fn description(State(service): State<Arc<Service>>) -> Response {
    let mut response = Response::new(Body::from(service.description.clone()));
    let value = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, value);
    response
}
