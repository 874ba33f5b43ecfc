//! Serves HTTP/1.1 to whoever connects, without letting them take all connections, descriptors or
//! memory: for `serve`, `--role api` and `--metrics`.
//!
//! Invariant: every connection ends by itself, whatever its client does, so a client that waits in
//! the system's queue gets its answer.

mod refusals;

use std::{future::Future, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use axum::{Router, extract::ConnectInfo};
use hyper::{
    Request,
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

use self::refusals::{Connection, Replace};

/// How many connections there are together, and how each is served.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    /// Connections, where the system allows as many files.
    most: usize,
    /// Files that a connection may take, and room for the rest of the process.
    files_each: usize,
    /// The time for the head of a request, and for an open connection to wait for one.
    head_time: Duration,
    /// What takes the place of the HTTP library's own refusals. `None`: they stay.
    refusals: Option<Replace>,
}

impl ConnectionLimits {
    /// The same, with the HTTP library's own refusals replaced.
    pub(crate) fn replacing_refusals(self, refusals: Replace) -> Self {
        Self { refusals: Some(refusals), ..self }
    }
}

/// For files of a folder: browsers open six connections to a host, and each sends a file. They
/// connect again when they need to.
pub(crate) const FILE_CONNECTIONS: ConnectionLimits = ConnectionLimits {
    most: 512,
    files_each: 4,
    head_time: Duration::from_secs(5),
    refusals: None,
};
/// For requests that wait for news: each takes some ten kilobytes. A client that opens thousands of
/// connections on a busy machine may need seconds until it sends the first request on each.
pub(crate) const API_CONNECTIONS: ConnectionLimits = ConnectionLimits {
    most: 8_192,
    files_each: 2,
    head_time: Duration::from_secs(30),
    refusals: None,
};
/// Connections together where the system says nothing of files.
const MIN_CONNECTIONS: usize = 16;
/// The time after which a connection takes no further request.
const CONNECTION_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The time for a last answer on a connection that takes no further request: a request that waits
/// for news for a minute, or 3 MB on a slow line.
const LAST_ANSWER_TIMEOUT: Duration = Duration::from_secs(75);
/// The pause after a connection could not be accepted, as when this process has no descriptor left.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);

/// Warns if machines other than this one can reach `address`.
pub(crate) fn warn_if_public(option: &str, address: SocketAddr) {
    if !address.ip().is_loopback() {
        tracing::warn!(
            "{option} {address}: every machine that reaches this one can read what is served, \
             without TLS; a loopback address (127.0.0.1) keeps it on this machine"
        );
    }
}

/// Answers by `router` until `shutdown` ends, then sends the last answers.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    shutdown: impl Future<Output = ()> + Send,
) {
    let permits = Arc::new(Semaphore::new(max_connections(limits)));
    let (stop, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        let accepting = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            () = &mut shutdown => break,
            accepted = accepting => accepted,
        };
        while connections.try_join_next().is_some() {}
        // The semaphore is never closed.
        let Ok(permit) = permit else { break };
        match accepted {
            Ok(accepted) => {
                let router = router.clone();
                connections.spawn(serve_one(accepted, router, limits, stopped.clone(), permit));
            }
            Err(error) => {
                tracing::debug!(%error, "a connection was not accepted");
                sleep(PAUSE_AFTER_ERROR).await;
            }
        }
    }
    drop(listener);
    drop(stop);
    while connections.join_next().await.is_some() {}
}

/// Answers the requests of one connection.
async fn serve_one(
    (stream, peer): (TcpStream, SocketAddr),
    router: Router,
    limits: ConnectionLimits,
    mut stopped: watch::Receiver<()>,
    _permit: OwnedSemaphorePermit,
) {
    // A head is sent before the file is read. Otherwise the file would wait until the client
    // acknowledges the head, which takes Linux 40 ms.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY is not set");
    }
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        Box::pin(router.call(request))
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .serve_connection(TokioIo::new(Connection::new(stream, limits.refusals)), service);
    let ended = tokio::select! {
        ended = &mut connection => Some(ended),
        // The sender was dropped: the server stops.
        _ = stopped.changed() => None,
        () = sleep(CONNECTION_LIFETIME) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            Pin::new(&mut connection).graceful_shutdown();
            let Ok(ended) = timeout(LAST_ANSWER_TIMEOUT, &mut connection).await else { return };
            ended
        }
    };
    let is_refusal = ended.as_ref().is_err_and(hyper::Error::is_parse);
    // Otherwise the client has gone or was too slow, and there is no answer to read.
    if ended.is_ok() || is_refusal {
        connection.into_parts().io.into_inner().finish(is_refusal).await;
    }
}

/// How many connections the open files of this process allow.
fn max_connections(ConnectionLimits { most, files_each, .. }: ConnectionLimits) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    open_files(&limits)
        .map_or(MIN_CONNECTIONS, |files| (files / files_each).clamp(MIN_CONNECTIONS, most))
}

/// The soft limit of open files in the text of `/proc/self/limits`.
fn open_files(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(usize::MAX),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_is_read_from_the_kernels_table() {
        let table = "Limit                     Soft Limit           Hard Limit           Units\n\
                     Max open files            256                  4096                 files\n";
        assert_eq!(open_files(table), Some(256));
        assert_eq!(open_files(&table.replace("256 ", "unlimited ")), Some(usize::MAX));
        assert_eq!(open_files(""), None);
        for limits in [FILE_CONNECTIONS, API_CONNECTIONS] {
            assert!((MIN_CONNECTIONS..=limits.most).contains(&max_connections(limits)));
        }
    }
}
