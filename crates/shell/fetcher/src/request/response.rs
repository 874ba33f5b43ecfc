//! Handles the response to a request: decides by its head, and reads as much of its body as needed.

use std::time::{Duration, Instant};

use chrono::Utc;
use http::{
    Response, StatusCode,
    header::{CONTENT_TYPE, DATE, HeaderMap},
};
use hyper::body::Incoming;
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use crate::{
    caching::Caching,
    content_types::accept,
    fetch_result::add_ms,
    local_failure::{LocalFailure, Stop},
    outcome::Outcome,
    permits::{politeness::Politeness, request_permits::RequestPermits},
    purpose::AtLimit,
    request::{
        body::{self, Codings, ReadBody},
        connection::Connection,
        head::{NextStep, judge_head, retry_after},
        hop::RequestChain,
        message,
        target::Target,
    },
};

/// Maximum bytes to read from the body of a redirect or an error response, so that the connection
/// can be reused, and for the records of a crawl.
const MAX_DRAINED_BYTES: usize = 64 * 1024;
/// Time limit for reading the body of a redirect or an error response. A new connection takes about
/// as long.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

impl RequestChain<'_> {
    pub(crate) async fn handle_response(
        &mut self,
        target: &Target,
        connection: Connection,
        head: Response<Incoming>,
        permits: RequestPermits,
    ) -> Result<NextStep, Stop> {
        let (parts, incoming) = head.into_parts();
        let (status, headers) = (parts.status, parts.headers);
        self.record_head(target, status, &headers);
        let verdict = self.judge(status, &headers);
        if let Ok(NextStep::Body) = verdict {
            let began = Instant::now();
            let read = self.read(incoming, &headers).await;
            add_ms(&mut self.fetched.timings.body, began.elapsed());
            let (body, memory) = read?;
            let outcome = body.outcome;
            // Over HTTP/1.1, the rest of a body that was cut would still arrive on the connection.
            let is_usable = body.is_read || (outcome.is_none() && connection.speaks_http2());
            self.take_body(status, &headers, body, memory);
            if is_usable {
                self.keep(target, connection, permits);
            }
            return outcome.map_or(Ok(NextStep::Body), |outcome| Err(outcome.into()));
        }
        self.fetched.retry_after = retry_after(&headers, self.fetched.http_date.as_deref());
        // An HTTP/2 stream can be abandoned, but an HTTP/1.1 connection must be drained before it
        // is reused.
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

    fn record_head(&mut self, target: &Target, status: StatusCode, headers: &HeaderMap) {
        self.cookies.take(&target.url, headers);
        self.fetched.status = Some(status.as_u16());
        self.current.response_received(status.as_u16());
        if let Some(hop) = self.fetched.last_hop() {
            hop.status = Some(status.as_u16());
        }
        self.fetched.content_type_header = message::text(headers.get(CONTENT_TYPE));
        self.fetched.http_date = message::text(headers.get(DATE));
        self.fetched.http_head = message::archived_head(status, headers, (0, false));
        if let Some(page) = &mut self.page {
            page.record_head(status, headers.clone());
        }
    }

    fn judge(&self, status: StatusCode, headers: &HeaderMap) -> Result<NextStep, Outcome> {
        let is_conditional = self.page.as_ref().is_some_and(|page| page.is_conditional);
        if is_conditional && status == StatusCode::NOT_MODIFIED {
            return Err(Outcome::NotModified);
        }
        match judge_head(status, headers)? {
            NextStep::Body if !accept(&self.purpose.types, headers) => Err(Outcome::TypeRefused),
            next_step => Ok(next_step),
        }
    }

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
        let codings = Codings::of(headers);
        let declared = body::declared_bytes(headers);
        let is_over = declared.is_some_and(|bytes| bytes > max_bytes as u64);
        if is_over && at_limit == AtLimit::Reject {
            return Err(Outcome::BodyTooLarge.into());
        }
        let expected = match declared.and_then(|bytes| usize::try_from(bytes).ok()) {
            Some(bytes) if codings.is_plain() => bytes.min(max_bytes),
            _ => max_bytes,
        };
        let memory = self.shared.politeness.acquire_memory(expected);
        let mut memory = self.clock.wait(memory).await?;
        let body = body::read(incoming, codings, max_bytes, at_limit, &self.clock).await?;
        Politeness::shrink_memory(&mut memory, body.bytes.len());
        Ok((body, memory))
    }

    /// Reads the first part of an error page for its record. Returns whether the whole body was
    /// read.
    async fn read_error_page(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        incoming: Incoming,
    ) -> Result<bool, LocalFailure> {
        let memory = self.shared.politeness.acquire_memory(MAX_DRAINED_BYTES);
        let mut memory = self.clock.wait(memory).await?;
        let codings = Codings::of(headers);
        let clock = self.clock.at_most(DRAIN_TIMEOUT);
        let read = body::read(incoming, codings, MAX_DRAINED_BYTES, AtLimit::Cut, &clock);
        let body = read.await?;
        Politeness::shrink_memory(&mut memory, body.bytes.len());
        let is_read = body.is_read;
        self.take_body(status, headers, body, memory);
        Ok(is_read)
    }

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
            None => self.fetched.caching = Some(Caching::of(headers, Utc::now())),
        }
        let kept = (body.bytes.len(), body.is_coded);
        self.fetched.http_head = message::archived_head(status, headers, kept);
        self.fetched.body = body.bytes;
        self.fetched.memory = Some(memory);
    }
}
