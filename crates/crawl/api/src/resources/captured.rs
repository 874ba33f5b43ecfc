//! Serves captures from the archive: pages and their requisites.
//!
//! Invariant: every served capture has the headers in [`HEADERS`], so that no browser executes
//! archived content, shows it as part of this site, or sends requests because of it.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, Uri, header},
    response::Response,
    routing::get,
};
use chrono::{DateTime, NaiveDateTime, Utc};
use everytab_coordinator::ApiFetch;
use everytab_crawl_settings::parse_seed;
use everytab_frontier::site_hash;
use everytab_markdown::PagePart;
use utoipa::{
    IntoParams, OpenApi, ToResponse,
    openapi::{self, Content, Header, ObjectBuilder, RefOr, ResponseBuilder, SchemaFormat, Type},
};
use uuid::Uuid;

use crate::{
    caller::Caller,
    captures::{CaptureError, CaptureForm, CaptureKind, CaptureParts, capture_types, has_text},
    closed_lists::{CaptureAs, MarkdownPart},
    parameters::Parameters,
    problem::{Problem, ProblemCode},
    service::Service,
};

/// The sandbox has no scripts, no forms and its own origin. Only images and style sheets within the
/// document are shown.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CACHE_CONTROL, "private"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The reason why a capture is incomplete, as in `WARC-Truncated`.
const TRUNCATED: HeaderName = HeaderName::from_static("x-archived-truncated");
const ARCHIVED_URL: HeaderName = HeaderName::from_static("x-archived-url");
const ARCHIVED_STATUS: HeaderName = HeaderName::from_static("x-archived-status");
const ARCHIVED_CRAWL: HeaderName = HeaderName::from_static("x-archived-crawl");
/// The capture's time (RFC 7089).
const MEMENTO_DATETIME: HeaderName = HeaderName::from_static("memento-datetime");

/// Seconds after which a client may retry if a store did not respond.
const STORE_RETRY_S: u64 = 5;

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes the parameters, which `Parameters` reads")]
struct CaptureQuery {
    /// The URL
    url: String,
    /// One of the key's crawls. Default: all of them
    crawl: Option<Uuid>,
    /// Select the capture nearest to this time (RFC 3339 or 14 digits). Default: the newest
    at: Option<String>,
    /// html: the unchanged body; markdown: the page as Markdown; raw: the body as bytes; text: the
    /// visible text; warc: the record
    #[param(value_type = Option<CaptureAs>)]
    r#as: Option<String>,
    /// Part of the page for as=markdown: main (default; the whole page if it has no main content)
    /// or whole
    #[param(value_type = Option<MarkdownPart>)]
    content: Option<String>,
}

struct Capture;

impl ToResponse<'_> for Capture {
    fn response() -> (&'static str, RefOr<openapi::Response>) {
        let binary = SchemaFormat::Custom("binary".to_owned());
        let bytes = ObjectBuilder::new().schema_type(Type::String).format(Some(binary)).build();
        let headers = [
            (&ARCHIVED_URL, "The URL"),
            (&ARCHIVED_STATUS, "Status of the captured response"),
            (&ARCHIVED_CRAWL, "The crawl's ID"),
            (&MEMENTO_DATETIME, "Time of the capture (RFC 7089)"),
            (&TRUNCATED, "Why the body is incomplete"),
        ];
        let mut answer = ResponseBuilder::new().description("The capture, as an attachment");
        for content_type in capture_types() {
            answer = answer.content(content_type, Content::new(Some(bytes.clone())));
        }
        for (name, description) in headers {
            let mut header = Header::new(ObjectBuilder::new().schema_type(Type::String).build());
            header.description = Some(description.to_owned());
            answer = answer.header(name.as_str(), header);
        }
        ("Capture", answer.build().into())
    }
}

#[derive(OpenApi)]
#[openapi(paths(html, media), components(schemas(CaptureAs, MarkdownPart), responses(Capture)))]
pub(crate) struct CapturedDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/v1/crawled/html", get(html)).route("/v1/crawled/media", get(media))
}

/// Get a captured page
#[utoipa::path(
    get, path = "/v1/crawled/html", tag = "captures",
    operation_id = "page_get",
    extensions(("x-problem-codes" = json!(["invalid_url"]))),
    params(CaptureQuery),
    responses(
        (status = 200, response = Capture),
    )
)]
pub(crate) async fn html(
    State(service): State<Arc<Service>>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    serve(&service, caller, &uri, CaptureKind::Page).await
}

/// Get a captured page requisite
#[utoipa::path(
    get, path = "/v1/crawled/media", tag = "captures",
    operation_id = "media_get",
    extensions(("x-problem-codes" = json!(["invalid_url"]))),
    params(CaptureQuery),
    responses(
        (status = 200, response = Capture),
    )
)]
pub(crate) async fn media(
    State(service): State<Arc<Service>>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    serve(&service, caller, &uri, CaptureKind::Media).await
}

