//! A small HTTP/1.1 server with responses that a test scripts, including faults.

#![allow(dead_code)] // Each test program uses its own part.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use everytab_patience::in_time;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// Closes the connection after this many bytes of the body, whatever length was declared.
    pub(crate) cut_after: Option<usize>,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), cut_after: None }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn ranged(request: &Request, body: &[u8]) -> Self {
        let asked = request.headers.get("range").and_then(|value| value.strip_prefix("bytes="));
        let Some((first, last)) = asked.and_then(|range| range.split_once('-')) else {
            return Self::new(200, body).header("ETag", "\"v1\"");
        };
        let first: usize = first.parse().expect("a number from our own client");
        let last: usize = last.parse().expect("a number from our own client");
        if first >= body.len() {
            return Self::new(416, "");
        }
        let last = last.min(body.len() - 1);
        let range = format!("bytes {first}-{last}/{}", body.len());
        Self::new(206, &body[first..=last]).header("Content-Range", range)
    }
}

type Answer = Box<dyn Fn(usize, &Request) -> Reply + Send + Sync>;

struct Script {
    answer: Answer,
    seen: Mutex<Vec<Request>>,
    in_flight: Mutex<(usize, usize)>,
    /// Responses are held until this many requests have been in flight together.
    held_until: usize,
}

pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    script: Arc<Script>,
    accepting: JoinHandle<()>,
}

impl Scripted {
    pub(crate) async fn start(
        answer: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::holding(0, answer).await
    }

    pub(crate) async fn holding(
        held_until: usize,
        answer: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let script = Arc::new(Script {
            answer: Box::new(answer),
            seen: Mutex::default(),
            in_flight: Mutex::default(),
            held_until,
        });
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::clone(&script);
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    let _ = serve(socket, &shared).await;
                });
            }
        });
        Self { address, script, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Request> {
        self.script.seen.lock().expect("no test panics in the lock").clone()
    }

    pub(crate) fn most_in_flight(&self) -> usize {
        self.script.in_flight.lock().expect("no test panics in the lock").1
    }
}

impl Script {
    async fn hold(&self) {
        let most = || self.in_flight.lock().expect("no test panics in the lock").1;
        in_time("more requests at the same time", async {
            while most() < self.held_until {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        if self.held_until > 0 {
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut socket: TcpStream, script: &Script) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut buffer).await? {
        {
            let mut in_flight = script.in_flight.lock().expect("no test panics in the lock");
            in_flight.0 += 1;
            in_flight.1 = in_flight.1.max(in_flight.0);
        }
        script.hold().await;
        let reply = {
            let mut seen = script.seen.lock().expect("no test panics in the lock");
            let before = seen.iter().filter(|earlier| earlier.path == request.path).count();
            seen.push(request.clone());
            (script.answer)(before, &request)
        };
        script.in_flight.lock().expect("no test panics in the lock").0 -= 1;
        let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", reply.body.len()));
        socket.write_all(head.as_bytes()).await?;
        if request.method != "HEAD" {
            let most = reply.cut_after.unwrap_or(usize::MAX).min(reply.body.len());
            socket.write_all(&reply.body[..most]).await?;
        }
        if reply.cut_after.is_some() {
            return socket.shutdown().await;
        }
    }
    Ok(())
}

async fn read_request(
    socket: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> std::io::Result<Option<Request>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let mut lines = head.lines();
    let mut start = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.get("content-length").map_or(0, |value| value.parse().unwrap_or(0));
    while buffer.len() < end + length {
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    let body = buffer[end..end + length].to_vec();
    buffer.drain(..end + length);
    let (method, path) = (start.next().unwrap_or_default(), start.next().unwrap_or_default());
    Ok(Some(Request { method, path, headers, body }))
}
