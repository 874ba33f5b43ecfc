//! A track's web servers: HTTP/1.1 without TLS resumption, so every connection needs a full
//! handshake.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use rustls::ServerConfig;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};
use tokio_rustls::LazyConfigAcceptor;

use super::{
    plan::{HostKind, Scenario, TrackPlan, host_number},
    tally::Tally,
};
use crate::{
    behaviour::Behaviour, certificates::Certificates, draw, error::TestbedError,
    listeners::drop_unreachable,
};

const BACKLOG: i32 = 4_096;
const MAX_HEAD: usize = 4_096;
const PREPARED: u64 = 64;
/// Size of a slow response's body, just below the 512 KiB that the fetcher accepts.
const SLOW_BYTES: usize = 512 * 1_024 - 64;
const SLOW_PIECES: usize = 16;
const SLOW_TIME: Duration = Duration::from_secs(8);

pub(crate) struct Web {
    _servers: JoinSet<()>,
}

struct TrackSite {
    plan: Arc<TrackPlan>,
    tally: Arc<Tally>,
    favicons: Vec<Vec<u8>>,
    pictures: Vec<Vec<u8>>,
    good: Arc<ServerConfig>,
    refusing: Arc<ServerConfig>,
}

impl Web {
    pub(crate) fn start(plan: &Arc<TrackPlan>, tally: &Arc<Tally>) -> Result<Self, TestbedError> {
        let certificates = Certificates::new()?;
        let broken = |what: String| TestbedError::Settings(what);
        let leaf = certificates
            .leaf(&format!("*.{}", super::plan::DOMAIN), Behaviour::Fine)
            .ok_or_else(|| broken("no certificate".to_owned()))?;
        let tls = |error: rustls::Error| broken(format!("TLS: {error}"));
        let site = Arc::new(TrackSite {
            plan: Arc::clone(plan),
            tally: Arc::clone(tally),
            favicons: drawn("/favicon.ico"),
            pictures: drawn("/icon-32x32.png"),
            good: certificates.server_config(leaf, false).map_err(tls)?,
            refusing: certificates.refusing_config().map_err(tls)?,
        });
        let mut servers = JoinSet::new();
        for port in [80, 443] {
            let listener = bind(port)
                .map_err(|source| TestbedError::Listen { what: "the track's web", source })?;
            servers.spawn(accept(listener, port == 443, Arc::clone(&site)));
        }
        Ok(Self { _servers: servers })
    }
}

/// Appends 16 bytes for `mark` to each icon.
fn drawn(path: &str) -> Vec<Vec<u8>> {
    let icons = (0..PREPARED).filter_map(|number| draw::icon(number, "track", path));
    icons
        .map(|icon| answer("200 OK", icon.content_type, &[&icon.body[..], &[0; 16]].concat()))
        .collect()
}

fn answer(status: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nserver: track\r\ncontent-type: {content_type}\r\n\
         cache-control: max-age=86400\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn bind(port: u16) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())?;
    drop_unreachable(&socket)?;
    socket.set_nonblocking(true)?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

async fn accept(listener: TcpListener, is_tls: bool, site: Arc<TrackSite>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let site = Arc::clone(&site);
                tokio::spawn(async move {
                    let _open = site.tally.connection();
                    let _ = receive(stream, is_tls, &site).await;
                });
            }
            Err(_) => sleep(Duration::from_millis(5)).await,
        }
    }
}

