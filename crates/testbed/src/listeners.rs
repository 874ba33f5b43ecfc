//! The listening sockets of the web: any address of 127.0.0.0/8, nothing from elsewhere.
//!
//! Connection requests to the set-aside addresses are dropped by a packet filter on the socket
//! (classic BPF, which needs no rights), so that connecting to them times out as it does on the
//! internet. The same port of `::1` is held without listening, so that connecting there is
//! refused, whatever else runs on the machine.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use tokio::net::TcpListener;

use crate::address::DROPPED_OCTET;
use crate::error::TestbedError;

const BACKLOG: i32 = 4_096;
const PORT_TRIES: usize = 64;

/// One listening port.
pub(crate) struct Listener {
    pub(crate) accepting: TcpListener,
    pub(crate) port: u16,
    /// The socket that keeps others from listening on this port of `::1`; none without IPv6.
    pub(crate) refusing: Option<Socket>,
}

/// Listens on a free port.
pub(crate) fn bind(what: &'static str) -> Result<Listener, TestbedError> {
    try_ports().map_err(TestbedError::listen(what))
}

fn try_ports() -> io::Result<Listener> {
    let mut refusal: io::Error = io::ErrorKind::AddrInUse.into();
    for _ in 0..PORT_TRIES {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)).into())?;
        let local = socket.local_addr()?.as_socket();
        let port = local.ok_or(io::ErrorKind::AddrNotAvailable)?.port();
        let refusing = match hold_on_ipv6(port) {
            Ok(socket) => Some(socket),
            Err(taken) if taken.kind() == io::ErrorKind::AddrInUse => {
                refusal = taken;
                continue;
            }
            // No IPv6 on this machine.
            Err(_) => None,
        };
        drop_set_aside(&socket)?;
        socket.set_nonblocking(true)?;
        socket.listen(BACKLOG)?;
        let accepting = TcpListener::from_std(socket.into())?;
        return Ok(Listener { accepting, port, refusing });
    }
    Err(refusal)
}

/// Binds without listening: connecting is answered with a reset, and the port stays ours.
fn hold_on_ipv6(port: u16) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV6, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_only_v6(true)?;
    socket.bind(&SocketAddr::from((Ipv6Addr::LOCALHOST, port)).into())?;
    Ok(socket)
}

/// Drops every packet whose destination is 127.`DROPPED_OCTET`.0.0/16.
pub(crate) fn drop_set_aside(socket: &Socket) -> io::Result<()> {
    /// `SKF_NET_OFF` of linux/filter.h: offsets from here are those of the IP header.
    const NETWORK_HEADER: u32 = -0x10_0000_i32 as u32;
    /// Offset of the destination in an IPv4 header (RFC 791).
    const DESTINATION: u32 = 16;
    const LOAD_WORD: u16 = 0x20;
    const AND: u16 = 0x54;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let set_aside = u32::from_be_bytes([127, DROPPED_OCTET, 0, 0]);
    socket.attach_filter(&[
        SockFilter::new(LOAD_WORD, 0, 0, NETWORK_HEADER + DESTINATION),
        SockFilter::new(AND, 0, 0, 0xFFFF_0000),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, set_aside),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ])
}
