//! The answer to one request: what its head decides, and its body as far as it is wanted.
//!
//! Must not know: how the request was sent, redirects beyond recognising one, robots.txt.

use std::time::{Duration, Instant};

use http::{
    Response, StatusCode,
    header::{CONTENT_TYPE, DATE, HeaderMap},
};
use hyper::body::Incoming;
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use crate::{
    fetched::add_ms,
    outcome::Outcome,
    permits::{politeness::Politeness, request_permits::RequestPermits},
    purpose::AtLimit,
    request::{
        body::{self, ReadBody},
        connection::Connection,
        head::{NextStep, judge_head, retry_after},
        hop::RequestChain,
        message,
        target::Target,
    },
    trouble::{Stop, Trouble},
};

/// Bytes of a refusal's body that are read to keep the connection, and with a crawl's records: most
/// error pages are shorter.
const MAX_DRAINED_BYTES: usize = 64 * 1024;
/// The time for reading a refusal's body; a new connection costs about as much.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

impl RequestChain<'_> {
    /// Understands the head, and reads the body if it is wanted.
    pub(crate) async fn answer(
        &mut self,
        target: &Target,
        connection: Connection,
        head: Response<Incoming>,
        permits: RequestPermits,
    ) -> Result<NextStep, Stop> {
        let (parts, incoming) = head.into_parts();
        let (status, headers) = (parts.status, parts.headers);
        self.note(target, status, &headers);
        let verdict = self.judge(status, &headers);
        if let Ok(NextStep::Body) = verdict {
            let began = Instant::now();
            let read = self.read(incoming, &headers).await;
            add_ms(&mut self.fetched.timings.body, began.elapsed());
            let (body, memory) = read?;
            let outcome = body.outcome;
            // What was cut is still to come over a connection of HTTP/1.1.
            let is_usable = body.is_read || (outcome.is_none() && connection.speaks_http2());
            self.take_body(status, &headers, body, memory);
            if is_usable {
                self.keep(target, connection, permits);
            }
            return outcome.map_or(Ok(NextStep::Body), |outcome| Err(outcome.into()));
        }
        self.fetched.retry_after = retry_after(&headers, self.fetched.http_date.as_deref());
        // A stream of HTTP/2 can be left; a connection of HTTP/1.1 must be read to be used again.
        let is_read = match &verdict {
            Err(Outcome::TypeRefused) => false,
            Err(_) if self.page.is_some() && status.as_u16() >= 400 => {
                Box::pin(self.read_error_page(status, &headers, incoming)).await?
            }
            _ if connection.speaks_http2() => true,
            _ => {
                let drained = body::drain(incoming, MAX_DRAINED_BYTES);
                timeout(DRAIN_TIMEOUT, drained).await.unwrap_or(false)
            }
        };
        if is_read || connection.speaks_http2() {
            self.keep(target, connection, permits);
        }
        verdict.map_err(Stop::Outcome)
    }

    /// Writes down what the head says.
    fn note(&mut self, target: &Target, status: StatusCode, headers: &HeaderMap) {
        self.cookies.take(&target.url, headers);
        self.fetched.status = Some(status.as_u16());
        self.current.answered(status.as_u16());
        if let Some(hop) = self.fetched.last_hop() {
            hop.status = Some(status.as_u16());
        }
        self.fetched.content_type_header = message::text(headers.get(CONTENT_TYPE));
        self.fetched.http_date = message::text(headers.get(DATE));
        self.fetched.http_head = message::archived_head(status, headers, (0, false));
        if let Some(page) = &mut self.page {
            page.answered(status, headers.clone());
        }
    }

    /// Decides by status and fields, and by what the request is for.
    fn judge(&self, status: StatusCode, headers: &HeaderMap) -> Result<NextStep, Outcome> {
        let is_conditional = self.page.as_ref().is_some_and(|page| page.is_conditional);
        if is_conditional && status == StatusCode::NOT_MODIFIED {
            return Err(Outcome::NotModified);
        }
        match judge_head(status, headers)? {
            NextStep::Body if !self.purpose.types.accept(headers) => Err(Outcome::TypeRefused),
            next_step => Ok(next_step),
        }
    }

    /// Keeps the connection for the next URL of the origin, and the permits if that comes next.
    fn keep(&self, target: &Target, connection: Connection, permits: RequestPermits) {
        self.scope.pool.keep(&target.origin, connection, &self.shared.politeness);
        if self.scope.is_sequential {
            self.scope.pool.hand_on(&target.origin, permits);
        }
    }

    async fn read(
        &mut self,
        incoming: Incoming,
        headers: &HeaderMap,
    ) -> Result<(ReadBody, OwnedSemaphorePermit), Stop> {
        let (max_bytes, at_limit) = (self.purpose.max_bytes, self.purpose.at_limit);
        let codings = body::codings(headers);
        let declared = body::declared_bytes(headers);
        let is_over = declared.is_some_and(|bytes| bytes > max_bytes as u64);
        if is_over && at_limit == AtLimit::Refuse {
            return Err(Outcome::BodyTooLarge.into());
        }
        let is_plain = codings.as_ref().is_some_and(Vec::is_empty);
        let expected = match declared.and_then(|bytes| usize::try_from(bytes).ok()) {
            Some(bytes) if is_plain => bytes.min(max_bytes),
            _ => max_bytes,
        };
        let memory = self.shared.politeness.acquire_memory(expected);
        let mut memory = self.clock.wait(memory).await?;
        let body = body::read(incoming, codings, max_bytes, at_limit, &self.clock).await?;
        Politeness::shrink_memory(&mut memory, body.bytes.len());
        Ok((body, memory))
    }

    /// Reads the beginning of an error page for its record. Returns whether that was all of it;
    /// nothing that goes wrong with it changes the outcome.
    async fn read_error_page(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        incoming: Incoming,
    ) -> Result<bool, Trouble> {
        let memory = self.shared.politeness.acquire_memory(MAX_DRAINED_BYTES);
        let mut memory = self.clock.wait(memory).await?;
        let (codings, clock) = (body::codings(headers), self.clock.at_most(DRAIN_TIMEOUT));
        let read = body::read(incoming, codings, MAX_DRAINED_BYTES, AtLimit::Cut, &clock);
        let body = read.await?;
        Politeness::shrink_memory(&mut memory, body.bytes.len());
        let is_read = body.is_read;
        self.take_body(status, headers, body, memory);
        Ok(is_read)
    }

    /// Keeps a body: of an icon one with which the fetch goes on, of a page what came of it.
    fn take_body(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        body: ReadBody,
        memory: OwnedSemaphorePermit,
    ) {
        match &mut self.page {
            Some(page) => page.read(&body),
            None if body.outcome.is_some() => return,
            None => {}
        }
        let kept = (body.bytes.len(), body.is_coded);
        self.fetched.http_head = message::archived_head(status, headers, kept);
        self.fetched.body = body.bytes;
        self.fetched.memory = Some(memory);
    }
}
