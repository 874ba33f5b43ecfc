//! The accept loop for every listener, with a limit on open connections.

use std::{future::Future, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Accepts at most `max` connections concurrently. Dropping the future closes every connection.
pub(crate) async fn serve<F, H>(listener: TcpListener, max: usize, handle: F)
where
    F: Fn(TcpStream) -> H,
    H: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= max {
            connections.join_next().await;
        }
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(handle(stream));
                }
                Err(error) => {
                    tracing::warn!(%error, "a listener could not accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}
