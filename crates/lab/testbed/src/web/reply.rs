//! A response, ready to be written to the wire.

use std::time::Duration;

use bytes::Bytes;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ending {
    Length,
    Unannounced,
    /// Content-Length is this many bytes, regardless of the body. The connection ends after the
    /// body.
    Declared(usize),
    /// Content-Length is the body's length, but only this many bytes are sent.
    StallAfter(usize),
    Unended,
    Endless,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    pub(crate) delay: Duration,
    pub(crate) ending: Ending,
}

impl Answer {
    pub(crate) fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let headers = match content_type {
            "" => Vec::new(),
            _ => vec![header("content-type", content_type)],
        };
        let delay = Duration::ZERO;
        let ending = Ending::Length;
        Self { status, headers, body: body.into(), delay, ending }
    }

    pub(crate) fn page(status: u16, title: &str) -> Self {
        let body = format!(
            "<!DOCTYPE html><html><head><title>{title}</title></head>\
             <body><h1>{title}</h1><svg width=\"1\" height=\"1\"></svg></body></html>\n"
        );
        Self::new(status, "text/html; charset=utf-8", body)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push(header(name, value));
        self
    }
}

pub(crate) fn header(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}
