//! Serves the small page at `/`: files from `site/crawl/` that are embedded in the program. The
//! page needs no key, and requests its data with the key that the visitor enters.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, header},
    response::Response,
    routing::get,
};

use crate::{
    parameters::PathText,
    problem::{Problem, ProblemCode},
    service::Service,
};

struct PageFile {
    name: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

/// The page may load its own files and send requests to this service.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

macro_rules! files {
    ($($name:literal $content_type:literal,)+) => {
        [$(PageFile {
            name: $name,
            content_type: $content_type,
            bytes: include_bytes!(concat!("../../../../../site/crawl/", $name)),
        }),+]
    };
}

/// The first file is the page itself.
static FILES: [PageFile; 10] = files! {
    "index.html" "text/html; charset=utf-8",
    "page.css" "text/css; charset=utf-8",
    "main.js" "text/javascript; charset=utf-8",
    "service.js" "text/javascript; charset=utf-8",
    "document.js" "text/javascript; charset=utf-8",
    "words.js" "text/javascript; charset=utf-8",
    "chart.js" "text/javascript; charset=utf-8",
    "crawl.js" "text/javascript; charset=utf-8",
    "feed.js" "text/javascript; charset=utf-8",
    "scans.js" "text/javascript; charset=utf-8",
};

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new()
        .route("/", get(async || answer(&FILES[0])))
        .route("/page/{name}", get(async |PathText(name): PathText| file(&name)))
}

fn file(name: &str) -> Result<Response, Problem> {
    let found = FILES[1..].iter().find(|file| file.name == name);
    found.map(answer).ok_or_else(|| Problem::new(ProblemCode::NotFound))
}

fn answer(file: &PageFile) -> Response {
    let mut response = Response::new(Body::from(file.bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    response
}
