//! A response from a site graph, before it is written to the wire.

use std::time::Duration;

use bytes::Bytes;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BodyEnd {
    Whole,
    Endless,
    LengthTooLong,
    Unended,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct GraphAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
    pub(crate) end: BodyEnd,
    pub(crate) delay: Duration,
}

impl GraphAnswer {
    pub(super) fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let headers = match content_type {
            "" => Vec::new(),
            _ => vec![("content-type", content_type.to_owned())],
        };
        let body = body.into();
        let delay = Duration::ZERO;
        Self { status, headers, body, end: BodyEnd::Whole, delay }
    }

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
