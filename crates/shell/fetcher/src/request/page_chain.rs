//! The state that a crawl request needs in addition to the state of an icon request.

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

#[derive(Default)]
pub(crate) struct PageChain {
    validators: Validators,
    pub(crate) pause: Duration,
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) headers: HeaderMap,
    pub(crate) truncated: Option<CutReason>,
    pub(crate) is_coded: bool,
    pub(crate) redirect: Option<String>,
    pub(crate) is_conditional: bool,
    is_redirected: bool,
}

impl PageChain {
    pub(crate) fn new(validators: Validators, pause: Duration) -> Self {
        Self { validators, pause, ..Self::default() }
    }

    /// A request that follows a redirect gets no validators, because they belong to another URL.
    pub(crate) fn send<B>(&mut self, url: &Url, request: &mut Request<B>, address: SocketAddr) {
        self.is_conditional = !self.is_redirected && self.validators.add_to(request.headers_mut());
        self.exchanges.push(Exchange::begin(url, request, address));
    }

    pub(crate) fn record_head(&mut self, status: StatusCode, headers: HeaderMap) {
        let has_no_body = status == StatusCode::NO_CONTENT
            || status == StatusCode::NOT_MODIFIED
            || body::declared_bytes(&headers) == Some(0);
        // Until its body is read, the response counts as truncated.
        self.truncated = (!has_no_body).then_some(CutReason::Length);
        self.headers = headers;
        if let Some(exchange) = self.exchanges.last_mut() {
            exchange.status = Some(status.as_u16());
        }
    }

    pub(crate) fn read(&mut self, body: &ReadBody) {
        (self.truncated, self.is_coded) = (body.cut, body.is_coded);
    }

    pub(crate) fn ended(&mut self, response_head: Vec<u8>) {
        if let Some(exchange) = self.exchanges.last_mut().filter(|one| !one.is_over()) {
            exchange.end(response_head);
        }
    }

    pub(crate) fn redirected(&mut self) {
        self.is_redirected = true;
    }
}
