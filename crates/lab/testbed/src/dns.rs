//! The name server: UDP and TCP on one loopback port. A host in the content has one A record,
//! unless its behaviour is a DNS fault. If IPv6 is available, hosts that refuse connections have
//! only the AAAA record `::1`, where nothing listens.

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use hickory_proto::{
    op::{Message, MessageType, OpCode, ResponseCode},
    rr::{
        DNSClass, Name, RData, Record, RecordType,
        rdata::{A, AAAA, SOA},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
    time::timeout,
};

use crate::{
    accepting,
    behaviour::Behaviour,
    error::TestbedError,
    internet::{Internet, KNOWN_NAMES},
};

const TTL_SECONDS: u32 = 60;
const TCP_IDLE: Duration = Duration::from_secs(10);
const PORT_TRIES: usize = 64;
const MAX_TCP_CONNECTIONS: usize = 256;

pub(crate) struct NameServer {
    udp: UdpSocket,
    tcp: TcpListener,
    address: SocketAddr,
}

impl NameServer {
    pub(crate) async fn bind(port: u16) -> Result<Self, TestbedError> {
        let mut refusal = None;
        for _ in 0..PORT_TRIES {
            let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
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

    pub(crate) async fn serve(self, internet: Arc<Internet>) {
        tokio::join!(serve_udp(self.udp, &internet), serve_tcp(self.tcp, &internet));
    }
}

async fn serve_udp(socket: UdpSocket, internet: &Arc<Internet>) {
    let mut buffer = vec![0; 4_096];
    loop {
        let Ok((length, peer)) = socket.recv_from(&mut buffer).await else { continue };
        let question = buffer.get(..length).unwrap_or_default();
        if let Some(answer) = answer(internet, question) {
            let _ = socket.send_to(&answer, peer).await;
        }
    }
}

async fn serve_tcp(listener: TcpListener, internet: &Arc<Internet>) {
    accepting::serve(listener, MAX_TCP_CONNECTIONS, |stream| {
        let internet = Arc::clone(internet);
        async move {
            let _ = serve_stream(stream, &internet).await;
        }
    })
    .await;
}

async fn serve_stream(mut stream: TcpStream, internet: &Internet) -> std::io::Result<()> {
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

/// Returns `None` if the server must not respond.
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
                LookUp::Failure
            };
            fill(&mut answer, query.name(), found)?;
        }
        _ => answer.metadata.response_code = ResponseCode::NotImp,
    }
    answer.to_vec().ok()
}

enum LookUp {
    Addresses(Vec<RData>),
    NoSuchName,
    Failure,
    Silence,
}

fn look_up(internet: &Internet, name: &Name, asked: RecordType) -> LookUp {
    let host = name.to_ascii().to_ascii_lowercase();
    let host = host.strip_suffix('.').unwrap_or(&host);
    if KNOWN_NAMES.contains(&host) {
        return LookUp::Addresses(match asked {
            RecordType::A => vec![RData::A(A(internet.known_address(host)))],
            _ => Vec::new(),
        });
    }
    if !internet.knows(host) {
        return LookUp::NoSuchName;
    }
    let behaviour = internet.behaviour(host);
    match behaviour {
        Behaviour::DnsNxdomain => return LookUp::NoSuchName,
        Behaviour::DnsServfail => return LookUp::Failure,
        Behaviour::DnsNeverAnswers => return LookUp::Silence,
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
    LookUp::Addresses(addresses)
}

fn fill(answer: &mut Message, name: &Name, found: LookUp) -> Option<()> {
    let addresses = match found {
        LookUp::Silence => return None,
        LookUp::Failure => {
            answer.metadata.response_code = ResponseCode::ServFail;
            return Some(());
        }
        LookUp::NoSuchName => {
            answer.metadata.response_code = ResponseCode::NXDomain;
            Vec::new()
        }
        LookUp::Addresses(addresses) => addresses,
    };
    if addresses.is_empty() {
        // RFC 2308: the SOA record limits how long a negative response may be cached.
        let root = Name::root();
        let soa = SOA::new(root.clone(), root.clone(), 1, 3_600, 600, 86_400, TTL_SECONDS);
        answer.add_authority(Record::from_rdata(root, TTL_SECONDS, RData::SOA(soa)));
    }
    for data in addresses {
        answer.add_answer(Record::from_rdata(name.clone(), TTL_SECONDS, data));
    }
    Some(())
}
