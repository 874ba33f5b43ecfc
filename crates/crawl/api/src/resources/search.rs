//! Full-text search over the indexed pages in a key's crawls.

use std::sync::Arc;

use axum::{Router, extract::State, http::Uri, response::Response, routing::get};
use everytab_coordinator::{ApiFound, FoundPlace};
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use crate::{
    answer,
    caller::Caller,
    fetch_document::UrlDocument,
    parameters::Parameters,
    problem::{Problem, ProblemCode},
    service::Service,
    tokens::{found_cursor, found_place},
};

/// Default pages per response.
const DEFAULT_FOUND: i32 = 10;
/// Maximum pages in a response.
const MAX_FOUND: i32 = 100;
/// Maximum query length in bytes.
const MAX_QUERY_BYTES: usize = 1_000;
/// Character with which Postgres marks the start of a matching word in a snippet.
const WORD_START: char = '\u{2}';
/// Character with which Postgres marks the end of a matching word.
const WORD_END: char = '\u{3}';

/// A part of a snippet.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct SnippetPart {
    /// The text.
    pub(crate) text: String,
    /// Whether this is a word from the query.
    pub(crate) found: bool,
}

/// A page that matches the query.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FoundDocument {
    /// How well the page matches. Comparable only within the same query.
    pub(crate) rank: f32,
    /// Consecutive parts of the text around the matching words.
    pub(crate) snippet: Vec<SnippetPart>,
    /// The page.
    pub(crate) page: UrlDocument,
}

/// The pages that match a query.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SearchDocument {
    /// The pages, best first.
    pub(crate) found: Vec<FoundDocument>,
    /// The cursor for `after`. Absent if the response has fewer pages than `limit`. The last cursor
    /// may lead to an empty response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

#[derive(OpenApi)]
#[openapi(paths(search))]
pub(crate) struct SearchDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/v1/crawled/search", get(search))
}

/// Search captured pages
#[utoipa::path(
    get, path = "/v1/crawled/search", tag = "captures",
    operation_id = "pages_search",
    params(
        ("q" = String, Query, min_length = 1, max_length = 1000,
         description = "Words to search for. Supports \"a phrase\", `or` between words, and \
                        -excluded words"),
        ("crawl" = Option<Uuid>, Query,
         description = "One of the key's crawls. Default: all of them"),
        ("limit" = Option<i32>, Query, minimum = 1, maximum = 100,
         description = "Maximum number of pages. Default: 10"),
        ("after" = Option<String>, Query,
         description = "`next` from the previous response, with the same `q` and `crawl`"),
    ),
    responses(
        (status = 200, description = "The pages", body = SearchDocument),
    )
)]
pub(crate) async fn search(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let parameters = Parameters::parse(&uri, &["q", "crawl", "limit", "after"])?;
    let wrong =
        |field, detail: String| Problem::of_field(ProblemCode::InvalidParameter, field, detail);
    let query = parameters.text("q").unwrap_or_default();
    if query.trim().is_empty() || query.len() > MAX_QUERY_BYTES {
        let detail =
            format!("invalid q: expected words of at most {MAX_QUERY_BYTES} bytes in total");
        return Err(wrong("q", detail));
    }
    let crawl: Option<Uuid> = parameters.value("crawl", "a crawl's ID")?;
    let limit = parameters.limit("limit", DEFAULT_FOUND, MAX_FOUND)?;
    let asked = (crawl, query);
    let after = parameters.text("after");
    let after =
        after.map(|cursor| found_place(&caller.secret_sha256, asked, cursor)).transpose()?;
    let found = service.coordinator.api_search(&caller, crawl, query, limit, after).await?;
    let is_full = found.len() >= usize::try_from(limit).unwrap_or_default();
    let last = found.last().filter(|_| is_full);
    let place = last.map(|last| FoundPlace { rank: last.rank, id: last.fetch.id() });
    let next = place.map(|place| found_cursor(&caller.secret_sha256, asked, &place));
    let found = found.into_iter().map(|found| {
        let ApiFound { rank, snippet, fetch } = found;
        let page = UrlDocument::new(fetch, &caller.secret_sha256);
        FoundDocument { rank, snippet: parts(&snippet), page }
    });
    Ok(answer::ok(&SearchDocument { found: found.collect(), next }))
}

/// Splits a snippet at Postgres' marks, so that clients need not parse markup in untrusted text.
fn parts(snippet: &str) -> Vec<SnippetPart> {
    let mut parts = Vec::new();
    let mut push = |text: &str, found| {
        if !text.is_empty() {
            parts.push(SnippetPart { text: text.to_owned(), found });
        }
    };
    for piece in snippet.split_inclusive(WORD_END) {
        let (before, word) = piece.split_once(WORD_START).unwrap_or((piece, ""));
        push(before, false);
        push(word.trim_end_matches(WORD_END), true);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_is_split_at_its_marks() {
        let part = |text: &str, found| SnippetPart { text: text.to_owned(), found };
        let expected = [part("a ", false), part("b", true), part(" <c> ", false), part("d", true)];
        assert_eq!(parts("a \u{2}b\u{3} <c> \u{2}d\u{3}"), expected);
        assert_eq!(parts(""), []);
        assert_eq!(parts("a"), [part("a", false)]);
    }
}
