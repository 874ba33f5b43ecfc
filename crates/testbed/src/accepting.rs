//! One loop for every listener: accept, hand over, stay within a bound.

use std::future::Future;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A rest after a failed accept: existing connections end meanwhile and free what was lacking.
const REST: Duration = Duration::from_millis(20);

/// Accepts until dropped, at most `max` connections at once; more wait in the backlog. Dropping
/// ends every connection.
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
                    tokio::time::sleep(REST).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}
