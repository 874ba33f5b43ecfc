//! Opens a connection to a checked name: chooses the address, connects by TCP, and starts TLS.
//!
//! It dials only addresses that the guard allowed. It never resolves a name again and never uses a
//! proxy.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use rustls::pki_types::ServerName;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;

use crate::{
    fetch_result::{Timings, add_ms},
    health::{clock::Clock, connectivity::CHECK_TIMEOUT},
    local_failure::{LocalFailure, Stop},
    outcome::Outcome,
    permits::request_permits::WirePermits,
    request::{
        connection::Connection,
        dial_errors::{most_retryable, of_connect_error, of_tls_error},
        scope::FetchScope,
        shared::Shared,
        target::Target,
    },
};

/// Maximum number of addresses to try per name. More would leave too little time for each.
pub(crate) const MAX_ADDRESSES_TRIED: usize = 3;

pub(crate) struct DialRequest<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) scope: FetchScope<'a>,
    pub(crate) target: &'a Target,
    pub(crate) clock: &'a mut Clock,
    pub(crate) timings: &'a mut Timings,
    pub(crate) connect_timeout: Duration,
    pub(crate) tried: Option<SocketAddr>,
}

impl DialRequest<'_> {
    /// Connects to the first of `addresses` that accepts a connection.
    pub(crate) async fn dial(
        &mut self,
        addresses: &[IpAddr],
    ) -> Result<(Connection, WirePermits), Stop> {
        let shared = self.shared;
        let addresses = &addresses[..addresses.len().min(MAX_ADDRESSES_TRIED)];
        let port = shared.settings.dial_port(self.target.port);
        let mut time_left = self.connect_timeout;
        let mut failure = None;
        for (index, address) in addresses.iter().enumerate() {
            let endpoint = SocketAddr::new(*address, port);
            if let Some(outcome) = shared.endpoints.verdict(endpoint)
                && !(self.scope.is_later_pass && self.is_alive_again(endpoint).await?)
            {
                failure = Some(most_retryable(failure, outcome));
                continue;
            }
            self.tried = Some(endpoint);
            let permits = self.acquire(*address).await?;
            self.scope.meter.dialled();
            let to_try = u32::try_from(addresses.len() - index).unwrap_or(1).max(1);
            let (began, connected) = self.connect_surely(endpoint, time_left / to_try).await;
            time_left = time_left.saturating_sub(began.elapsed());
            match connected {
                Ok(stream) => {
                    return Ok((self.handshake(endpoint, stream, time_left).await?, permits));
                }
                Err(Stop::Outcome(outcome)) if outcome != Outcome::TotalTimeout => {
                    if shared.stalls.since(began) {
                        return Err(LocalFailure::Stalled.into());
                    }
                    if outcome.is_silence() {
                        self.clock.wait(shared.connectivity.check()).await?;
                    }
                    // With several addresses, each attempt has only a part of the time, so its
                    // timeout says nothing about the endpoint.
                    if outcome != Outcome::ConnectTimeout || addresses.len() == 1 {
                        shared.endpoints.failed(endpoint, &self.target.host, outcome);
                    }
                    failure = Some(most_retryable(failure, outcome));
                }
                Err(stop) => return Err(stop),
            }
        }
        Err(failure.unwrap_or(Outcome::DnsNoAddress).into())
    }

    async fn acquire(&mut self, address: IpAddr) -> Result<WirePermits, LocalFailure> {
        let politeness = &self.shared.politeness;
        let meter = self.scope.meter;
        if self.scope.is_spaced {
            self.clock.wait(Box::pin(politeness.space_out(address))).await;
        }
        WirePermits::acquire(politeness, meter, address, self.clock).await
    }

    /// Connects, and tries again if the local link may have caused the failure. Three seconds after
    /// the link is cut, the kernel reports every address as unreachable. Packets that were sent
    /// before that get no response. The link may work again by the time it is checked.
    ///
    /// Also returns when the attempt started.
    async fn connect_surely(
        &mut self,
        endpoint: SocketAddr,
        time: Duration,
    ) -> (Instant, Result<TcpStream, Stop>) {
        let began = Instant::now();
        let connected = self.connect(endpoint, time).await;
        let Err(Stop::Outcome(outcome)) = &connected else { return (began, connected) };
        let is_timeout = *outcome == Outcome::ConnectTimeout;
        if !is_timeout && *outcome != Outcome::ConnectUnreachable {
            return (began, connected);
        }
        if let Err(failure) = self.clock.wait(self.shared.connectivity.check()).await {
            return (began, Err(failure.into()));
        }
        if is_timeout && !self.shared.connectivity.was_quiet_since(began) {
            return (began, connected);
        }
        self.scope.meter.dialled();
        let time = if is_timeout { time.min(CHECK_TIMEOUT) } else { time };
        (Instant::now(), self.connect(endpoint, time).await)
    }

    async fn connect(&mut self, endpoint: SocketAddr, time: Duration) -> Result<TcpStream, Stop> {
        let began = Instant::now();
        let connecting = TcpStream::connect(endpoint);
        let connected = self.clock.within(time, Outcome::ConnectTimeout, connecting).await;
        add_ms(&mut self.timings.connect, began.elapsed());
        let stream =
            connected?.map_err(|error| of_connect_error(&error, endpoint, self.shared.has_ipv6))?;
        self.shared.endpoints.connected(endpoint);
        self.shared.connectivity.connected(endpoint);
        Ok(stream)
    }

    /// Returns whether an endpoint that timed out before accepts a connection now. It is dialled
    /// once on behalf of all later passes.
    async fn is_alive_again(&mut self, endpoint: SocketAddr) -> Result<bool, LocalFailure> {
        let shared = self.shared;
        let scope = self.scope;
        let began = Instant::now();
        let attempt = async {
            let mut clock = Clock::start(shared.settings.total_timeout);
            let politeness = &shared.politeness;
            let address = endpoint.ip();
            let _permits =
                WirePermits::acquire(politeness, scope.meter, address, &mut clock).await?;
            scope.meter.dialled();
            let connected = timeout(shared.settings.connect_timeout, TcpStream::connect(endpoint));
            match connected.await {
                Ok(Ok(_)) => Ok(true),
                Ok(Err(error)) => LocalFailure::of_io(&error).map_or(Ok(false), Err),
                Err(_elapsed) => Ok(false),
            }
        };
        // Box this future, because it is large and rarely needed.
        let attempt = Box::pin(attempt);
        let tried = self.clock.wait(shared.endpoints.try_again(endpoint, attempt)).await;
        let (is_alive, was_tried) = tried?;
        if was_tried {
            add_ms(&mut self.timings.connect, began.elapsed());
        }
        Ok(is_alive)
    }

    async fn handshake(
        &mut self,
        endpoint: SocketAddr,
        stream: TcpStream,
        time_left: Duration,
    ) -> Result<Connection, Stop> {
        // Plain HTTP needs no `TCP_NODELAY`, because a request is a single write.
        if !self.target.is_https {
            let begun = Connection::begin(stream, false, endpoint, None).await;
            return begun.map_err(|_| Outcome::ConnectReset.into());
        }
        // Without this, data after the handshake may wait for an acknowledgement. If this call
        // fails, it only costs that time.
        let _ = stream.set_nodelay(true);
        let began = Instant::now();
        let name = server_name(&self.target.host, endpoint.ip());
        let connector = TlsConnector::from(Arc::clone(&self.shared.trust.config));
        let shaking = connector.connect(name.clone(), stream);
        let shaken = self.clock.within(time_left, Outcome::TlsTimeout, shaking).await;
        add_ms(&mut self.timings.tls, began.elapsed());
        let stream = shaken?.map_err(|error| of_tls_error(&error))?;
        let session = stream.get_ref().1;
        let speaks_http2 = session.alpn_protocol() == Some(b"h2");
        let certificate = self.shared.trust.examine(&name, session.peer_certificates());
        let begin = Connection::begin(stream, speaks_http2, endpoint, Some(certificate));
        let begun = self.clock.until_deadline(begin).await?;
        let failure = if speaks_http2 { Outcome::H2Protocol } else { Outcome::ConnectReset };
        begun.map_err(|_| failure.into())
    }
}

/// Returns the name for SNI and for the check of the certificate. If TLS cannot carry the name,
/// returns the address.
pub(crate) fn server_name(host: &str, address: IpAddr) -> ServerName<'static> {
    let host = host.trim_end_matches('.').to_owned();
    match host.parse::<IpAddr>() {
        Ok(literal) => ServerName::from(literal),
        Err(_) => ServerName::try_from(host).unwrap_or_else(|_| ServerName::from(address)),
    }
}
