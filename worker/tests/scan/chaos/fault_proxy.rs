//! Proxies that inject faults: TCP to Postgres, HTTP to S3, UDP to the name server. A proxy
//! forwards all bytes until a test sets another [`Mode`].

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UdpSocket, UnixStream},
    runtime::Runtime,
    sync::watch,
};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    Pass,
    /// Holds all bytes back without an error.
    Silent,
    Broken,
    /// Fails two of three HTTP requests with this status and an S3 error document.
    Refuse(u16),
    /// Fails one PUT with 507 Insufficient Storage.
    NoRoom,
    Slow(Duration),
}

#[derive(Clone, Debug)]
pub(crate) enum Upstream {
    Tcp(String),
    Unix(PathBuf),
}

#[derive(Debug)]
pub(crate) struct FaultProxy {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: Upstream,
    mode: watch::Sender<Mode>,
    /// A piece from a client that contains these bytes is held back.
    trap: watch::Sender<Option<&'static [u8]>>,
    trapped: AtomicU64,
    requests: AtomicU64,
}

impl FaultProxy {
    pub(crate) fn before(runtime: &Runtime, server: Upstream) -> Self {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server,
            mode: watch::Sender::new(Mode::Pass),
            trap: watch::Sender::new(None),
            trapped: AtomicU64::new(0),
            requests: AtomicU64::new(0),
        });
        let accepting = Arc::clone(&shared);
        runtime.spawn(async move {
            loop {
                let Ok((client, _)) = listener.accept().await else { continue };
                if *accepting.mode.borrow() == Mode::Broken {
                    // With zero linger, closing sends the client a reset.
                    let _ = client.set_zero_linger();
                    continue;
                }
                tokio::spawn(join(client, Arc::clone(&accepting)));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.shared.mode.send_replace(mode);
    }

    /// Holds back each piece from a client that contains these bytes, and everything after it on
    /// its connection.
    pub(crate) fn trap(&self, bytes: &'static [u8]) {
        self.shared.trap.send_replace(Some(bytes));
    }

    pub(crate) fn has_trapped(&self) -> bool {
        self.trapped() > 0
    }

    pub(crate) fn trapped(&self) -> u64 {
        self.shared.trapped.load(Ordering::SeqCst)
    }

    pub(crate) fn release(&self) {
        self.shared.trap.send_replace(None);
    }
}

/// Forwards bytes both ways until a peer closes or the mode becomes [`Mode::Broken`].
async fn join(client: TcpStream, shared: Arc<Shared>) {
    let _ = client.set_nodelay(true);
    let mut mode = shared.mode.subscribe();
    let both = async {
        match &shared.server {
            Upstream::Tcp(address) => {
                let server = TcpStream::connect(address).await?;
                server.set_nodelay(true)?;
                let (from_server, to_server) = server.into_split();
                exchange(client, from_server, to_server, &shared).await
            }
            Upstream::Unix(path) => {
                let (from_server, to_server) = UnixStream::connect(path).await?.into_split();
                exchange(client, from_server, to_server, &shared).await
            }
        }
    };
    tokio::select! {
        _ = both => {}
        _ = mode.wait_for(|mode| *mode == Mode::Broken) => {}
    }
}

async fn exchange(
    client: TcpStream,
    mut from_server: impl AsyncRead + Unpin,
    mut to_server: impl AsyncWrite + Unpin,
    shared: &Shared,
) -> io::Result<()> {
    let (mut from_client, to_client) = client.into_split();
    let to_client = tokio::sync::Mutex::new(to_client);
    let upwards = async {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = from_client.read(&mut buffer).await?;
            let piece = buffer.get(..read).unwrap_or_default();
            if piece.is_empty() {
                return to_server.shutdown().await;
            }
            if let Some(status) = shared.refusal(piece) {
                let mut to_client = to_client.lock().await;
                to_client.write_all(refusal(status).as_bytes()).await?;
                to_client.shutdown().await?;
                // Closing with unread bytes would send a reset instead of the response.
                let mut nowhere = tokio::io::sink();
                let drained = tokio::io::copy(&mut from_client, &mut nowhere);
                let _ = tokio::time::timeout(Duration::from_secs(1), drained).await;
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            shared.wait_for_trap(piece).await;
            shared.wait_to_pass().await;
            to_server.write_all(piece).await?;
        }
    };
    let downwards = async {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = from_server.read(&mut buffer).await?;
            let piece = buffer.get(..read).unwrap_or_default();
            if piece.is_empty() {
                return to_client.lock().await.shutdown().await;
            }
            shared.wait_to_pass().await;
            to_client.lock().await.write_all(piece).await?;
        }
    };
    tokio::try_join!(upwards, downwards).map(drop)
}

