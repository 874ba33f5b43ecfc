//! Reads pages from a store into rows like warc jobs, for `scripts/bench/warc.sh`.
//!
//!     read_shard serve LIST CORPUS [https]      an S3 endpoint for ranges, in memory, on loopback
//!     read_shard read LIST CORPUS STORE REPEAT  reads the list's pages as two jobs would
//!
//! `serve` prints its address, and with https writes its certificate to `LIST.pem`. It checks no
//! signature and keeps all files in memory, so that it costs little compared with the reader. It
//! exits when its standard input is closed.
// A benchmark reads files and a clock, and must stop at a broken list.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used)]

use std::{
    collections::HashMap, convert::Infallible, io::Read, path::Path, sync::Arc, time::Instant,
};

use bytes::Bytes;
use everytab_coordinator::WarcHost;
use everytab_fetcher::{Heartbeat, ItemIsolation};
use everytab_jobs::warc::{RecordSource, read_home_pages};
use everytab_storage::StoreSettings;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

/// Clock ticks per second in /proc.
const TICKS_PER_SECOND: f64 = 100.0;

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["serve", list, corpus] => serve(list, corpus, None).await,
        ["serve", list, corpus, "https"] => serve(list, corpus, Some(certificate(list))).await,
        ["read", list, corpus, store, repeat] => read(list, corpus, store, repeat).await,
        _ => {
            eprintln!(
                "usage: read_shard serve LIST CORPUS [https] | read LIST CORPUS STORE REPEAT"
            );
            std::process::exit(2);
        }
    }
}

/// Parses the list. Its paths of WARC files are below the corpus.
fn hosts(list: &str, corpus: &str) -> Vec<WarcHost> {
    let list = std::fs::read_to_string(list).unwrap();
    let lines = list.lines().enumerate();
    let host = |(number, line): (usize, &str)| {
        let mut fields = line.split('\t');
        let path = Path::new(fields.next().unwrap()).strip_prefix(corpus).unwrap();
        WarcHost {
            host_no: i32::try_from(number).unwrap(),
            hostname: format!("h{number}.example"),
            https: true,
            warc_path: path.to_str().unwrap().to_owned(),
            warc_offset: fields.next().unwrap().parse().unwrap(),
            warc_length: fields.next().unwrap().parse().unwrap(),
            blocked: false,
            duplicates: 0,
        }
    };
    lines.map(host).collect()
}

/// Reads the list `repeat` times, each time as two concurrent jobs.
async fn read(list: &str, corpus: &str, store: &str, repeat: &str) {
    let store = everytab_storage::open(store, &StoreSettings::default()).await.unwrap();
    let source = RecordSource { store, crawl: "none".to_owned() };
    let mut first = hosts(list, corpus);
    let second = first.split_off(first.len() / 2);
    let repeat: usize = repeat.parse().unwrap();
    let mut pages = 0;
    let mut titles = 0;
    let mut without_page = 0;
    let (start, cpu) = (Instant::now(), cpu_seconds());
    for _ in 0..repeat {
        let heartbeat = Heartbeat::default();
        let isolation = ItemIsolation::default();
        let (one, two) = tokio::try_join!(
            read_home_pages(&source, first.clone(), &heartbeat, &isolation),
            read_home_pages(&source, second.clone(), &heartbeat, &isolation),
        )
        .unwrap();
        for row in one.0.iter().chain(&two.0) {
            pages += 1;
            titles += usize::from(row.title.is_some());
            without_page += usize::from(row.title_state == "no_page");
        }
    }
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!("{seconds:.3} {cpu:.3} {pages} titles={titles} without_page={without_page}");
}

/// Returns this process's user and system time in seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    // Fields 14 and 15 of proc_pid_stat(5). The name is field 2.
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / TICKS_PER_SECOND
}

/// Creates a certificate for a TLS server, and writes it to `LIST.pem`.
fn certificate(list: &str) -> TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(format!("{list}.pem"), made.cert.pem()).unwrap();
    let key = made.signing_key.serialize_der().try_into().unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

type Files = Arc<HashMap<String, Bytes>>;

async fn serve(list: &str, corpus: &str, tls: Option<TlsAcceptor>) {
    let mut files = HashMap::new();
    for host in hosts(list, corpus) {
        let read = || Bytes::from(std::fs::read(Path::new(corpus).join(&host.warc_path)).unwrap());
        files.entry(format!("/corpus/{}", host.warc_path)).or_insert_with(read);
    }
    let files: Files = Arc::new(files);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let scheme = if tls.is_some() { "https" } else { "http" };
    println!("{scheme}://localhost:{}", listener.local_addr().unwrap().port());
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        socket.set_nodelay(true).unwrap();
        let files = Arc::clone(&files);
        let tls = tls.clone();
        tokio::spawn(async move {
            match tls {
                None => serve_connection(socket, files).await,
                Some(tls) => match tls.accept(socket).await {
                    Ok(socket) => serve_connection(socket, files).await,
                    Err(error) => eprintln!("read_shard: {error}"),
                },
            }
        });
    }
}

async fn serve_connection(socket: impl AsyncRead + AsyncWrite + Unpin, files: Files) {
    let answer = service_fn(move |request| {
        let answer = answer(&files, &request);
        async { Ok::<_, Infallible>(answer) }
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), answer).await;
}

/// Responds to HEAD and range requests with the headers that S3 sends.
fn answer(files: &Files, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let range = request.headers().get(header::RANGE).and_then(|range| range.to_str().ok());
    let range = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let range = range.and_then(|(first, last)| {
        Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
    });
    if let (&Method::HEAD, Some(file)) = (request.method(), files.get(request.uri().path())) {
        let found = Response::builder().header(header::CONTENT_LENGTH, file.len());
        return found.header(header::ETAG, "\"0f343b09\"").body(Full::default()).unwrap();
    }
    let (Some(file), Some((first, last))) = (files.get(request.uri().path()), range) else {
        let mut refused = Response::new(Full::default());
        *refused.status_mut() = StatusCode::NOT_FOUND;
        return refused;
    };
    Response::builder()
        .status(StatusCode::PARTIAL_CONTENT)
        .header("x-amz-id-2", "Yh0d3KzT5yR8vqA2XxwqJcXlT0Q9wFq0Zr7mZb9mH0m1b2c3d4e5f6g7h8i9j0k=")
        .header("x-amz-request-id", "5ZD2V0S3X1Q4R7T8")
        .header(header::LAST_MODIFIED, "Sun, 18 Jan 2026 11:22:33 GMT")
        .header(header::ETAG, "\"0f343b0931126a20f133d67c2b018a3b-16\"")
        .header("x-amz-server-side-encryption", "AES256")
        .header(header::ACCEPT_RANGES, "bytes")
        .header(header::CONTENT_RANGE, format!("bytes {first}-{last}/{}", file.len()))
        .header(header::CONTENT_TYPE, "application/octet-stream")
        .header(header::SERVER, "AmazonS3")
        .body(Full::new(file.slice(first..=last)))
        .unwrap()
}
