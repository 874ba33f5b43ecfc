//! Accepts the small internet's web connections and performs their TLS handshakes.

mod answer;
mod graph;
mod http1;
mod http2;
mod redirects;
mod reply;
mod robots;
mod silence;

use std::{io, net::IpAddr, sync::Arc, time::Duration};

use silence::keep_silent;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::LazyConfigAcceptor;

use crate::{
    accepting,
    address::{self, Reception},
    behaviour::Behaviour,
    certificates::Certificates,
    counters::CountedConnection,
    internet::Internet,
    listeners::Listener,
};

const MAX_CONNECTIONS: usize = 8_192;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(crate) enum Scheme {
    Http,
    Https(Arc<Certificates>),
}

pub(crate) async fn serve(listener: Listener, scheme: Scheme, internet: Arc<Internet>) {
    accepting::serve(listener.accepting, MAX_CONNECTIONS, |stream| {
        let scheme = scheme.clone();
        let internet = Arc::clone(&internet);
        async move {
            let _ = receive(stream, &scheme, &internet).await;
        }
    })
    .await;
}

async fn receive(stream: TcpStream, scheme: &Scheme, internet: &Arc<Internet>) -> io::Result<()> {
    // Only programs on this host can reach a loopback address, unless a test routes another network
    // namespace here.
    let local = stream.local_addr()?.ip();
    let IpAddr::V4(address) = local else { return Ok(()) };
    let reception = address::reception(address);
    if reception == Reception::Foreign {
        return Ok(());
    }
    let connection = internet.counters.connection(local);
    match reception {
        Reception::Foreign => Ok(()),
        Reception::Reset => reset(stream),
        Reception::Ignored => keep_silent(stream).await,
        Reception::Served => {
            stream.set_nodelay(true)?;
            match scheme {
                Scheme::Http => http1::serve(stream, None, internet, connection).await,
                Scheme::Https(certificates) => {
                    handshake(stream, certificates, internet, connection).await
                }
            }
        }
    }
}

fn reset(stream: TcpStream) -> io::Result<()> {
    stream.set_zero_linger()
}

async fn handshake(
    stream: TcpStream,
    certificates: &Certificates,
    internet: &Arc<Internet>,
    mut connection: CountedConnection,
) -> io::Result<()> {
    let acceptor = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream);
    let Ok(start) = timeout(HANDSHAKE_TIMEOUT, acceptor).await? else { return Ok(()) };
    let named = start.client_hello().server_name().map(str::to_ascii_lowercase);
    let host = named
        .filter(|host| internet.knows(host))
        .filter(|host| internet.behaviour(host) != Behaviour::TlsHandshakeFailure);
    let Some(host) = host else {
        // Without a certificate, the handshake ends with a fatal alert.
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
