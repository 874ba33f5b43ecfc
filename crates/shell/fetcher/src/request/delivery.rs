//! Sends a body by POST to a URL that a user specified, for webhooks.
//!
//! It dials only addresses that the guard allows, and verifies the peer's certificate. Plain http
//! is only used for addresses in `allow_ranges`. Redirects are not followed, and the
//! response body is not read.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{
    Request, StatusCode,
    header::{CONTENT_TYPE, DATE, HOST, USER_AGENT},
};
use http_body_util::Full;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Position;

use crate::{
    health::clock::Clock,
    local_failure::{LocalFailure, Stop},
    meter::FetchMeter,
    names::resolved::Resolved,
    outcome::{AfterStall, Outcome},
    page::options::PageOptions,
    permits::request_permits::WirePermits,
    purpose::TimeLimits,
    request::{
        connection::Connection,
        dial::{MAX_ADDRESSES_TRIED, server_name},
        dial_errors::{most_retryable, of_connect_error, of_tls_error},
        fetcher::Fetcher,
        head::{of_head_error, retry_after},
        message,
        shared::Shared,
        target::Target,
    },
};

/// A body to deliver.
#[derive(Debug, Clone)]
pub struct Delivery<'a> {
    /// The URL. Its port must be in the fetcher's settings.
    pub url: &'a str,
    /// The body's content type.
    pub content_type: &'a str,
    /// Additional header fields.
    pub fields: &'a [(&'static str, String)],
    /// The body.
    pub body: Bytes,
    /// Time limits. `connect` applies to connecting, and again to the TLS handshake.
    pub times: TimeLimits,
}

/// A delivery's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// [`Outcome::Ok`] for a success status, [`Outcome::Redirected`] for any 3xx status. Otherwise
    /// the reason for the failure.
    pub outcome: Outcome,
    /// The status. `None` if there was no response.
    pub status: Option<u16>,
    /// The receiver's `Retry-After`, if it sent one.
    pub retry_after: Option<Duration>,
}

impl Fetcher {
    /// Sends a body to a URL, unless the options block or exclude its host.
    ///
    /// # Errors
    /// Returns an error if a local failure voided the attempt.
    pub async fn deliver(
        &self,
        options: &PageOptions,
        delivery: &Delivery<'_>,
    ) -> Result<Delivered, LocalFailure> {
        let began = Instant::now();
        let shared = &self.shared;
        match Box::pin(self.send_once(options, delivery)).await {
            Ok(delivered) => Ok(delivered),
            Err(Stop::LocalFailure(failure)) => Err(failure),
            Err(Stop::Outcome(outcome)) => {
                if outcome.after_stall() == AfterStall::Void && shared.stalls.since(began) {
                    return Err(LocalFailure::Stalled);
                }
                if outcome.is_silence() {
                    shared.connectivity.check().await?;
                }
                Ok(Delivered { outcome, status: None, retry_after: None })
            }
        }
    }

    async fn send_once(
        &self,
        options: &PageOptions,
        delivery: &Delivery<'_>,
    ) -> Result<Delivered, Stop> {
        let shared = &*self.shared;
        let target = Target::submitted(delivery.url, &shared.settings.ports)?;
        let mut clock = Clock::start(delivery.times.total);
        let is_excluded = |addresses: &[IpAddr]| {
            let host = &target.host;
            options.blocklist.blocks(host) || options.exclusions.cover(host, addresses)
        };
        if is_excluded(&[]) {
            return Err(Outcome::OptedOut.into());
        }
        let addresses = addresses_of(shared, &target, &mut clock).await?;
        if is_excluded(&addresses) {
            return Err(Outcome::OptedOut.into());
        }
        if !target.is_https && !addresses.iter().all(|address| shared.guard.is_in_allow(*address)) {
            return Err(Outcome::UrlScheme.into());
        }
        let request = request_of(shared, &target, delivery)?;
        let (mut connection, _permits) =
            dial(shared, &target, &addresses, (&mut clock, &delivery.times)).await?;
        let sent = clock.within(
            delivery.times.first_byte,
            Outcome::FirstByteTimeout,
            connection.send(request),
        );
        let response = sent.await?.map_err(|error| of_head_error(&error, false))?;
        let date = message::text(response.headers().get(DATE));
        Ok(Delivered {
            outcome: outcome_of(response.status()),
            status: Some(response.status().as_u16()),
            retry_after: retry_after(response.headers(), date.as_deref()),
        })
    }
}

