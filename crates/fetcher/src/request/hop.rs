//! One request and its answer: permits, connection, head, and the body if it is wanted.
//!
//! An error on a connection that had carried a request before says nothing about the peer, which
//! may just have closed it. The request is sent once more on a fresh one, whose outcome counts.
//! Must not know: redirects beyond recognising one, robots.txt.

use std::{
    net::IpAddr,
    time::{Duration, Instant},
};

use bytes::Bytes;
use everytab_webpage::robots::MAX_ROBOTS_BYTES;
use http::{
    Response,
    header::{CONTENT_TYPE, DATE, HeaderMap},
};
use hyper::body::Incoming;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    fetched::{Fetched, Purpose, add_ms},
    health::clock::Clock,
    names::resolver::Resolved,
    outcome::Outcome,
    permits::{
        politeness::Politeness,
        request_permits::{RequestPermits, WirePermits},
    },
    request::{
        body::{self, AtLimit},
        connection::Connection,
        cookies::Cookies,
        dial::DialRequest,
        head::{NextStep, judge_head, of_head_error, retry_after},
        message,
        scope::FetchScope,
        shared::Shared,
        target::Target,
    },
    request_log::{CurrentRequest, RequestEnd},
    trouble::Stop,
};

/// Bytes of a refusal's body that are read to keep the connection: most error pages are shorter.
const MAX_DRAINED_BYTES: usize = 64 * 1024;
/// The time for reading a refusal's body; a new connection costs about as much.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A URL with its redirects, on its way: what its requests share.
pub(crate) struct RequestChain<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) scope: FetchScope<'a>,
    pub(crate) purpose: Purpose,
    pub(crate) clock: Clock,
    pub(crate) cookies: Cookies,
    pub(crate) fetched: Fetched,
    pub(crate) current: CurrentRequest<'a>,
}

