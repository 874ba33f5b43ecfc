//! Builds requests, and formats heads of responses for the archive.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use http::{
    HeaderMap, HeaderName, HeaderValue, Request, StatusCode,
    header::{
        ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, COOKIE, HOST, TRANSFER_ENCODING,
        USER_AGENT,
    },
};
use http_body_util::Full;
use percent_encoding::{AsciiSet, percent_encode};
use tokio::sync::Notify;
use url::Url;

use crate::{outcome::Outcome, purpose::Purpose};

/// Builds a GET request. It has no referrer and no credentials. Returns `IpBlocked` if the URL
/// cannot be a request target, which does not happen for a checked URL.
pub(crate) fn build(
    url: &Url,
    purpose: &Purpose,
    speaks_http2: bool,
    user_agent: &HeaderValue,
    cookie: Option<&str>,
) -> Result<Request<Full<bytes::Bytes>>, Outcome> {
    let mut without_fragment = url.clone();
    without_fragment.set_fragment(None);
    let target = if speaks_http2 {
        without_fragment.as_str()
    } else {
        &without_fragment[url::Position::BeforePath..]
    };
    let mut request = Request::get(target)
        .header(USER_AGENT, user_agent)
        .header(ACCEPT, purpose.accept)
        .header(ACCEPT_ENCODING, "gzip, br");
    if !speaks_http2 {
        request = request.header(HOST, authority(url));
    }
    if let Some(cookie) = cookie {
        request = request.header(COOKIE, cookie);
    }
    request.body(Full::default()).map_err(|_| Outcome::IpBlocked)
}

pub(crate) fn authority(url: &Url) -> &str {
    &url[url::Position::BeforeHost..url::Position::AfterPort]
}

/// Maximum number of interim responses (1xx).
const MAX_INTERIM_ANSWERS: u32 = 8;

/// Returns a notification that fires when the peer has sent too many interim responses. hyper
/// reports them only over HTTP/1. Over HTTP/2, only the time limit for the first byte ends such a
/// request.
pub(crate) fn watch_interim_responses<B>(request: &mut Request<B>) -> Arc<Notify> {
    let too_many = Arc::new(Notify::new());
    let notify = Arc::clone(&too_many);
    let seen = AtomicU32::new(0);
    hyper::ext::on_informational(request, move |_| {
        if seen.fetch_add(1, Ordering::Relaxed) >= MAX_INTERIM_ANSWERS {
            notify.notify_one();
        }
    });
    too_many
}

/// Formats a response head for the archive. If `is_coded` is true, the body still has its content
/// codings.
pub(crate) fn archived_head(
    status: StatusCode,
    headers: &HeaderMap,
    (body_bytes, is_coded): (usize, bool),
) -> Vec<u8> {
    let mut head = Vec::with_capacity(512);
    let reason = status.canonical_reason().unwrap_or("");
    head.extend_from_slice(format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).as_bytes());
    for (name, value) in headers {
        if describes_the_wire(name) && !(is_coded && name == CONTENT_ENCODING) {
            head.extend_from_slice(b"x-crawler-");
        }
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(format!("content-length: {body_bytes}\r\n\r\n").as_bytes());
    head
}

fn describes_the_wire(name: &HeaderName) -> bool {
    [CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING].contains(name)
}

/// Returns a `Location` as browsers read it. Each non-ASCII byte is percent-encoded, because the
/// encoding that the server uses is unknown.
pub(crate) fn location(value: &HeaderValue) -> String {
    percent_encode(value.as_bytes(), &AsciiSet::EMPTY).to_string()
}

pub(crate) fn text(value: Option<&HeaderValue>) -> Option<String> {
    value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::FetchSettings;

    #[test]
    fn a_request_names_its_host_and_no_referrer() {
        let url = Url::parse("http://a.example:8080/i%20con.ico?v=1#part").expect("a URL");
        let robot = HeaderValue::from_static("Bot/1.0");
        let icon = Purpose::icon(&FetchSettings::default());
        let request = build(&url, &icon, false, &robot, Some("a=1")).expect("built");
        assert_eq!(request.uri(), "/i%20con.ico?v=1");
        assert_eq!(request.headers()[HOST], "a.example:8080");
        assert_eq!(request.headers()[COOKIE], "a=1");
        assert!(!request.headers().contains_key(http::header::REFERER));
        let request = build(&url, &icon, true, &robot, None).expect("built");
        assert_eq!(request.uri(), "http://a.example:8080/i%20con.ico?v=1");
        assert!(!request.headers().contains_key(HOST));
    }

    #[test]
    fn an_archived_head_has_the_length_and_the_coding_of_the_stored_body() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("7"));
        let head = |body| String::from_utf8(archived_head(StatusCode::OK, &headers, body));
        assert_eq!(
            head((31, false)).expect("text"),
            "HTTP/1.1 200 OK\r\nx-crawler-content-encoding: gzip\r\nx-crawler-content-length: 7\r\n\
             content-length: 31\r\n\r\n"
        );
        assert_eq!(
            head((7, true)).expect("text"),
            "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nx-crawler-content-length: 7\r\n\
             content-length: 7\r\n\r\n"
        );
    }
}
