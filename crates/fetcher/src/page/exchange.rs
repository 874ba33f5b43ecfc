//! One request on the wire and its answer, as the records of an archive need them.
//!
//! Heads are text of HTTP/1.1, whichever version was spoken: what reads archives reads no other. A
//! body is kept decoded, so that fields of an answer about codings and length carry an `X-Crawler-`
//! prefix, as in Common Crawl's archives. One that cannot be decoded keeps `Content-Encoding`.
//! Must not know: archives.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use http::{Request, header::HOST};
use url::Url;

use crate::{closed_list::closed_list, request::message};

closed_list! {
    /// Why a body is not all that the server sent.
    CutReason: "The value of `WARC-Truncated`."

    /// It was longer than what is read of it: nothing of redirects and refused types, a little of
    /// error pages, of others what the purpose allows.
    Length = "length",
    /// It did not come in the time that the purpose allows.
    Time = "time",
    /// It ended before its end: the connection did, or the bytes of its coding.
    Disconnect = "disconnect",
}

/// A request that was sent, and its answer if one came.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// What was asked for, without fragment.
    pub url: String,
    /// When the request was sent.
    pub asked_at: DateTime<Utc>,
    /// The time from the request to the end of the answer, as far as it was read.
    pub duration: Duration,
    /// The address that was asked.
    pub address: SocketAddr,
    /// The request line and the fields as sent, with the empty line.
    pub request_head: Vec<u8>,
    /// The status of the answer; none if none came.
    pub status: Option<u16>,
    /// The head of the answer as an archive keeps it, with the empty line and the length of the
    /// body that is kept; empty if no answer came.
    pub response_head: Vec<u8>,
    began: Instant,
    is_over: bool,
}

impl Exchange {
    /// An exchange that begins now.
    pub(crate) fn begin<B>(url: &Url, request: &Request<B>, address: SocketAddr) -> Self {
        let mut without_fragment = url.clone();
        without_fragment.set_fragment(None);
        Self {
            request_head: request_head(&without_fragment, request),
            url: without_fragment.into(),
            asked_at: Utc::now(),
            duration: Duration::ZERO,
            address,
            status: None,
            response_head: Vec::new(),
            began: Instant::now(),
            is_over: false,
        }
    }

    /// The exchange is over; the head of its answer is empty if none came.
    pub(crate) fn end(&mut self, response_head: Vec<u8>) {
        self.duration = self.began.elapsed();
        self.response_head = response_head;
        self.is_over = true;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }
}

/// A request as HTTP/1.1 has it.
fn request_head<B>(url: &Url, request: &Request<B>) -> Vec<u8> {
    let target = &url[url::Position::BeforePath..];
    let mut head = format!("{} {target} HTTP/1.1\r\n", request.method()).into_bytes();
    if !request.headers().contains_key(HOST) {
        push(&mut head, HOST.as_str(), message::authority(url).as_bytes());
    }
    for (name, value) in request.headers() {
        push(&mut head, name.as_str(), value.as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn push(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::purpose::Purpose;

    #[test]
    fn a_request_is_kept_as_text_of_http_1_whichever_version_is_spoken() {
        let url = Url::parse("https://a.example:8443/x?y#z").expect("a URL");
        let address = "192.0.2.1:8443".parse().expect("an address");
        let robot = HeaderValue::from_static("Bot/1.0");
        let heads = [true, false].map(|speaks_http2| {
            let request = message::build(&url, &Purpose::robots(), speaks_http2, &robot, None);
            let exchange = Exchange::begin(&url, &request.expect("a request"), address);
            assert_eq!(exchange.url, "https://a.example:8443/x?y");
            let head = String::from_utf8(exchange.request_head).expect("text");
            let (line, fields) = head.split_once("\r\n").expect("a line");
            assert_eq!(line, "GET /x?y HTTP/1.1");
            let mut fields: Vec<String> = fields.lines().map(str::to_owned).collect();
            fields.sort();
            fields
        });
        assert_eq!(heads[0], heads[1]);
        assert_eq!(
            heads[0],
            [
                "",
                "accept-encoding: gzip, br",
                "accept: text/plain,*/*;q=0.5",
                "host: a.example:8443",
                "user-agent: Bot/1.0",
            ]
        );
    }
}
