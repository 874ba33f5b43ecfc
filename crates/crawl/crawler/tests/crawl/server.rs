//! A web server that responds as a test specifies, on one port of its own address.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub(crate) enum Act {
    /// The status, the header fields (each with a line ending) and the body.
    Respond(u16, &'static str, String),
    /// The path, and header fields (each with a line ending).
    Redirect(String, &'static str),
    /// Closes the connection after this part of the body.
    Cut(String),
    Close,
}

pub(crate) fn page(body: &str) -> Act {
    Act::Respond(200, "Content-Type: text/html\r\n", body.to_owned())
}

/// A server on one port. It stops when this value is dropped.
pub(crate) struct Server {
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// `act` gets a path and the number of earlier requests for this path. Cookies follow the path,
    /// as in `/path Cookie: a=1`.
    pub(crate) async fn start(
        address: &str,
        act: impl Fn(&str, usize) -> Act + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address.parse::<SocketAddr>().unwrap()).await.unwrap();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let act = Arc::new(act);
        let log = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let (act, log) = (Arc::clone(&act), Arc::clone(&log));
                tokio::spawn(async move {
                    serve(stream, &*act, &log).await.ok();
                });
            }
        });
        Self { requests, task }
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, path: &str) -> usize {
        self.requests().iter().filter(|one| *one == path).count()
    }
}

async fn serve(
    stream: TcpStream,
    act: &(impl Fn(&str, usize) -> Act + Send + Sync),
    log: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    // A TLS handshake has no lines, so do not wait for one.
    if stream.fill_buf().await?.first() == Some(&0x16) {
        return Ok(());
    }
    loop {
        let (mut path, mut line) = (String::new(), String::new());
        while stream.read_line(&mut line).await? > 0 && line != "\r\n" {
            if path.is_empty() {
                path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            } else if line.to_lowercase().starts_with("cookie:") {
                path = format!("{path} Cookie:{}", line["cookie:".len()..].trim_end());
            }
            line.clear();
        }
        if path.is_empty() {
            return Ok(());
        }
        let before = {
            let mut log = log.lock().unwrap();
            let before = log.iter().filter(|one| **one == path).count();
            log.push(path.clone());
            before
        };
        let (status, fields, body) = match act(&path, before) {
            Act::Respond(status, fields, body) => (status, fields.to_owned(), body),
            Act::Redirect(path, fields) => {
                (302, format!("Location: {path}\r\n{fields}"), String::new())
            }
            Act::Cut(body) => {
                let head = "HTTP/1.1 200 Said\r\nContent-Type: text/html\r\n";
                let response = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len() + 1);
                return stream.write_all(response.as_bytes()).await;
            }
            Act::Close => return Ok(()),
        };
        let length = body.len();
        let response =
            format!("HTTP/1.1 {status} Said\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
        stream.write_all(response.as_bytes()).await?;
    }
}
