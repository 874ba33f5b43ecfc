//! Classifies connection errors as outcomes, which the peer caused, or as local failures.

use std::{io, net::SocketAddr};

use rustls::{AlertDescription, Error as TlsError};

use crate::{
    local_failure::{LocalFailure, Stop},
    outcome::Outcome,
};

const BY_WORTH_OF_A_RETRY: [Outcome; 3] =
    [Outcome::ConnectTimeout, Outcome::ConnectReset, Outcome::ConnectUnreachable];

/// Returns the outcome of two failed addresses that is more worth a retry, whatever their order.
pub(crate) fn most_retryable(before: Option<Outcome>, now: Outcome) -> Outcome {
    let rank = |outcome: Outcome| {
        let rank = BY_WORTH_OF_A_RETRY.iter().position(|ranked| *ranked == outcome);
        rank.unwrap_or(BY_WORTH_OF_A_RETRY.len())
    };
    before.filter(|before| rank(*before) < rank(now)).unwrap_or(now)
}

/// On a host without IPv6, a missing route to an IPv6 address is not a local failure, because we
/// dial IPv6 only if a name has no IPv4 address.
pub(crate) fn of_connect_error(error: &io::Error, endpoint: SocketAddr, has_ipv6: bool) -> Stop {
    match LocalFailure::of_io(error) {
        Some(LocalFailure::NetworkUnreachable | LocalFailure::LocalPorts)
            if endpoint.is_ipv6() && !has_ipv6 =>
        {
            Outcome::ConnectUnreachable.into()
        }
        Some(failure) => failure.into(),
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

/// A peer that hangs up always causes the same outcome, because only timing decides whether we see
/// a reset or the end of the stream.
pub(crate) fn of_tls_error(error: &io::Error) -> Stop {
    if let Some(failure) = LocalFailure::of_io(error) {
        return failure.into();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_errors_are_local_failures_and_the_peers_are_outcomes() {
        let v4: SocketAddr = "192.0.2.1:80".parse().expect("an address");
        let v6: SocketAddr = "[2001:db8::1]:80".parse().expect("an address");
        let of = |errno, endpoint, has_ipv6| {
            of_connect_error(&io::Error::from_raw_os_error(errno), endpoint, has_ipv6)
        };
        for (errno, failure) in [
            (libc::EMFILE, LocalFailure::FileDescriptors),
            (libc::ENFILE, LocalFailure::FileDescriptors),
            (libc::ENOBUFS, LocalFailure::Memory),
            (libc::ENETUNREACH, LocalFailure::NetworkUnreachable),
            (libc::EADDRNOTAVAIL, LocalFailure::LocalPorts),
        ] {
            assert_eq!(of(errno, v4, false), failure.into());
            assert_eq!(of(errno, v6, true), failure.into());
        }
        assert_eq!(of(libc::ENETUNREACH, v6, false), Outcome::ConnectUnreachable.into());
        assert_eq!(of(libc::EMFILE, v6, false), LocalFailure::FileDescriptors.into());
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
                let one_way = most_retryable(Some(first), second);
                assert_eq!(one_way, most_retryable(Some(second), first));
            }
        }
    }
}
