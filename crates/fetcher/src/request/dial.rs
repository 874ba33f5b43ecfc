//! From a vetted name to an open connection: addresses, TCP, TLS.
//!
//! What is dialled is an address that the guard allowed, with the URL's port or the one that the
//! settings put in its place; nothing here looks a name up a second time, and no proxy is asked.
//! Must not know: what is asked on the connection.

use std::{
    io,
    net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket},
    sync::Arc,
    time::{Duration, Instant},
};

use rustls::{AlertDescription, Error as TlsError, pki_types::ServerName};
use tokio::{net::TcpStream, sync::OwnedSemaphorePermit, time::timeout};
use tokio_rustls::TlsConnector;

use crate::{
    fetched::{Timings, add_ms},
    health::clock::Clock,
    outcome::{Outcome, Stop, Trouble},
    permits::keyed_semaphore::Place,
    request::{
        connection::Connection,
        fetcher::{Round, Shared},
        target::Target,
    },
};

/// Addresses of one name that are tried; more would leave each too little time.
const ADDRESSES_TRIED: usize = 3;

/// The places that a request holds while it is on the wire.
pub(crate) struct Places {
    _address: Place<IpAddr>,
    _slot: OwnedSemaphorePermit,
}

impl Places {
    /// Waits for the turn to send a request to `address`.
    pub(crate) async fn take(
        shared: &Shared,
        round: Round<'_>,
        address: IpAddr,
        clock: &mut Clock,
    ) -> Result<Places, Stop> {
        let address = clock.wait(shared.politeness.enter_address(address)).await;
        round.meter.at_once_per_address(address.at_once());
        let slot = clock.wait(shared.politeness.slot()).await?;
        Ok(Places { _address: address, _slot: slot })
    }
}

/// On whose behalf somebody is dialled.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) round: Round<'a>,
    pub(crate) target: &'a Target,
}

/// Opens a connection to the first of `addresses` that takes one. The endpoint tried last is
/// written down in `tried` whether or not it worked.
pub(crate) async fn dial(
    way: Way<'_>,
    addresses: &[IpAddr],
    clock: &mut Clock,
    timings: &mut Timings,
    tried: &mut Option<SocketAddr>,
) -> Result<(Connection, Places), Stop> {
    let Way { shared, round, target } = way;
    let addresses = &addresses[..addresses.len().min(ADDRESSES_TRIED)];
    let port = shared.settings.dial_ports.get(&target.port).copied().unwrap_or(target.port);
    let mut left = shared.settings.connect_timeout;
    let mut worst = None;
    for (at, address) in addresses.iter().enumerate() {
        let endpoint = SocketAddr::new(*address, port);
        if let Some(outcome) = shared.endpoints.verdict(endpoint)
            && !(round.is_later_pass && is_alive_again(way, endpoint, clock, timings).await?)
        {
            worst = Some(worse(worst, outcome));
            continue;
        }
        *tried = Some(endpoint);
        let places = Places::take(shared, round, *address, clock).await?;
        round.meter.dialled();
        let to_try = u32::try_from(addresses.len() - at).unwrap_or(1).max(1);
        let began = Instant::now();
        let connected = clock
            .within(left / to_try, Outcome::ConnectTimeout, TcpStream::connect(endpoint))
            .await;
        left = left.saturating_sub(began.elapsed());
        add_ms(&mut timings.connect, began.elapsed());
        match connected.map_err(Stop::Outcome).and_then(|connected| {
            connected.map_err(|error| of_connect_error(&error, endpoint, shared.has_ipv6))
        }) {
            Ok(stream) => {
                shared.endpoints.connected(endpoint);
                shared.uplink.connected(endpoint);
                return Ok((
                    begin(shared, target, endpoint, stream, left, clock, timings).await?,
                    places,
                ));
            }
            Err(Stop::Outcome(outcome)) if outcome != Outcome::TotalTimeout => {
                if shared.stalls.since(began) {
                    return Err(Trouble::Stalled.into());
                }
                // Before others hear that the endpoint is dead.
                if outcome.is_silence() {
                    clock.wait(shared.uplink.check()).await?;
                }
                // A timeout counts for others only if it was not cut short to try them all.
                if outcome != Outcome::ConnectTimeout || addresses.len() == 1 {
                    shared.endpoints.failed(endpoint, &target.host, outcome);
                }
                worst = Some(worse(worst, outcome));
            }
            Err(stop) => return Err(stop),
        }
    }
    Err(worst.unwrap_or(Outcome::DnsNoAddress).into())
}