impl RequestChain<'_> {
    /// Sends one request for `target` and understands the answer, unless the target is excluded
    /// before or meanwhile; then a request under way ends, and its connection with it.
    pub(crate) async fn request(&mut self, target: &Target) -> Result<NextStep, Stop> {
        let handed_on = self.scope.pool.take_handed_on(&target.origin);
        let addresses = self.addresses(target).await?;
        let exclusions = self.scope.exclusions;
        tokio::select! {
            biased;
            () = exclusions.until_covered(&target.host, &addresses) => {
                Err(Outcome::OptedOut.into())
            }
            answered = self.request_of(target, &addresses, handed_on) => answered,
        }
    }

    async fn request_of(
        &mut self,
        target: &Target,
        addresses: &[IpAddr],
        handed_on: Option<RequestPermits>,
    ) -> Result<NextStep, Stop> {
        let (host, wire) = match handed_on {
            Some(RequestPermits { host, wire }) => (host, Some(wire)),
            None => {
                let host = self.shared.politeness.acquire_host(&target.host);
                let host = self.clock.wait(host).await;
                self.scope.meter.concurrent_per_host(host.concurrent());
                (host, None)
            }
        };
        if let Some(connection) = self.scope.pool.take(&target.origin) {
            let wire = self.permits_to_reuse(&connection, wire).await?;
            self.scope.meter.reused();
            match self.send(target, connection).await {
                Ok((connection, head)) => {
                    let permits = RequestPermits { host, wire };
                    return self.answer(target, connection, head, permits).await;
                }
                // Whatever fails in time on a used connection is sent again on a fresh one.
                Err(Stop::Outcome(outcome)) if !is_late(outcome) => {
                    self.current.end(RequestEnd::SentAgain, 0);
                    drop(wire);
                }
                Err(stop) => return Err(stop),
            }
        } else {
            // Dialling waits for permits, and a request that waits must not hold any.
            drop(wire);
        }
        let (connection, wire) = self.dial(target, addresses).await?;
        let (connection, head) = self.send(target, connection).await?;
        self.answer(target, connection, head, RequestPermits { host, wire }).await
    }

    /// The permits for a request over an open connection: those handed on, which have only to wait
    /// for the rate limit, or new ones.
    async fn permits_to_reuse(
        &mut self,
        connection: &Connection,
        handed_on: Option<WirePermits>,
    ) -> Result<WirePermits, Stop> {
        let politeness = &self.shared.politeness;
        match handed_on {
            Some(wire) => {
                self.clock.wait(politeness.rate_limiter.acquire()).await;
                Ok(wire)
            }
            None => {
                let (meter, address) = (self.scope.meter, connection.endpoint.ip());
                Ok(WirePermits::acquire(politeness, meter, address, &mut self.clock).await?)
            }
        }
    }

    async fn dial(
        &mut self,
        target: &Target,
        addresses: &[IpAddr],
    ) -> Result<(Connection, WirePermits), Stop> {
        let (shared, scope) = (self.shared, self.scope);
        let (clock, timings) = (&mut self.clock, &mut self.fetched.timings);
        let mut request = DialRequest { shared, scope, target, clock, timings, tried: None };
        let dialled = request.dial(addresses).await;
        let tried = request.tried;
        if let Some(hop) = self.fetched.last_hop() {
            hop.address = tried;
        }
        if tried.is_some() && dialled.is_err() {
            self.current.no_connection(target.url.as_str());
        }
        dialled
    }

    /// The addresses of the target; all of them are allowed.
    async fn addresses(&mut self, target: &Target) -> Result<Vec<IpAddr>, Stop> {
        let addresses = self.look_up(target).await?;
        let may_ask = |address| self.scope.robot.may_ask(&self.shared.guard, address);
        match addresses.iter().all(|address| may_ask(*address)) {
            true => Ok(addresses),
            false => Err(Outcome::IpBlocked.into()),
        }
    }

    async fn look_up(&mut self, target: &Target) -> Result<Vec<IpAddr>, Stop> {
        if let Some(address) = target.literal {
            if !self.shared.guard.allows(address) {
                return Err(Outcome::IpBlocked.into());
            }
            return Ok(vec![address]);
        }
        let began = Instant::now();
        // A look-up has deadlines of its own, and may be shared with other fetches.
        let resolved = self.clock.wait(self.shared.resolver.resolve(&target.host)).await?;
        add_ms(&mut self.fetched.timings.dns, began.elapsed());
        let (resolved, was_asked) = resolved;
        if was_asked {
            self.scope.meter.looked_up(began.elapsed());
        }
        match resolved {
            Resolved::Addresses(addresses) => Ok(addresses.to_vec()),
            Resolved::Failed(outcome) => Err(outcome.into()),
        }
    }

    /// Sends the request and waits for the head of the answer.
    async fn send(
        &mut self,
        target: &Target,
        mut connection: Connection,
    ) -> Result<(Connection, Response<Incoming>), Stop> {
        self.fetched.certificate = connection.certificate.or(self.fetched.certificate);
        if let Some(hop) = self.fetched.last_hop() {
            hop.address = Some(connection.endpoint);
        }
        let speaks_http2 = connection.speaks_http2();
        let mut request = message::build(
            &target.url,
            self.purpose,
            speaks_http2,
            self.scope.robot.user_agent(),
            self.cookies.header(&target.url).as_deref(),
        )?;
        if let Some(signer) = self.scope.signer {
            connection.sign(signer, message::authority(&target.url), request.headers_mut());
        }
        self.current.send(target.url.as_str());
        let too_many_interim = message::watch_interim_answers(&mut request);
        let began = Instant::now();
        let step = self.shared.settings.first_byte_timeout;
        let sending = async {
            tokio::select! {
                sent = connection.send(request) => {
                    sent.map_err(|error| of_head_error(&error, speaks_http2))
                }
                () = too_many_interim.notified() => Err(Outcome::HeaderTooLarge.into()),
            }
        };
        let sent = self.clock.within(step, Outcome::FirstByteTimeout, sending).await;
        add_ms(&mut self.fetched.timings.first_byte, began.elapsed());
        let head = sent??;
        Ok((connection, head))
    }

    /// Understands the head, and reads the body if it is wanted.
    async fn answer(
        &mut self,
        target: &Target,
        connection: Connection,
        head: Response<Incoming>,
        permits: RequestPermits,
    ) -> Result<NextStep, Stop> {
        let (parts, incoming) = head.into_parts();
        let (status, headers) = (parts.status, parts.headers);
        self.cookies.take(&target.url, &headers);
        self.fetched.status = Some(status.as_u16());
        self.current.answered(status.as_u16());
        if let Some(hop) = self.fetched.last_hop() {
            hop.status = Some(status.as_u16());
        }
        self.fetched.content_type_header = message::text(headers.get(CONTENT_TYPE));
        self.fetched.http_date = message::text(headers.get(DATE));
        self.fetched.http_head = message::archived_head(status, &headers, 0);
        let verdict = judge_head(status, &headers);
        if let Ok(NextStep::Body) = verdict {
            let began = Instant::now();
            let read = self.read(incoming, &headers).await;
            add_ms(&mut self.fetched.timings.body, began.elapsed());
            let (body, memory) = read?;
            self.fetched.http_head = message::archived_head(status, &headers, body.len());
            self.fetched.body = body;
            self.fetched.memory = Some(memory);
            self.keep(target, connection, permits);
            return Ok(NextStep::Body);
        }
        self.fetched.retry_after = retry_after(&headers, self.fetched.http_date.as_deref());
        // A stream of HTTP/2 can be left; a connection of HTTP/1.1 must be read to be used again.
        let is_usable = connection.speaks_http2()
            || tokio::time::timeout(DRAIN_TIMEOUT, body::drain(incoming, MAX_DRAINED_BYTES))
                .await
                .unwrap_or(false);
        if is_usable {
            self.keep(target, connection, permits);
        }
        verdict.map_err(Stop::Outcome)
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
    ) -> Result<(Bytes, OwnedSemaphorePermit), Stop> {
        let (max_bytes, at_limit) = match self.purpose {
            Purpose::Icon => (self.shared.settings.max_body_bytes, AtLimit::Refuse),
            Purpose::Robots => (MAX_ROBOTS_BYTES, AtLimit::Cut),
        };
        let coding = body::coding(headers)?;
        let declared = body::declared_bytes(headers);
        let is_over = declared.is_some_and(|bytes| bytes > max_bytes as u64);
        if is_over && at_limit == AtLimit::Refuse {
            return Err(Outcome::BodyTooLarge.into());
        }
        let expected = match (coding, declared.and_then(|bytes| usize::try_from(bytes).ok())) {
            (body::Coding::Identity, Some(bytes)) => bytes.min(max_bytes),
            _ => max_bytes,
        };
        let memory = self.shared.politeness.acquire_memory(expected);
        let mut memory = self.clock.wait(memory).await?;
        let body = body::read(incoming, coding, max_bytes, at_limit, &self.clock).await?;
        Politeness::shrink_memory(&mut memory, body.len());
        Ok((body, memory))
    }
}

/// Whether a request ended because its time was over, which a fresh connection would not change.
fn is_late(outcome: Outcome) -> bool {
    outcome == Outcome::FirstByteTimeout || outcome == Outcome::TotalTimeout
}