async fn receive(stream: TcpStream, is_tls: bool, site: &TrackSite) -> io::Result<()> {
    stream.set_nodelay(true)?;
    if !is_tls {
        return serve(stream, site).await;
    }
    let start = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await?;
    let host = start.client_hello().server_name().and_then(host_number);
    let is_refused = host.and_then(|host| site.plan.kind(host)) == Some(HostKind::TlsAlert);
    let config = if is_refused { &site.refusing } else { &site.good };
    let stream = start.into_stream(Arc::clone(config)).await?;
    Tally::count(&site.tally.handshakes);
    serve(stream, site).await
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    site: &TrackSite,
) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(1_024);
    loop {
        let end = loop {
            if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if buffer.len() > MAX_HEAD || stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        Tally::count(&site.tally.requests);
        let asked = read_head(&buffer[..end]);
        buffer.drain(..end);
        let Some((host, icon)) = asked else {
            return stream.write_all(&answer("400 Bad Request", "text/plain", b"what?")).await;
        };
        if site.plan.scenario == Scenario::Slow {
            slowly(&mut stream, site, host, icon).await?;
            continue;
        }
        match site.plan.kind(host) {
            Some(HostKind::NotFound) | None => {
                stream.write_all(&answer("404 Not Found", "text/html", b"<p>not here")).await?;
            }
            Some(HostKind::Html) => {
                let page = b"<!doctype html><title>Welcome</title>";
                stream.write_all(&answer("200 OK", "text/html", page)).await?;
            }
            Some(HostKind::Silent) => return keep_silent(stream).await,
            Some(HostKind::Stalls) => {
                let bytes = icon_answer(site, host, icon);
                stream.write_all(&bytes[..bytes.len() / 2]).await?;
                stream.flush().await?;
                return keep_silent(stream).await;
            }
            Some(_) => {
                let latency = site.plan.latency(host, icon);
                if !latency.is_zero() {
                    sleep(latency).await;
                }
                stream.write_all(&icon_answer(site, host, icon)).await?;
            }
        }
        stream.flush().await?;
    }
}

async fn keep_silent<S: AsyncRead + Unpin>(mut stream: S) -> io::Result<()> {
    let mut heard = [0; 256];
    while stream.read(&mut heard).await? > 0 {}
    Ok(())
}

fn read_head(head: &[u8]) -> Option<(usize, usize)> {
    let text = std::str::from_utf8(head).ok()?;
    let path = text.strip_prefix("GET /")?.split(' ').next()?;
    let icon = match path.strip_prefix("icon-") {
        Some(rest) => rest.split('.').next()?.parse().ok()?,
        None => 0,
    };
    let host =
        text.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
            name.eq_ignore_ascii_case("host").then(|| host_number(value.trim()))
        })??;
    Some((host, icon))
}

/// The bytes differ for every URL, so that a client has no advantage by storing equal icons once.
fn icon_answer(site: &TrackSite, host: usize, icon: usize) -> Vec<u8> {
    let answers = if icon == 0 { &site.favicons } else { &site.pictures };
    let mut bytes = answers[(host * 7 + icon) % answers.len()].clone();
    mark(&mut bytes, host, icon);
    bytes
}

fn mark(bytes: &mut [u8], host: usize, icon: usize) {
    let at = bytes.len() - 16;
    bytes[at..at + 8].copy_from_slice(&(host as u64).to_be_bytes());
    bytes[at + 8..].copy_from_slice(&(icon as u64).to_be_bytes());
}

async fn slowly<S: AsyncWrite + Unpin>(
    stream: &mut S,
    site: &TrackSite,
    host: usize,
    icon: usize,
) -> io::Result<()> {
    let picture = &site.pictures[host % site.pictures.len()];
    let at = picture.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |at| at + 4);
    let mut body = picture[at..].to_vec();
    body.resize(SLOW_BYTES, 0);
    mark(&mut body, host, icon);
    let whole = answer("200 OK", "image/png", &body);
    for piece in whole.chunks(whole.len().div_ceil(SLOW_PIECES)) {
        stream.write_all(piece).await?;
        stream.flush().await?;
        sleep(SLOW_TIME / SLOW_PIECES as u32).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_a_host_and_an_icon() {
        let read = |path: &str| {
            read_head(format!("GET {path} HTTP/1.1\r\nHost: h7.icons.test\r\n\r\n").as_bytes())
        };
        assert_eq!(read("/favicon.ico"), Some((7, 0)));
        assert_eq!(read("/icon-3.png"), Some((7, 3)));
        assert_eq!(read_head(b"GET /favicon.ico HTTP/1.1\r\n\r\n"), None);
    }
}
