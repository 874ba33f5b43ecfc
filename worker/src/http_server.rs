//! Serves HTTP/1.1 for `serve`, `--role api` and `--metrics`.
//!
//! Every connection has a time limit that its client cannot extend, so that slow clients cannot
//! occupy all connections forever.

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

#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    /// Maximum connections if the limit for open files allows them.
    most: usize,
    /// Open files to reserve per connection, including its share of the process's other files.
    files_each: usize,
    /// Timeout for receiving a request's head, which also limits the wait on an idle connection.
    head_time: Duration,
    /// Replaces error responses that the HTTP library sends by itself.
    refusals: Option<Replace>,
}

impl ConnectionLimits {
    pub(crate) fn replacing_refusals(self, refusals: Replace) -> Self {
        Self { refusals: Some(refusals), ..self }
    }
}

/// For files. A browser opens up to six connections per host, and each may hold an open file.
pub(crate) const FILE_CONNECTIONS: ConnectionLimits = ConnectionLimits {
    most: 512,
    files_each: 4,
    head_time: Duration::from_secs(5),
    refusals: None,
};
/// For requests that may wait for results. A client that opens thousands of connections on a busy
/// host may need seconds before it sends the first request on each.
pub(crate) const API_CONNECTIONS: ConnectionLimits = ConnectionLimits {
    most: 8_192,
    files_each: 2,
    head_time: Duration::from_secs(30),
    refusals: None,
};
/// Maximum connections if the limit for open files is unknown or too low for more.
const MIN_CONNECTIONS: usize = 16;
/// Age at which a connection accepts no further requests.
const CONNECTION_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Timeout for the last response on a connection that accepts no further requests. A request may
/// wait up to a minute for results.
const LAST_ANSWER_TIMEOUT: Duration = Duration::from_secs(75);
/// Pause after a failed accept, for example because this process has no file descriptor left.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);

pub(crate) fn warn_if_public(option: &str, address: SocketAddr) {
    if !address.ip().is_loopback() {
        tracing::warn!(
            "{option} {address}: every host that can reach this address can read the responses, \
             without TLS; with a loopback address (127.0.0.1) only this host can"
        );
    }
}

/// Serves requests until `shutdown` ends, then waits for the last responses.
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
        let Ok(permit) = permit else { break };
        match accepted {
            Ok(accepted) => {
                let router = router.clone();
                connections.spawn(serve_one(accepted, router, limits, stopped.clone(), permit));
            }
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection");
                sleep(PAUSE_AFTER_ERROR).await;
            }
        }
    }
    drop(listener);
    drop(stop);
    while connections.join_next().await.is_some() {}
}

async fn serve_one(
    (stream, peer): (TcpStream, SocketAddr),
    router: Router,
    limits: ConnectionLimits,
    mut stopped: watch::Receiver<()>,
    _permit: OwnedSemaphorePermit,
) {
    // With Nagle's algorithm, a file's content would wait until the client acknowledges the head,
    // which takes Linux 40 ms.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
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
    // In other cases the client has left or was too slow, so it reads no response.
    if ended.is_ok() || is_refusal {
        connection.into_parts().io.into_inner().finish(is_refusal).await;
    }
}

fn max_connections(ConnectionLimits { most, files_each, .. }: ConnectionLimits) -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    open_files(&limits)
        .map_or(MIN_CONNECTIONS, |files| (files / files_each).clamp(MIN_CONNECTIONS, most))
}

/// Parses the soft limit for open files in the content of `/proc/self/limits`.
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
