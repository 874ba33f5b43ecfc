//! A response from a site graph, before it is written to the wire.

use std::time::Duration;

use bytes::Bytes;

/// How a body ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BodyEnd {
    /// The body ends as declared in the head.
    Whole,
    /// The body never ends, because its bytes are sent repeatedly.
    Endless,
    /// The connection ends before the declared length is reached.
    LengthTooLong,
    /// The connection ends before the final chunk.
    Unended,
}

/// The response and its delay.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct GraphAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
    pub(crate) end: BodyEnd,
    /// The delay before the first byte.
    pub(crate) delay: Duration,
}

impl GraphAnswer {
    /// Creates a response without delay. If the type is empty, there is no Content-Type.
    pub(super) fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let headers = match content_type {
            "" => Vec::new(),
            _ => vec![("content-type", content_type.to_owned())],
        };
        let (body, delay) = (body.into(), Duration::ZERO);
        Self { status, headers, body, end: BodyEnd::Whole, delay }
    }

    /// Creates a short HTML page like those that servers send with an error or a redirect.
    pub(super) fn page(status: u16, title: &str) -> Self {
        let body = format!("<!DOCTYPE html><title>{title}</title><h1>{title}</h1>\n");
        Self::new(status, "text/html; charset=utf-8", body)
    }

    pub(super) fn redirect(status: u16, location: String) -> Self {
        Self::page(status, "This page has moved").with("location", location)
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