fn outcome_of(status: StatusCode) -> Outcome {
    match status.as_u16() {
        200..=299 => Outcome::Ok,
        300..=399 => Outcome::Redirected,
        refusal => Outcome::of_refusal(refusal),
    }
}

/// Returns `IpBlocked` unless all addresses of the target are allowed.
async fn addresses_of(
    shared: &Shared,
    target: &Target,
    clock: &mut Clock,
) -> Result<Vec<IpAddr>, Stop> {
    if let Some(address) = target.literal {
        let is_allowed = shared.guard.allows(address);
        return if is_allowed { Ok(vec![address]) } else { Err(Outcome::IpBlocked.into()) };
    }
    match clock.wait(shared.resolver.resolve(&target.host)).await?.0 {
        Resolved::Addresses(addresses) => Ok(addresses.to_vec()),
        Resolved::Failed(outcome) => Err(outcome.into()),
    }
}

/// Returns `UrlUnparsable` if a field is not valid in a request.
fn request_of(
    shared: &Shared,
    target: &Target,
    delivery: &Delivery<'_>,
) -> Result<Request<Full<Bytes>>, Outcome> {
    let mut request = Request::post(&target.url[Position::BeforePath..])
        .header(HOST, message::authority(&target.url))
        .header(USER_AGENT, shared.robot.user_agent())
        .header(CONTENT_TYPE, delivery.content_type);
    for (name, value) in delivery.fields {
        request = request.header(*name, value);
    }
    request.body(Full::new(delivery.body.clone())).map_err(|_| Outcome::UrlUnparsable)
}

/// Connects to the first of `addresses` that accepts a connection. Endpoints that other fetches
/// found dead are dialled too, so that a receiver is reached as soon as it works again.
async fn dial(
    shared: &Shared,
    target: &Target,
    addresses: &[IpAddr],
    (clock, times): (&mut Clock, &TimeLimits),
) -> Result<(Connection, WirePermits), Stop> {
    let addresses = &addresses[..addresses.len().min(MAX_ADDRESSES_TRIED)];
    let port = shared.settings.dial_port(target.port);
    let meter = FetchMeter::default();
    let mut time_left = times.connect;
    let mut failure = None;
    for (index, address) in addresses.iter().enumerate() {
        let endpoint = SocketAddr::new(*address, port);
        let permits = WirePermits::acquire(&shared.politeness, &meter, *address, clock).await?;
        let to_try = u32::try_from(addresses.len() - index).unwrap_or(1).max(1);
        let began = Instant::now();
        let connecting = TcpStream::connect(endpoint);
        let connected = clock.within(time_left / to_try, Outcome::ConnectTimeout, connecting).await;
        time_left = time_left.saturating_sub(began.elapsed());
        let stopped = match connected {
            Ok(Ok(stream)) => {
                let connection = begin(shared, target, (endpoint, stream), clock, times).await?;
                return Ok((connection, permits));
            }
            Ok(Err(error)) => of_connect_error(&error, endpoint, shared.has_ipv6),
            Err(late) => late.into(),
        };
        match stopped {
            Stop::Outcome(outcome) if outcome != Outcome::TotalTimeout => {
                failure = Some(most_retryable(failure, outcome));
            }
            stop => return Err(stop),
        }
    }
    Err(failure.unwrap_or(Outcome::DnsNoAddress).into())
}

async fn begin(
    shared: &Shared,
    target: &Target,
    (endpoint, stream): (SocketAddr, TcpStream),
    clock: &mut Clock,
    times: &TimeLimits,
) -> Result<Connection, Stop> {
    if !target.is_https {
        let begun = Connection::begin(stream, false, endpoint, None).await;
        return begun.map_err(|_| Outcome::ConnectReset.into());
    }
    // Otherwise the request may wait for an acknowledgement of the handshake.
    let _ = stream.set_nodelay(true);
    // Without root certificates on this system, no receiver is trusted.
    let config = shared.trust.verified.as_ref().ok_or(Outcome::TlsHandshake)?;
    let name = server_name(&target.host, endpoint.ip());
    let shaking = TlsConnector::from(Arc::clone(config)).connect(name, stream);
    let shaken = clock.within(times.connect, Outcome::TlsTimeout, shaking).await;
    let stream = shaken?.map_err(|error| of_tls_error(&error))?;
    let begun = clock.until_deadline(Connection::begin(stream, false, endpoint, None)).await?;
    begun.map_err(|_| Outcome::ConnectReset.into())
}
