//! What a request of a crawl keeps on its way, beside what that of an icon does.
//!
//! Must not know: connections, how answers are judged.

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

/// What a request of a crawl keeps on its way.
#[derive(Default)]
pub(crate) struct PageChain {
    validators: Validators,
    /// The time between two requests of the chain to one host.
    pub(crate) pause: Duration,
    /// The requests that were sent; the last one may be under way.
    pub(crate) exchanges: Vec<Exchange>,
    /// The fields of the last answer.
    pub(crate) headers: HeaderMap,
    pub(crate) truncated: Option<CutReason>,
    /// Whether the body has the codings of the head.
    pub(crate) is_coded: bool,
    /// Where the last answer redirects to, if that is reported.
    pub(crate) redirect: Option<String>,
    /// Whether the request under way has validators.
    pub(crate) is_conditional: bool,
    /// Whether a redirect was followed.
    is_redirected: bool,
}

impl PageChain {
    pub(crate) fn new(validators: Validators, pause: Duration) -> Self {
        Self { validators, pause, ..Self::default() }
    }

    /// A request is about to be sent. It gets the validators unless it follows a redirect: they are
    /// of another URL then.
    pub(crate) fn send<B>(&mut self, url: &Url, request: &mut Request<B>, address: SocketAddr) {
        self.is_conditional = !self.is_redirected && self.validators.add_to(request.headers_mut());
        self.exchanges.push(Exchange::begin(url, request, address));
    }

    /// The head of the answer is there.
    pub(crate) fn answered(&mut self, status: StatusCode, headers: HeaderMap) {
        let has_no_body = status == StatusCode::NO_CONTENT
            || status == StatusCode::NOT_MODIFIED
            || body::declared_bytes(&headers) == Some(0);
        // Until it is read.
        self.truncated = (!has_no_body).then_some(CutReason::Length);
        self.headers = headers;
        if let Some(exchange) = self.exchanges.last_mut() {
            exchange.status = Some(status.as_u16());
        }
    }

    /// The body was read, as far as it came and is wanted.
    pub(crate) fn read(&mut self, body: &ReadBody) {
        (self.truncated, self.is_coded) = (body.cut, body.is_coded);
    }

    /// The request is over; `response_head` is that of its answer.
    pub(crate) fn ended(&mut self, response_head: Vec<u8>) {
        if let Some(exchange) = self.exchanges.last_mut().filter(|one| !one.is_over()) {
            exchange.end(response_head);
        }
    }

    /// A redirect is followed.
    pub(crate) fn redirected(&mut self) {
        self.is_redirected = true;
    }
}
