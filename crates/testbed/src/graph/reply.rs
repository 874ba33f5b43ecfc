//! An answer of a graph of sites, before it is put on the wire.

use std::time::Duration;

use bytes::Bytes;

/// How a body ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BodyEnd {
    /// As its head says.
    Whole,
    /// Never: it is sent again and again.
    Endless,
    /// With the connection, before the length that the head says.
    LengthTooLong,
    /// With the connection, before the chunk that ends it.
    Unended,
}

/// What is sent, and when.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct GraphAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
    pub(crate) end: BodyEnd,
    /// The wait before the first byte.
    pub(crate) delay: Duration,
}

impl GraphAnswer {
    /// An answer without delay; an empty type writes no Content-Type.
    pub(super) fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let headers = match content_type {
            "" => Vec::new(),
            _ => vec![("content-type", content_type.to_owned())],
        };
        let (body, delay) = (body.into(), Duration::ZERO);
        Self { status, headers, body, end: BodyEnd::Whole, delay }
    }

    /// A short page, as servers send with an error or a redirect.
    pub(super) fn page(status: u16, title: &str) -> Self {
        let body = format!("<!DOCTYPE html><title>{title}</title><h1>{title}</h1>\n");
        Self::new(status, "text/html; charset=utf-8", body)
    }

    /// A redirect.
    pub(super) fn redirect(status: u16, location: String) -> Self {
        Self::page(status, "This page has moved").with("location", location)
    }

    /// Adds a header field.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
