//! The state that a crawl request needs in addition to the state of an icon request.
//!
//! This module does not depend on connections, or on how responses are judged.

use std::{net::SocketAddr, time::Duration};

use http::{HeaderMap, Request, StatusCode};
use url::Url;

use crate::{
    page::{
        exchange::{CutReason, Exchange},
        validators::Validators,
    },
    request::body::{self, ReadBody},
};

/// The additional state of a crawl request.
#[derive(Default)]
pub(crate) struct PageChain {
    validators: Validators,
    /// Minimum time between two requests of the chain to the same host.
    pub(crate) pause: Duration,
    /// The requests that were sent. The last one may be in flight.
    pub(crate) exchanges: Vec<Exchange>,
    /// The last response's fields.
    pub(crate) headers: HeaderMap,
    pub(crate) truncated: Option<CutReason>,
    /// Whether the body still has the codings that the head names.
    pub(crate) is_coded: bool,
    /// The target of the last response's redirect, if the redirect is reported.
    pub(crate) redirect: Option<String>,
    /// Whether the current request was sent with validators.
    pub(crate) is_conditional: bool,
    /// Whether a redirect was followed.
    is_redirected: bool,
}

impl PageChain {
    pub(crate) fn new(validators: Validators, pause: Duration) -> Self {
        Self { validators, pause, ..Self::default() }
    }

    /// Adds the validators to a request that is about to be sent, and records it. A request that
    /// follows a redirect gets no validators, because they belong to another URL.
    pub(crate) fn send<B>(&mut self, url: &Url, request: &mut Request<B>, address: SocketAddr) {
        self.is_conditional = !self.is_redirected && self.validators.add_to(request.headers_mut());
        self.exchanges.push(Exchange::begin(url, request, address));
    }

    /// Records the head of a response.
    pub(crate) fn record_head(&mut self, status: StatusCode, headers: HeaderMap) {
        let has_no_body = status == StatusCode::NO_CONTENT
            || status == StatusCode::NOT_MODIFIED
            || body::declared_bytes(&headers) == Some(0);
        // Until the body is read, the response counts as truncated, unless it has no body.
        self.truncated = (!has_no_body).then_some(CutReason::Length);
        self.headers = headers;
        if let Some(exchange) = self.exchanges.last_mut() {
            exchange.status = Some(status.as_u16());
        }
    }

    /// Records the part of the body that was read.
    pub(crate) fn read(&mut self, body: &ReadBody) {
        (self.truncated, self.is_coded) = (body.cut, body.is_coded);
    }

    /// Ends the current request, unless it has already ended. `response_head` is the head of its
    /// response.
    pub(crate) fn ended(&mut self, response_head: Vec<u8>) {
        if let Some(exchange) = self.exchanges.last_mut().filter(|one| !one.is_over()) {
            exchange.end(response_head);
        }
    }

    /// Records that a redirect is followed.
    pub(crate) fn redirected(&mut self) {
        self.is_redirected = true;
    }
}
