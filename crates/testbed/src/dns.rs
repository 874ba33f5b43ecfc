//! The name server: UDP and TCP on one loopback port.
//!
//! An answer is a function of the question alone. Every host known to the content has one A
//! record (AAAA `::1` alone for hosts that refuse, where nothing listens on `::1`); all other
//! names do not exist. Must not know HTTP.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hickory_proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, SOA};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::accepting;
use crate::behaviour::Behaviour;
use crate::error::TestbedError;
use crate::internet::Internet;

/// Seconds that an answer may be kept.
const TTL_SECONDS: u32 = 60;
/// A TCP client that says nothing for this long is dropped.
const TCP_IDLE: Duration = Duration::from_secs(10);
/// Ports tried until one is free for both UDP and TCP.
const PORT_TRIES: usize = 64;
/// TCP connections at once.
const MAX_TCP: usize = 256;

/// The two sockets of the name server.
pub(crate) struct NameServer {
    udp: UdpSocket,
    tcp: TcpListener,
    address: SocketAddr,
}

impl NameServer {
    /// Binds UDP and TCP on the same free port of 127.0.0.1.
    pub(crate) async fn bind() -> Result<Self, TestbedError> {
        let mut refusal = None;
        for _ in 0..PORT_TRIES {
            let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                .await
                .map_err(TestbedError::listen("dns"))?;
            let address = tcp.local_addr().map_err(TestbedError::listen("dns"))?;
            match UdpSocket::bind(address).await {
                Ok(udp) => return Ok(Self { udp, tcp, address }),
                Err(taken) => refusal = Some(taken),
            }
        }
        let source = refusal.unwrap_or_else(|| std::io::ErrorKind::AddrInUse.into());
        Err(TestbedError::Listen { what: "dns", source })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until dropped.
    pub(crate) async fn serve(self, internet: Arc<Internet>) {
        tokio::join!(serve_udp(self.udp, &internet), serve_tcp(self.tcp, &internet));
    }
}

async fn serve_udp(socket: UdpSocket, internet: &Arc<Internet>) {
    let mut buffer = vec![0; 4_096];
    loop {
        // Linux reports a peer's closed port on the next receive: not our trouble.
        let Ok((length, peer)) = socket.recv_from(&mut buffer).await else { continue };
        let question = buffer.get(..length).unwrap_or_default();
        if let Some(answer) = answer(internet, question) {
            // A client that went away does not hear its answer; nothing else is to be done.
            let _ = socket.send_to(&answer, peer).await;
        }
    }
}

async fn serve_tcp(listener: TcpListener, internet: &Arc<Internet>) {
    accepting::serve(listener, MAX_TCP, |stream| {
        let internet = Arc::clone(internet);
        async move {
            // A client that breaks off is its own business.
            let _ = talk(stream, &internet).await;
        }
    })
    .await;
}

async fn talk(mut stream: TcpStream, internet: &Internet) -> std::io::Result<()> {
    loop {
        let length = timeout(TCP_IDLE, stream.read_u16()).await??;
        let mut question = vec![0; usize::from(length)];
        timeout(TCP_IDLE, stream.read_exact(&mut question)).await??;
        if let Some(answer) = answer(internet, &question) {
            let length = u16::try_from(answer.len()).map_err(std::io::Error::other)?;
            stream.write_all(&length.to_be_bytes()).await?;
            stream.write_all(&answer).await?;
        }
    }
}

/// The bytes that answer a question, or none where silence is the answer.
pub(crate) fn answer(internet: &Internet, question: &[u8]) -> Option<Vec<u8>> {
    let question = Message::from_vec(question).ok()?;
    if question.metadata.message_type != MessageType::Query {
        return None;
    }
    internet.counters.dns_question();
    let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
    answer.metadata.recursion_desired = question.metadata.recursion_desired;
    answer.metadata.recursion_available = true;
    if let Some(edns) = &question.edns {
        answer.set_edns(edns.clone());
    }
    match question.queries.as_slice() {
        [query] if question.metadata.op_code == OpCode::Query => {
            answer.add_query(query.clone());
            let found = if query.query_class() == DNSClass::IN {
                look_up(internet, query.name(), query.query_type())
            } else {
                Found::Failure
            };
            fill(&mut answer, query.name(), found)?;
        }
        _ => answer.metadata.response_code = ResponseCode::NotImp,
    }
    answer.to_vec().ok()
}

/// What the small internet knows of a name and type.
enum Found {
    Addresses(Vec<RData>),
    NoSuchName,
    Failure,
    Silence,
}

fn look_up(internet: &Internet, name: &Name, asked: RecordType) -> Found {
    let host = name.to_ascii().to_ascii_lowercase();
    let host = host.strip_suffix('.').unwrap_or(&host);
    if !internet.knows(host) {
        return Found::NoSuchName;
    }
    let behaviour = internet.behaviour(host);
    match behaviour {
        Behaviour::DnsNxdomain => return Found::NoSuchName,
        Behaviour::DnsServfail => return Found::Failure,
        Behaviour::DnsNeverAnswers => return Found::Silence,
        _ => {}
    }
    let on_ipv6 = behaviour == Behaviour::Refused && internet.has_ipv6;
    let addresses = match asked {
        RecordType::A if behaviour == Behaviour::DnsPrivateAddress => {
            internet.private_answer(host).into_iter().map(|v4| RData::A(A(v4))).collect()
        }
        RecordType::A if behaviour == Behaviour::DnsNoAddress || on_ipv6 => Vec::new(),
        RecordType::A => vec![RData::A(A(internet.address(host)))],
        RecordType::AAAA if on_ipv6 => vec![RData::AAAA(AAAA(Ipv6Addr::LOCALHOST))],
        _ => Vec::new(),
    };
    Found::Addresses(addresses)
}

/// Writes what was found; none for silence.
fn fill(answer: &mut Message, name: &Name, found: Found) -> Option<()> {
    let addresses = match found {
        Found::Silence => return None,
        Found::Failure => {
            answer.metadata.response_code = ResponseCode::ServFail;
            return Some(());
        }
        Found::NoSuchName => {
            answer.metadata.response_code = ResponseCode::NXDomain;
            Vec::new()
        }
        Found::Addresses(addresses) => addresses,
    };
    if addresses.is_empty() {
        // RFC 2308: a negative answer is kept as long as the zone's SOA says.
        let root = Name::root();
        let soa = SOA::new(root.clone(), root.clone(), 1, 3_600, 600, 86_400, TTL_SECONDS);
        answer.add_authority(Record::from_rdata(root, TTL_SECONDS, RData::SOA(soa)));
    }
    for data in addresses {
        answer.add_answer(Record::from_rdata(name.clone(), TTL_SECONDS, data));
    }
    Some(())
}