async fn serve(
    service: &Service,
    Caller(caller): Caller,
    uri: &Uri,
    kind: CaptureKind,
) -> Result<Response, Problem> {
    let parameters = Parameters::parse(uri, &["url", "crawl", "at", "as", "content"])?;
    let wrong =
        |field, detail: String| Problem::of_field(ProblemCode::InvalidParameter, field, detail);
    let url = parameters.text("url").ok_or_else(|| wrong("url", "url is missing".to_owned()))?;
    let url = parse_seed(url, &service.parameters)
        .map_err(|reason| Problem::of_field(ProblemCode::InvalidUrl, "url", reason))?
        .url;
    let crawl: Option<Uuid> = parameters.value("crawl", "a crawl's ID")?;
    let at = parameters.text("at").map(|text| {
        let times = "a time such as 2026-01-31T12:00:00Z or 20260131120000";
        let detail = || format!("invalid at {text:?}: expected {times}");
        time(text).ok_or_else(|| wrong("at", detail()))
    });
    let at = at.transpose()?;
    let form = parameters.text("as").map(|word| {
        let known = CaptureForm::WORDS.join(", ");
        let detail = || format!("invalid as {word:?}: expected one of {known}");
        CaptureForm::parse(word).ok_or_else(|| wrong("as", detail()))
    });
    let form = form.transpose()?.unwrap_or_default();
    let content = content_of(&parameters, form)?;
    let hashes = (site_hash(url.host()), url.hash().0);
    let found = service.coordinator.api_find_capture(&caller, crawl, hashes, at).await?;
    let fetch = found.ok_or_else(|| Problem::new(ProblemCode::NotFound))?;
    if CaptureKind::of(&fetch) != Some(kind) {
        let detail = match CaptureKind::of(&fetch) {
            Some(CaptureKind::Media) => "the capture is a requisite; use /v1/crawled/media",
            Some(CaptureKind::Page) => "the capture is a page; use /v1/crawled/html",
            None => "the capture is neither a page nor a requisite",
        };
        return Err(Problem::with(ProblemCode::NotFound, detail));
    }
    if form.is_of_text() && !has_text(fetch.mime.as_deref()) {
        let mime = fetch.mime.unwrap_or_default();
        return Err(wrong("as", format!("a capture of type {mime} has no text; use as=raw")));
    }
    let facts = facts(&fetch);
    let place = format!("{:?} of {:?}", fetch.record_offset, fetch.object);
    let parts = service.captures.read(fetch, (form, content)).await;
    let parts = parts.map_err(|error| unreadable(&place, &error))?;
    Ok(response(facts, parts))
}

fn content_of(parameters: &Parameters, form: CaptureForm) -> Result<PagePart, Problem> {
    let wrong =
        |detail: String| Err(Problem::of_field(ProblemCode::InvalidParameter, "content", detail));
    match parameters.text("content") {
        None => Ok(PagePart::default()),
        Some(_) if form != CaptureForm::Markdown => {
            wrong("content is only valid with as=markdown".to_owned())
        }
        Some(word) => {
            let found = PagePart::ALL.into_iter().find(|part| part.as_str() == word);
            let names = PagePart::ALL.map(PagePart::as_str).join(", ");
            let detail = || format!("invalid content {word:?}: expected one of {names}");
            found.map_or_else(|| wrong(detail()), Ok)
        }
    }
}

/// Parses a time in RFC 3339, or in the 14 digits that web archives use.
fn time(text: &str) -> Option<DateTime<Utc>> {
    if text.len() == 14 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(NaiveDateTime::parse_from_str(text, "%Y%m%d%H%M%S").ok()?.and_utc());
    }
    Some(DateTime::parse_from_rfc3339(text).ok()?.to_utc())
}

/// The record's location is only logged.
fn unreadable(place: &str, error: &CaptureError) -> Problem {
    if error.is_passing() {
        tracing::warn!(place, %error, "cannot read a stored capture now");
        let retry_after_s = Some(STORE_RETRY_S);
        return Problem { retry_after_s, ..Problem::new(ProblemCode::Unavailable) };
    }
    tracing::error!(place, %error, "cannot serve a stored capture");
    Problem::new(ProblemCode::Internal)
}

fn facts(fetch: &ApiFetch) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut add = |name: HeaderName, value: Option<String>| {
        // URLs are ASCII, so this skips only values that are invalid anyway.
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
            headers.insert(name, value);
        }
    };
    let http_date = |at: DateTime<Utc>| at.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    add(ARCHIVED_URL, fetch.url.clone());
    add(ARCHIVED_STATUS, fetch.status.map(|status| status.to_string()));
    add(ARCHIVED_CRAWL, Some(fetch.crawl_id.to_string()));
    add(MEMENTO_DATETIME, fetch.at.map(http_date));
    headers
}

fn response(facts: HeaderMap, parts: CaptureParts) -> Response {
    let CaptureParts { content_type, file_name, body, truncated } = parts;
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.extend(facts);
    for (name, value) in &HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let disposition = format!("attachment; filename=\"{file_name}\"");
    for (name, value) in [
        (header::CONTENT_TYPE, Some(content_type)),
        (header::CONTENT_DISPOSITION, Some(disposition)),
        (TRUNCATED, truncated),
    ] {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
            headers.insert(name, value);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_rfc_3339_or_14_digits() {
        let expected = "2026-01-31T12:00:00Z".parse().ok();
        assert_eq!(time("20260131120000"), expected);
        assert_eq!(time("2026-01-31T13:00:00+01:00"), expected);
        for wrong in ["", "2026", "20261331120000", "2026-01-31", "now", "2026013112000x"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }
}
