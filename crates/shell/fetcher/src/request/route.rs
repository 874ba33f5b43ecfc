//! Checks whether this host has a route for IPv6.

use std::net::{Ipv6Addr, UdpSocket};

/// Sends nothing, because connecting a datagram socket only selects a route.
pub(crate) fn has_ipv6_route() -> bool {
    let somewhere = Ipv6Addr::new(0x2600, 0, 0, 0, 0, 0, 0, 1);
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))
        .and_then(|socket| socket.connect((somewhere, 53)))
        .is_ok()
}
