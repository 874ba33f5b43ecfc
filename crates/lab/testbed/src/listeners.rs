//! The web's listening sockets, for all addresses in 127.0.0.0/8. A packet filter (classic BPF,
//! which needs no privileges) drops connection requests to the `DROPPED_OCTET` addresses, so that
//! connecting times out. The same port on `::1` is bound without listening, so that the kernel
//! refuses connections there.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use tokio::net::TcpListener;

use crate::{address::DROPPED_OCTET, error::TestbedError};

const BACKLOG: i32 = 4_096;
const PORT_TRIES: usize = 64;

pub(crate) struct Listener {
    pub(crate) accepting: TcpListener,
    pub(crate) port: u16,
    /// The socket that prevents others from listening on this port on `::1`. `None` without IPv6.
    pub(crate) refusing: Option<Socket>,
}

pub(crate) fn bind(what: &'static str, port: u16) -> Result<Listener, TestbedError> {
    try_ports(port).map_err(TestbedError::listen(what))
}

fn try_ports(wanted: u16) -> io::Result<Listener> {
    let mut refusal: io::Error = io::ErrorKind::AddrInUse.into();
    for _ in 0..PORT_TRIES {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        // On a fixed port, the previous server's closed connections may remain.
        socket.set_reuse_address(wanted != 0)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, wanted)).into())?;
        let local = socket.local_addr()?.as_socket();
        let port = local.ok_or(io::ErrorKind::AddrNotAvailable)?.port();
        let refusing = match reserve_on_ipv6(port) {
            Ok(socket) => Some(socket),
            Err(taken) if taken.kind() == io::ErrorKind::AddrInUse => {
                refusal = taken;
                continue;
            }
            Err(_) => None,
        };
        drop_unreachable(&socket)?;
        socket.set_nonblocking(true)?;
        socket.listen(BACKLOG)?;
        let accepting = TcpListener::from_std(socket.into())?;
        return Ok(Listener { accepting, port, refusing });
    }
    Err(refusal)
}

/// Binds without listening, so that the kernel refuses connections.
fn reserve_on_ipv6(port: u16) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV6, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_only_v6(true)?;
    socket.bind(&SocketAddr::from((Ipv6Addr::LOCALHOST, port)).into())?;
    Ok(socket)
}

pub(crate) fn drop_unreachable(socket: &Socket) -> io::Result<()> {
    /// `SKF_NET_OFF` in linux/filter.h. Offsets from here are relative to the IP header.
    const NETWORK_HEADER: u32 = -0x10_0000_i32 as u32;
    /// The destination's offset in an IPv4 header (RFC 791).
    const DESTINATION: u32 = 16;
    const LOAD_WORD: u16 = 0x20;
    const AND: u16 = 0x54;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let unreachable = u32::from_be_bytes([127, DROPPED_OCTET, 0, 0]);
    socket.attach_filter(&[
        SockFilter::new(LOAD_WORD, 0, 0, NETWORK_HEADER + DESTINATION),
        SockFilter::new(AND, 0, 0, 0xFFFF_0000),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, unreachable),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ])
}
