//! Serves HTTP/1.1 for `serve`, `--role api` and `--metrics`. Clients cannot exhaust connections,
//! descriptors or memory.
//!
//! Invariant: every connection ends by itself, however its client behaves, so a client that waits
//! in the system's queue gets its response.

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

/// Limits for the number of connections and for each connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    /// Maximum connections, if the system allows enough open files.
    most: usize,
    /// Number of open files that one connection may use, including its share of the process's other
    /// files.
    files_each: usize,
    /// Timeout for a request's head, and for an open connection that waits for one.
    head_time: Duration,
    /// Replaces error responses that the HTTP library sends by itself. `None` keeps them.
    refusals: Option<Replace>,
}

impl ConnectionLimits {
    /// Returns these limits, and replaces error responses that the HTTP library sends by itself.
    pub(crate) fn replacing_refusals(self, refusals: Replace) -> Self {
        Self { refusals: Some(refusals), ..self }
    }
}

/// For a directory's files. A browser opens six connections to a host, and each sends a file. It
/// reconnects if necessary.
pub(crate) const FILE_CONNECTIONS: ConnectionLimits = ConnectionLimits {
    most: 512,
    files_each: 4,
    head_time: Duration::from_secs(5),
    refusals: None,
};
/// For requests that wait for news. Each takes about ten kilobytes. On a busy host, a client that
/// opens thousands of connections may need seconds until it sends the first request on each.
pub(crate) const API_CONNECTIONS: ConnectionLimits = ConnectionLimits {
    most: 8_192,
    files_each: 2,
    head_time: Duration::from_secs(30),
    refusals: None,
};
/// Maximum connections if the system reports no limit for open files.
const MIN_CONNECTIONS: usize = 16;
/// Age at which a connection accepts no further requests.
const CONNECTION_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Timeout for the last response on a connection that accepts no further requests. This is enough
/// for a request that waits a minute for news, or for 3 MB on a slow line.
const LAST_ANSWER_TIMEOUT: Duration = Duration::from_secs(75);
/// Pause after a connection could not be accepted, for example because this process has no
/// descriptor left.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);

/// Warns if other hosts can reach `address`.
pub(crate) fn warn_if_public(option: &str, address: SocketAddr) {
    if !address.ip().is_loopback() {
        tracing::warn!(
            "{option} {address}: every machine that reaches this one can read what is served, \
             without TLS; a loopback address (127.0.0.1) keeps it on this machine"
        );
    }
}

/// Serves requests with `router` until `shutdown` ends, then sends the last responses.
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

/// Serves one connection's requests.
async fn serve_one(
    (stream, peer): (TcpStream, SocketAddr),
    router: Router,
    limits: ConnectionLimits,
    mut stopped: watch::Receiver<()>,
    _permit: OwnedSemaphorePermit,
) {
    // The head is sent before the file is read. With Nagle's algorithm, the file would then wait
    // until the client acknowledges the head, which takes Linux 40 ms.
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
        // The sender was dropped, so the server stops.
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
    // In other cases the client is gone or was too slow, so it does not read a response.
    if ended.is_ok() || is_refusal {
        connection.into_parts().io.into_inner().finish(is_refusal).await;
    }
}

/// Returns how many connections this process's limit for open files allows.
fn max_connections(ConnectionLimits { most, files_each, .. }: ConnectionLimits) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    open_files(&limits)
        .map_or(MIN_CONNECTIONS, |files| (files / files_each).clamp(MIN_CONNECTIONS, most))
}

/// Returns the soft limit for open files from the content of `/proc/self/limits`.
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
