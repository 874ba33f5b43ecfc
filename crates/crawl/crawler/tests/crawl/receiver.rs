//! A webhook receiver that listens on its own address.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use everytab_patience::until;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub line: String,
    pub fields: HashMap<String, String>,
    pub body: String,
}

impl Received {
    pub(crate) fn id(&self) -> &str {
        &self.fields["webhook-id"]
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn is_signed_with(&self, secret: &[u8]) -> bool {
        let signed = format!("{}.{}.{}", self.id(), self.fields["webhook-timestamp"], self.body);
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
        mac.update(signed.as_bytes());
        let right = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        self.fields["webhook-signature"].split(' ').any(|one| one == right)
    }
}

/// A receiver on one port. It stops when this value is dropped.
pub(crate) struct Receiver {
    received: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Receiver {
    /// `respond` gets a request and the number of earlier requests. It returns a status and
    /// additional header fields, each with a line ending, or `None` to send no response.
    pub(crate) async fn start(
        address: &str,
        respond: impl Fn(&Received, usize) -> Option<(u16, &'static str)> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address.parse::<SocketAddr>().unwrap()).await.unwrap();
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let respond = Arc::new(respond);
        let log = Arc::clone(&received);
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let (respond, log) = (Arc::clone(&respond), Arc::clone(&log));
                tokio::spawn(async move {
                    serve(stream, &*respond, &log).await.ok();
                });
            }
        });
        Self { received, task }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    pub(crate) async fn has(&self, amount: usize) -> Vec<Received> {
        until("requests to be received", async || self.received().len() >= amount).await;
        self.received()
    }

    pub(crate) fn by_id(&self) -> BTreeMap<String, usize> {
        let mut found = BTreeMap::new();
        for one in self.received() {
            *found.entry(one.id().to_owned()).or_default() += 1;
        }
        found
    }
}

async fn serve(
    stream: TcpStream,
    respond: &(impl Fn(&Received, usize) -> Option<(u16, &'static str)> + Send + Sync),
    log: &Mutex<Vec<Received>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    let mut fields = HashMap::new();
    let mut line = String::new();
    while stream.read_line(&mut line).await? > 0 && line != "\r\n" {
        match line.trim_end().split_once(": ") {
            Some((name, value)) if !first.is_empty() => {
                fields.insert(name.to_ascii_lowercase(), value.to_owned());
            }
            _ => line.trim_end().clone_into(&mut first),
        }
        line.clear();
    }
    let length = fields.get("content-length").map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let one = Received { line: first, fields, body: String::from_utf8(body).unwrap() };
    let before = {
        let mut log = log.lock().unwrap();
        log.push(one.clone());
        log.len() - 1
    };
    let Some((status, more)) = respond(&one, before) else {
        return std::future::pending().await;
    };
    let text = format!("HTTP/1.1 {status} Said\r\n{more}Content-Length: 2\r\n\r\nok");
    stream.write_all(text.as_bytes()).await
}
