//! A request on the wire and its response, in the form that an archive's records need.
//!
//! Heads have the HTTP/1.1 form for every HTTP version, because archive readers expect this form.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use http::{Request, header::HOST};
use url::Url;

use crate::{closed_list::closed_list, request::message};

closed_list! {
    /// Why a body is incomplete.
    CutReason: "The value of `WARC-Truncated`."

    /// The body exceeded the read limit, which is zero for redirects and rejected types, and small
    /// for error pages.
    Length = "length",
    /// The body did not arrive in time.
    Time = "time",
    /// The connection, or the data of a coding, ended early.
    Disconnect = "disconnect",
}

/// A request that was sent, with its response if there was one.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The requested URL, without fragment.
    pub url: String,
    /// When the request was sent.
    pub asked_at: DateTime<Utc>,
    /// Time from sending the request until the needed part of the response was read.
    pub duration: Duration,
    /// The address and port of the connection.
    pub address: SocketAddr,
    /// The request line and the fields, including the empty line.
    pub request_head: Vec<u8>,
    /// The response status. `None` without a response.
    pub status: Option<u16>,
    /// The response head for the archive, including the empty line. Empty without a response.
    pub response_head: Vec<u8>,
    began: Instant,
    is_over: bool,
}

impl Exchange {
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

    pub(crate) fn end(&mut self, response_head: Vec<u8>) {
        self.duration = self.began.elapsed();
        self.response_head = response_head;
        self.is_over = true;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }
}

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
    fn a_request_is_recorded_as_http_1_for_every_version() {
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
