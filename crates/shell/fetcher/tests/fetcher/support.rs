//! A resolver and an HTTP/1.1 server on loopback, with responses that each test specifies.

use std::{
    collections::HashMap,
    io::Write,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use everytab_fetcher::{
    FetchResult, FetchSettings, Fetcher, KNOWN_NAMES, RobotsPolicy, ShardOptions,
};
use everytab_patience::{LIMIT, SILENCE, in_time};
use hickory_proto::{
    op::{Message, MessageType, ResponseCode},
    rr::{
        RData, Record, RecordType,
        rdata::{A, AAAA},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream, UdpSocket},
};
use tokio_util::task::AbortOnDropHandle;

#[derive(Clone)]
pub(super) enum Name {
    Is(Vec<IpAddr>),
    Missing,
    Empty,
    Fails,
    FailsOnce,
    Silent,
}

/// The name under which a test sets the result for all other names.
pub(super) const OTHERS: &str = "*";

fn public() -> Name {
    Name::Is(vec![Ipv4Addr::new(93, 184, 216, 34).into()])
}

/// Returns NXDOMAIN for names that were not set, except for the known names.
pub(super) struct TestDns {
    pub(super) address: SocketAddr,
    names: Arc<Mutex<HashMap<String, Name>>>,
    pub(super) questions: Arc<Mutex<Vec<(String, RecordType)>>>,
    _task: AbortOnDropHandle<()>,
}

impl TestDns {
    pub(super) async fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("an address");
        let known_names = KNOWN_NAMES.map(|name| (name.to_owned(), public()));
        let names: Arc<Mutex<HashMap<String, Name>>> = Arc::new(Mutex::new(known_names.into()));
        let questions: Arc<Mutex<Vec<(String, RecordType)>>> = Arc::default();
        let known = Arc::clone(&names);
        let asked = Arc::clone(&questions);
        let task = tokio::spawn(async move {
            let mut buffer = [0; 1_500];
            loop {
                let Ok((length, peer)) = socket.recv_from(&mut buffer).await else { continue };
                let Ok(question) = Message::from_vec(&buffer[..length]) else { continue };
                if let Some(answer) = answer(&question, &known, &asked) {
                    let _ = socket.send_to(&answer.to_vec().expect("encodes"), peer).await;
                }
            }
        });
        Self { address, names, questions, _task: AbortOnDropHandle::new(task) }
    }

    pub(super) fn set(&self, name: &str, answer: Name) {
        self.names.lock().expect("unpoisoned").insert(name.to_owned(), answer);
    }

    pub(super) fn point(&self, name: &str, address: &str) {
        self.set(name, Name::Is(vec![address.parse().expect("an address")]));
    }
}

fn answer(
    question: &Message,
    names: &Mutex<HashMap<String, Name>>,
    questions: &Mutex<Vec<(String, RecordType)>>,
) -> Option<Message> {
    let query = question.queries.first()?.clone();
    let name = query.name().to_ascii().trim_end_matches('.').to_ascii_lowercase();
    // Do not record the queries by which the fetcher checks the resolver, because tests count the
    // others.
    if !KNOWN_NAMES.contains(&name.as_str()) && !name.starts_with("everytab-") {
        questions.lock().expect("unpoisoned").push((name.clone(), query.query_type()));
    }
    let mut answer = question.clone();
    answer.metadata.message_type = MessageType::Response;
    answer.metadata.recursion_available = true;
    let mut names = names.lock().expect("unpoisoned");
    let known = names.get(&name).or_else(|| names.get(OTHERS)).cloned().unwrap_or(Name::Missing);
    match known {
        Name::FailsOnce => {
            answer.metadata.response_code = ResponseCode::ServFail;
            names.insert(name, public());
        }
        Name::Silent => return None,
        Name::Missing => answer.metadata.response_code = ResponseCode::NXDomain,
        Name::Fails => answer.metadata.response_code = ResponseCode::ServFail,
        Name::Empty => {}
        Name::Is(addresses) => {
            for address in addresses {
                let data = match (address, query.query_type()) {
                    (IpAddr::V4(address), RecordType::A) => RData::A(A(address)),
                    (IpAddr::V6(address), RecordType::AAAA) => RData::AAAA(AAAA(address)),
                    _ => continue,
                };
                answer.add_answer(Record::from_rdata(query.name().clone(), 300, data));
            }
        }
    }
    Some(answer)
}