impl Shared {
    async fn wait_to_pass(&self) {
        let mut mode = self.mode.subscribe();
        let now = *mode.borrow();
        if let Mode::Slow(pause) = now {
            tokio::time::sleep(pause).await;
        }
        // `self` owns the sender, so this cannot fail.
        let _ = mode.wait_for(|mode| *mode != Mode::Silent).await;
    }

    async fn wait_for_trap(&self, piece: &[u8]) {
        let mut trap = self.trap.subscribe();
        let is_trapped = trap
            .borrow()
            .is_some_and(|wanted| piece.windows(wanted.len()).any(|window| window == wanted));
        if is_trapped {
            self.trapped.fetch_add(1, Ordering::SeqCst);
            let _ = trap.wait_for(Option::is_none).await;
        }
    }

    /// Returns the status of the error response if a request starts here and should fail.
    fn refusal(&self, piece: &[u8]) -> Option<u16> {
        let mode = *self.mode.borrow();
        if mode == Mode::NoRoom && piece.starts_with(b"PUT ") {
            self.mode.send_replace(Mode::Pass);
            return Some(507);
        }
        let Mode::Refuse(status) = mode else { return None };
        let is_request = ["GET ", "PUT ", "HEAD ", "POST ", "DELETE "]
            .iter()
            .any(|method| piece.starts_with(method.as_bytes()));
        let number = self.requests.fetch_add(u64::from(is_request), Ordering::SeqCst);
        (is_request && number % 3 != 2).then_some(status)
    }
}

fn refusal(status: u16) -> String {
    let (reason, code) = match status {
        503 => ("Slow Down", "SlowDown"),
        507 => ("Insufficient Storage", "InternalError"),
        _ => ("Internal Server Error", "InternalError"),
    };
    let body = format!("<Error><Code>{code}</Code><Message>Please try again.</Message></Error>");
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/xml\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A proxy in front of a name server, on a UDP port on 127.0.0.1. In [`Mode::Broken`] the port is
/// closed.
#[derive(Debug)]
pub(crate) struct DnsProxy {
    pub(crate) address: SocketAddr,
    mode: watch::Sender<Mode>,
}

impl DnsProxy {
    pub(crate) fn before(runtime: &Runtime, server: SocketAddr) -> Self {
        let socket = runtime.block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
        let address = socket.local_addr().unwrap();
        let mode = watch::Sender::new(Mode::Pass);
        let mut changes = mode.subscribe();
        runtime.spawn(async move {
            let mut socket = Some(Arc::new(socket));
            loop {
                let now = *changes.borrow_and_update();
                if now == Mode::Broken {
                    socket = None;
                } else if socket.is_none() {
                    socket = UdpSocket::bind(address).await.ok().map(Arc::new);
                }
                let answering = async {
                    match &socket {
                        Some(socket) => relay(socket, server, now == Mode::Silent).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = answering => {}
                    changed = changes.changed() => if changed.is_err() { return },
                }
            }
        });
        Self { address, mode }
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

async fn relay(socket: &Arc<UdpSocket>, server: SocketAddr, is_silent: bool) {
    let mut buffer = vec![0; 4_096];
    loop {
        // The kernel reports here that a client closed its port, which does not concern the next
        // packet.
        let Ok((read, client)) = socket.recv_from(&mut buffer).await else { continue };
        if is_silent {
            continue;
        }
        let query = buffer.get(..read).unwrap_or_default().to_vec();
        let socket = Arc::clone(socket);
        tokio::spawn(async move {
            let asked = async {
                let upstream = UdpSocket::bind("127.0.0.1:0").await?;
                upstream.connect(server).await?;
                upstream.send(&query).await?;
                let mut answer = vec![0; 4_096];
                let read = upstream.recv(&mut answer).await?;
                socket.send_to(answer.get(..read).unwrap_or_default(), client).await
            };
            // Stay silent if the server does.
            let _ = tokio::time::timeout(Duration::from_secs(10), asked).await;
        });
    }
}
