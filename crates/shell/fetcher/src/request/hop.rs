//! Sends one request: acquires permits, opens a connection, and reads the head of the response.
//!
//! If a request over a reused connection fails, it is sent again on a fresh connection, because the
//! peer may just have closed the old one. A timeout is final.

use std::{
    net::IpAddr,
    pin::pin,
    time::{Duration, Instant},
};

use everytab_webpage::PortList;
use http::Response;
use hyper::body::Incoming;

use crate::{
    fetch_result::{FetchResult, add_ms},
    health::clock::Clock,
    local_failure::Stop,
    names::resolved::Resolved,
    outcome::{Outcome, Passing},
    permits::request_permits::{RequestPermits, WirePermits},
    purpose::Purpose,
    request::{
        connection::Connection,
        cookies::Cookies,
        dial::DialRequest,
        head::{NextStep, of_head_error},
        message,
        page_chain::PageChain,
        scope::FetchScope,
        shared::Shared,
        target::Target,
    },
    request_log::{CurrentRequest, RequestEnd},
};

pub(crate) struct RequestChain<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) scope: FetchScope<'a>,
    pub(crate) purpose: &'a Purpose,
    pub(crate) page: Option<Box<PageChain>>,
    pub(crate) ports: &'a PortList,
    pub(crate) clock: Clock,
    pub(crate) cookies: Cookies,
    pub(crate) fetched: FetchResult,
    pub(crate) current: CurrentRequest<'a>,
}

impl RequestChain<'_> {
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
                    return self.handle_response(target, connection, head, permits).await;
                }
                Err(Stop::Outcome(outcome)) if !is_late(outcome) => {
                    self.end_request(RequestEnd::SentAgain, 0);
                    drop(wire);
                    self.pause().await;
                }
                Err(stop) => return Err(stop),
            }
        } else {
            // A request that waits must not hold permits, and dialling waits for new ones.
            drop(wire);
        }
        let (connection, wire) = self.dial(target, addresses).await?;
        let (connection, head) = self.send(target, connection).await?;
        self.handle_response(target, connection, head, RequestPermits { host, wire }).await
    }

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
                let meter = self.scope.meter;
                let address = connection.endpoint.ip();
                if self.scope.is_spaced {
                    self.clock.wait(Box::pin(politeness.space_out(address))).await;
                }
                Ok(WirePermits::acquire(politeness, meter, address, &mut self.clock).await?)
            }
        }
    }

    async fn dial(
        &mut self,
        target: &Target,
        addresses: &[IpAddr],
    ) -> Result<(Connection, WirePermits), Stop> {
        let shared = self.shared;
        let scope = self.scope;
        let clock = &mut self.clock;
        let timings = &mut self.fetched.timings;
        let connect_timeout = self.purpose.times.connect;
        let tried = None;
        let mut request =
            DialRequest { shared, scope, target, clock, timings, connect_timeout, tried };
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

    /// Returns `IpBlocked` unless all addresses of the target are allowed.
    async fn addresses(&mut self, target: &Target) -> Result<Vec<IpAddr>, Stop> {
        let addresses = self.look_up(target).await?;
        let may_dial = |address| self.scope.robot.may_dial(&self.shared.guard, address);
        if addresses.iter().all(|address| may_dial(*address)) {
            Ok(addresses)
        } else {
            Err(Outcome::IpBlocked.into())
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
        let false_checks = self.shared.resolver.false_checks();
        // Waiting here does not count, because a lookup has its own deadlines.
        let resolved = self.clock.wait(self.shared.resolver.resolve(&target.host)).await?;
        add_ms(&mut self.fetched.timings.dns, began.elapsed());
        let (resolved, was_asked) = resolved;
        if was_asked {
            self.scope.meter.looked_up(began.elapsed());
        }
        match resolved {
            Resolved::Addresses(addresses) => Ok(addresses.to_vec()),
            Resolved::Failed(outcome) => {
                // A crawl records this outcome permanently, so confirm it. An icon's outcome needs
                // no confirmation, because a false result voids its whole shard.
                if self.page.is_some() && outcome.passing(None) == Passing::No {
                    let confirming = Box::pin(self.shared.resolver.confirm(false_checks));
                    self.clock.wait(confirming).await?;
                }
                Err(outcome.into())
            }
        }
    }

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
        if let Some(page) = &mut self.page {
            page.send(&target.url, &mut request, connection.endpoint);
        }
        self.current.send(target.url.as_str());
        let too_many_interim = message::watch_interim_responses(&mut request);
        let began = Instant::now();
        let step = self.purpose.times.first_byte;
        let sending = async {
            let sent = tokio::select! {
                sent = connection.send(request) => sent,
                () = too_many_interim.notified() => return Err(Outcome::HeaderTooLarge.into()),
            };
            // If both futures have completed, the outcome must not depend on which was polled
            // first.
            if pin!(too_many_interim.notified()).enable() {
                return Err(Outcome::HeaderTooLarge.into());
            }
            sent.map_err(|error| of_head_error(&error, speaks_http2))
        };
        let sent = self.clock.within(step, Outcome::FirstByteTimeout, sending).await;
        add_ms(&mut self.fetched.timings.first_byte, began.elapsed());
        let head = sent??;
        Ok((connection, head))
    }

    /// Waits for the delay between two requests to a host. Does nothing for icons. Callers may hold
    /// only the permit for the hostname.
    pub(crate) async fn pause(&mut self) {
        let pause = self.page.as_ref().map_or(Duration::ZERO, |page| page.pause);
        if pause > Duration::ZERO {
            self.clock.wait(Box::pin(tokio::time::sleep(pause))).await;
        }
    }

    /// Must be called after the needed part of the response was read.
    pub(crate) fn end_request(&mut self, end: RequestEnd, body_bytes: usize) {
        self.current.end(end, body_bytes);
        if let Some(page) = &mut self.page {
            page.ended(std::mem::take(&mut self.fetched.http_head));
        }
    }
}

/// A request that timed out is not retried, because a fresh connection would not be faster.
fn is_late(outcome: Outcome) -> bool {
    outcome == Outcome::FirstByteTimeout || outcome == Outcome::TotalTimeout
}