pub(super) enum Reply {
    Send(Vec<u8>),
    SendAndClose(Vec<u8>),
    SendAndHang(Vec<u8>),
    Later(Duration, Vec<u8>),
    SendAndReset(Vec<u8>),
}

pub(super) struct ReceivedRequest {
    pub(super) host: String,
    pub(super) path: String,
    pub(super) head: String,
}

type Script = dyn Fn(&ReceivedRequest) -> Reply + Send + Sync;

#[derive(Default)]
pub(super) struct Seen {
    pub(super) connections: AtomicUsize,
    pub(super) requests: Mutex<Vec<String>>,
    now: Mutex<HashMap<String, usize>>,
    pub(super) most_at_once: Mutex<HashMap<String, usize>>,
}

impl Seen {
    pub(super) fn paths(&self) -> Vec<String> {
        self.requests.lock().expect("unpoisoned").clone()
    }

    pub(super) fn count(&self, path: &str) -> usize {
        self.paths().iter().filter(|seen| seen.ends_with(path)).count()
    }

    fn begin(&self, asked: &ReceivedRequest) {
        self.requests.lock().expect("unpoisoned").push(format!("{}{}", asked.host, asked.path));
        let mut now = self.now.lock().expect("unpoisoned");
        let count = now.entry(asked.host.clone()).or_default();
        *count += 1;
        let mut most = self.most_at_once.lock().expect("unpoisoned");
        let most = most.entry(asked.host.clone()).or_default();
        *most = (*most).max(*count);
    }

    fn end(&self, asked: &ReceivedRequest) {
        if let Some(count) = self.now.lock().expect("unpoisoned").get_mut(&asked.host) {
            *count -= 1;
        }
    }
}

pub(super) struct TestServer {
    pub(super) address: SocketAddr,
    pub(super) seen: Arc<Seen>,
    _task: AbortOnDropHandle<()>,
}

impl TestServer {
    pub(super) async fn start(
        script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let seen: Arc<Seen> = Arc::default();
        let (counts, script): (_, Arc<Script>) = (Arc::clone(&seen), Arc::new(script));
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                counts.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&script), Arc::clone(&counts)));
            }
        });
        Self { address, seen, _task: AbortOnDropHandle::new(task) }
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Script>, seen: Arc<Seen>) {
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            match stream.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        };
        let head = String::from_utf8_lossy(&buffer.drain(..end).collect::<Vec<u8>>()).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let host = header(&head, "host").unwrap_or_default();
        let asked = ReceivedRequest { host, path, head };
        seen.begin(&asked);
        let (bytes, pause) = match script(&asked) {
            Reply::Send(bytes) => (bytes, Duration::ZERO),
            Reply::Later(pause, bytes) => (bytes, pause),
            Reply::SendAndClose(bytes) => {
                let _ = stream.write_all(&bytes).await;
                seen.end(&asked);
                let _ = stream.shutdown().await;
                return;
            }
            Reply::SendAndHang(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let mut rest = Vec::new();
                let _ = stream.read_to_end(&mut rest).await;
                seen.end(&asked);
                return;
            }
            Reply::SendAndReset(bytes) => {
                let _ = stream.write_all(&bytes).await;
                // A reset discards bytes that the client has not read.
                tokio::time::sleep(Duration::from_secs(1)).await;
                let _ = stream.set_zero_linger();
                seen.end(&asked);
                return;
            }
        };
        tokio::time::sleep(pause).await;
        // Otherwise the client's next request could start before this one is counted as finished.
        seen.end(&asked);
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

pub(super) struct Silent {
    pub(super) address: SocketAddr,
    _listener: TcpListener,
    _queued: Vec<TcpStream>,
}

impl Silent {
    pub(super) async fn start() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("bound");
        let listener = socket.listen(1).expect("listening");
        let address = listener.local_addr().expect("an address");
        let mut attempts = Vec::new();
        for _ in 0..4 {
            let attempt = TcpStream::connect(address);
            attempts.push(tokio::time::timeout(Duration::from_millis(200), attempt).await);
        }
        assert!(attempts.iter().any(Result::is_err), "the queue is not full");
        let queued = attempts.into_iter().flatten().flatten().collect();
        Self { address, _listener: listener, _queued: queued }
    }
}