/// Whether an endpoint that was silent takes a connection by now: asked once for all who want to
/// know, in all later passes, until it is forgotten.
async fn is_alive_again(
    way: Way<'_>,
    endpoint: SocketAddr,
    clock: &mut Clock,
    timings: &mut Timings,
) -> Result<bool, Trouble> {
    let Way { shared, round, .. } = way;
    let began = Instant::now();
    let asked = async {
        let mut clock = Clock::start(shared.settings.total_timeout);
        let places = Places::take(shared, round, endpoint.ip(), &mut clock).await;
        let _places = match places {
            Ok(places) => places,
            Err(Stop::Trouble(trouble)) => return Err(trouble),
            Err(Stop::Outcome(_)) => return Ok(false),
        };
        round.meter.dialled();
        let connected = timeout(shared.settings.connect_timeout, TcpStream::connect(endpoint));
        match connected.await {
            Ok(Ok(_)) => Ok(true),
            Ok(Err(error)) => Trouble::of_io(&error).map_or(Ok(false), Err),
            Err(_elapsed) => Ok(false),
        }
    };
    // Seldom needed, and large.
    let asked = Box::pin(asked);
    let (is_alive, was_asked) = clock.wait(shared.endpoints.ask_again(endpoint, asked)).await?;
    if was_asked {
        add_ms(&mut timings.connect, began.elapsed());
    }
    Ok(is_alive)
}

async fn begin(
    shared: &Shared,
    target: &Target,
    endpoint: SocketAddr,
    stream: TcpStream,
    left: Duration,
    clock: &Clock,
    timings: &mut Timings,
) -> Result<Connection, Stop> {
    // Over plain HTTP a request is one write, which waits for nothing.
    if !target.is_https {
        let begun = Connection::begin(stream, false, endpoint, None).await;
        return begun.map_err(|_| Outcome::ConnectReset.into());
    }
    // Else what follows a handshake may wait for an acknowledgement; failing here is harmless.
    let _ = stream.set_nodelay(true);
    let began = Instant::now();
    let name = server_name(&target.host, endpoint.ip());
    let connector = TlsConnector::from(Arc::clone(&shared.trust.config));
    let shaken =
        clock.within(left, Outcome::TlsTimeout, connector.connect(name.clone(), stream)).await;
    add_ms(&mut timings.tls, began.elapsed());
    let stream = shaken?.map_err(|error| of_tls_error(&error))?;
    let session = stream.get_ref().1;
    let speaks_http2 = session.alpn_protocol() == Some(b"h2");
    let certificate = shared.trust.look(&name, session.peer_certificates());
    let begun = clock
        .until_deadline(Connection::begin(stream, speaks_http2, endpoint, Some(certificate)))
        .await?;
    begun.map_err(|_| if speaks_http2 { Outcome::H2Protocol } else { Outcome::ConnectReset }.into())
}

/// The name for SNI and the certificate; a name that TLS cannot carry is asked for by address.
fn server_name(host: &str, address: IpAddr) -> ServerName<'static> {
    let host = host.trim_end_matches('.').to_owned();
    match host.parse::<IpAddr>() {
        Ok(literal) => ServerName::from(literal),
        Err(_) => ServerName::try_from(host).unwrap_or_else(|_| ServerName::from(address)),
    }
}

/// The outcome of several failed addresses, whatever their order: the one most worth a retry.
fn worse(before: Option<Outcome>, now: Outcome) -> Outcome {
    let rank = |outcome: Outcome| match outcome {
        Outcome::ConnectTimeout => 3,
        Outcome::ConnectReset => 2,
        Outcome::ConnectUnreachable => 1,
        _ => 0,
    };
    before.filter(|before| rank(*before) > rank(now)).unwrap_or(now)
}

