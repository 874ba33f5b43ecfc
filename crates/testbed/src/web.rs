//! The web of the small internet: connections on the http and https ports.
//!
//! Owns what happens to a connection before its first request; `answer` says what a request gets,
//! `http1` and `http2` put it on the wire.

mod answer;
mod http1;
mod http2;
mod redirects;
mod robots;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;

use crate::accepting;
use crate::address::{self, Reception};
use crate::behaviour::Behaviour;
use crate::certificates::Certificates;
use crate::counters::Connection;
use crate::internet::Internet;
use crate::listeners::Listener;

pub(crate) use answer::{Picture, Request};

/// Connections held at once by a listener; more wait to be accepted.
const MAX_CONNECTIONS: usize = 8_192;
/// A client that does not get on with its handshake for this long is dropped.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long silence is kept up. Longer than any patience of a client.
const SILENCE: Duration = Duration::from_secs(120);

/// Which side of the web a listener serves.
#[derive(Clone)]
pub(crate) enum Side {
    Http,
    Https(Arc<Certificates>),
}

/// Accepts until dropped; dropping ends every connection.
pub(crate) async fn serve(listener: Listener, side: Side, internet: Arc<Internet>) {
    accepting::serve(listener.accepting, MAX_CONNECTIONS, |stream| {
        let (side, internet) = (side.clone(), Arc::clone(&internet));
        async move {
            // A client that breaks off is its own business.
            let _ = receive(stream, &side, &internet).await;
        }
    })
    .await;
}

async fn receive(stream: TcpStream, side: &Side, internet: &Arc<Internet>) -> io::Result<()> {
    // The kernel brings nobody else's packets to a loopback address, unless it was told to: from
    // the network namespace of a test, say.
    let local = stream.local_addr()?.ip();
    let IpAddr::V4(address) = local else { return Ok(()) };
    let reception = address::reception(address);
    if reception == Reception::Stranger {
        return Ok(());
    }
    let connection = internet.counters.connection(local);
    match reception {
        Reception::Stranger => Ok(()),
        Reception::Reset => reset(stream),
        Reception::Ignored => keep_silent(stream).await,
        Reception::Served => {
            stream.set_nodelay(true)?;
            match side {
                Side::Http => http1::serve(stream, None, internet, connection).await,
                Side::Https(certificates) => {
                    shake_hands(stream, certificates, internet, connection).await
                }
            }
        }
    }
}

/// Closes with a reset instead of a goodbye.
fn reset(stream: TcpStream) -> io::Result<()> {
    stream.set_zero_linger()
}

/// Says nothing until the client goes away.
async fn keep_silent<S: AsyncReadExt + Unpin>(mut stream: S) -> io::Result<()> {
    let mut heard = [0; 1_024];
    let until_the_end = async {
        while stream.read(&mut heard).await? > 0 {}
        io::Result::Ok(())
    };
    timeout(SILENCE, until_the_end).await?
}

async fn shake_hands(
    stream: TcpStream,
    certificates: &Certificates,
    internet: &Arc<Internet>,
    mut connection: Connection,
) -> io::Result<()> {
    let acceptor = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream);
    let Ok(start) = timeout(HANDSHAKE_TIMEOUT, acceptor).await? else { return Ok(()) };
    let named = start.client_hello().server_name().map(str::to_ascii_lowercase);
    let host = named
        .filter(|host| internet.knows(host))
        .filter(|host| internet.behaviour(host) != Behaviour::TlsHandshakeFailure);
    let Some(host) = host else {
        // Without a certificate to show, the handshake ends in a fatal alert.
        let config = certificates.refusing_config().map_err(io::Error::other)?;
        return timeout(HANDSHAKE_TIMEOUT, start.into_stream(config)).await?.map(|_| ());
    };
    let behaviour = internet.behaviour(&host);
    connection.is_for(&host);
    if behaviour == Behaviour::NeverAnswers {
        return keep_silent(start.io).await;
    }
    let leaf = certificates.leaf(&host, behaviour).ok_or(io::ErrorKind::InvalidInput)?;
    let config =
        certificates.server_config(leaf, internet.speaks_http2(&host)).map_err(io::Error::other)?;
    let stream = timeout(HANDSHAKE_TIMEOUT, start.into_stream(config)).await??;
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        http2::serve(stream, host, internet, connection).await
    } else {
        http1::serve(stream, Some(host), internet, connection).await
    }
}