pub(super) fn header(head: &str, name: &str) -> Option<String> {
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

pub(super) fn answer_with(status: &str, lines: &[&str], body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    for line in lines {
        head.push_str(line);
        head.push_str("\r\n");
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

pub(super) fn ok(body: &[u8]) -> Reply {
    Reply::Send(answer_with("200 OK", &["content-type: image/png"], body))
}

pub(super) fn status(status: &str) -> Reply {
    Reply::Send(answer_with(status, &[], b"no"))
}

pub(super) fn redirect(location: &str) -> Reply {
    Reply::Send(answer_with("302 Found", &[&format!("location: {location}")], b"gone"))
}

/// Each shade gives a different image.
pub(super) fn png(side: u32, shade: u8) -> Vec<u8> {
    let mut lines = Vec::new();
    for _ in 0..side {
        lines.push(0);
        lines.extend((0..side).map(|at| shade.wrapping_add((at % 200) as u8)));
    }
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&lines).expect("memory");
    let sides = [side.to_be_bytes(), side.to_be_bytes()].concat();
    let header = [sides.as_slice(), &[8, 0, 0, 0, 0]].concat();
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in
        [(b"IHDR", header), (b"IDAT", packed.finish().expect("memory")), (b"IEND", Vec::new())]
    {
        let mut checksum = flate2::Crc::new();
        checksum.update(kind);
        checksum.update(&data);
        bytes.extend_from_slice(&(data.len() as u32).to_be_bytes());
        bytes.extend_from_slice(kind);
        bytes.extend_from_slice(&data);
        bytes.extend_from_slice(&checksum.sum().to_be_bytes());
    }
    bytes
}

/// The timeouts are long, so that a busy CPU does not fail a test. For silent peers, use
/// [`impatient`].
pub(super) fn settings(dns: &TestDns, dialled: SocketAddr) -> FetchSettings {
    FetchSettings {
        dns: Some(dns.address),
        allow_ranges: vec!["127.0.0.0/8".parse().expect("a range")],
        dial_ports: [(80, dialled.port())].into(),
        in_flight: 64,
        dns_timeout: LIMIT,
        connect_timeout: LIMIT,
        first_byte_timeout: LIMIT,
        total_timeout: LIMIT,
        ..FetchSettings::default()
    }
}

pub(super) fn impatient(settings: FetchSettings) -> FetchSettings {
    FetchSettings {
        dns_timeout: SILENCE,
        connect_timeout: SILENCE,
        first_byte_timeout: SILENCE,
        total_timeout: SILENCE * 2,
        ..settings
    }
}

pub(super) async fn fetch_one(fetcher: &Fetcher, url: &str) -> FetchResult {
    fetcher.fetch_one(url, RobotsPolicy::Ignore).await.expect("no local failure")
}

/// Asserts that the fetch finishes and keeps at most 512 KiB.
pub(super) async fn attacked(
    dns: &TestDns,
    address: SocketAddr,
    url: &str,
    what: &str,
) -> (Fetcher, FetchResult) {
    dns.point("a.test", "127.0.0.1");
    let fetcher = Fetcher::new(FetchSettings {
        dial_ports: [(80, address.port()), (443, address.port())].into(),
        ..impatient(settings(dns, address))
    });
    let fetcher = fetcher.expect("settings");
    let fetched = in_time(what, fetcher.fetch_one(url, RobotsPolicy::Ignore)).await;
    let fetched = fetched.expect("no local failure");
    assert!(fetched.body.len() <= 512 * 1024, "{what}: {} bytes kept", fetched.body.len());
    (fetcher, fetched)
}

pub(super) struct Net {
    pub(super) dns: TestDns,
    pub(super) server: TestServer,
    pub(super) settings: FetchSettings,
    pub(super) robots: RobotsPolicy,
}

impl Net {
    pub(super) async fn start(
        script: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let dns = TestDns::start().await;
        let server = TestServer::start(script).await;
        for name in ["a.test", "b.test"] {
            dns.point(name, "127.0.0.1");
        }
        let settings = settings(&dns, server.address);
        Self { dns, server, settings, robots: RobotsPolicy::Ignore }
    }

    pub(super) fn options(&self) -> ShardOptions {
        ShardOptions { robots: self.robots, ..ShardOptions::default() }
    }

    pub(super) fn fetcher(&self) -> Fetcher {
        Fetcher::new(self.settings.clone()).expect("valid settings")
    }
}