/// What an error of `connect` says about the peer, or about us. Without IPv6 here, that an IPv6
/// address has no route is no trouble: it is what having only such an address means.
fn of_connect_error(error: &io::Error, endpoint: SocketAddr, has_ipv6: bool) -> Stop {
    match Trouble::of_io(error) {
        Some(Trouble::NetworkUnreachable | Trouble::LocalPorts)
            if endpoint.is_ipv6() && !has_ipv6 =>
        {
            Outcome::ConnectUnreachable.into()
        }
        Some(trouble) => trouble.into(),
        None => match error.kind() {
            io::ErrorKind::ConnectionRefused => Outcome::ConnectRefused.into(),
            io::ErrorKind::TimedOut => Outcome::ConnectTimeout.into(),
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
                Outcome::ConnectReset.into()
            }
            _ => Outcome::ConnectUnreachable.into(),
        },
    }
}

/// What broke a handshake. A peer that hangs up is the same outcome whether that is noticed while
/// connecting, by a reset or by an end of the stream: which of these it is, is a matter of luck.
fn of_tls_error(error: &io::Error) -> Stop {
    if let Some(trouble) = Trouble::of_io(error) {
        return trouble.into();
    }
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>());
    match tls {
        None => Outcome::ConnectReset.into(),
        Some(
            TlsError::PeerIncompatible(_)
            | TlsError::AlertReceived(
                AlertDescription::ProtocolVersion
                | AlertDescription::HandshakeFailure
                | AlertDescription::InsufficientSecurity,
            ),
        ) => Outcome::TlsUnsupported.into(),
        Some(_) => Outcome::TlsHandshake.into(),
    }
}

/// Whether this machine has a route for IPv6. Nothing is sent: connecting a datagram socket only
/// chooses a route.
pub(crate) fn has_ipv6_route() -> bool {
    let somewhere = Ipv6Addr::new(0x2600, 0, 0, 0, 0, 0, 0, 1);
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))
        .and_then(|socket| socket.connect((somewhere, 53)))
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_trouble_and_what_is_the_peers_is_an_outcome() {
        let v4: SocketAddr = "192.0.2.1:80".parse().expect("an address");
        let v6: SocketAddr = "[2001:db8::1]:80".parse().expect("an address");
        let of = |errno, endpoint, has_ipv6| {
            of_connect_error(&io::Error::from_raw_os_error(errno), endpoint, has_ipv6)
        };
        for (errno, trouble) in [
            (libc::EMFILE, Trouble::FileDescriptors),
            (libc::ENFILE, Trouble::FileDescriptors),
            (libc::ENOBUFS, Trouble::Memory),
            (libc::ENETUNREACH, Trouble::NetworkUnreachable),
            (libc::EADDRNOTAVAIL, Trouble::LocalPorts),
        ] {
            assert_eq!(of(errno, v4, false), trouble.into());
            assert_eq!(of(errno, v6, true), trouble.into());
        }
        assert_eq!(of(libc::ENETUNREACH, v6, false), Outcome::ConnectUnreachable.into());
        assert_eq!(of(libc::EMFILE, v6, false), Trouble::FileDescriptors.into());
        for (errno, outcome) in [
            (libc::ECONNREFUSED, Outcome::ConnectRefused),
            (libc::ETIMEDOUT, Outcome::ConnectTimeout),
            (libc::ECONNRESET, Outcome::ConnectReset),
            (libc::EHOSTUNREACH, Outcome::ConnectUnreachable),
        ] {
            assert_eq!(of(errno, v4, true), outcome.into());
        }
    }

    #[test]
    fn the_order_of_addresses_does_not_change_their_outcome() {
        use Outcome::{ConnectRefused, ConnectTimeout, ConnectUnreachable};
        let all = [ConnectRefused, ConnectTimeout, ConnectUnreachable];
        for first in all {
            for second in all {
                assert_eq!(worse(Some(first), second), worse(Some(second), first));
            }
        }
    }
}
