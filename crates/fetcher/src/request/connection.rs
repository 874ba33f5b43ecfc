//! Open HTTP connections: speaking on one, and keeping one for the next icon of its origin.
//!
//! A connection and the tasks that drive it end when its last owner drops it, whatever the peer
//! does. Heads are bounded (256 fields, 64 KiB), windows too.
//! Must not know: how it was dialled, what is asked.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Empty;
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::OwnedSemaphorePermit,
    task::JoinSet,
};

use crate::{
    permits::{keyed_semaphore::Place, politeness::Politeness},
    request::{certificate::Certificate, dial::Places},
};

const MAX_HEADER_FIELDS: usize = 256;
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// What a peer may send before its body has room: it is counted nowhere else.
const HTTP2_STREAM_WINDOW_BYTES: u32 = 64 * 1024;
const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 128 * 1024;
/// Connections kept by one group of icons: its origin's two and those it was redirected to.
const MAX_IDLE: usize = 4;

type Tasks = Mutex<JoinSet<()>>;

/// Spawns a connection's tasks so that they end with it.
#[derive(Clone)]
struct Owner(Weak<Tasks>);

impl<F> hyper::rt::Executor<F> for Owner
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, task: F) {
        if let Some(tasks) = self.0.upgrade() {
            // Spawning does not panic, so the set is never half changed.
            let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
            tasks.spawn(async move {
                task.await;
            });
        }
    }
}

enum Sender {
    Http1(http1::SendRequest<Empty<Bytes>>),
    Http2(http2::SendRequest<Empty<Bytes>>),
}

/// One open connection, ready for a request.
pub(crate) struct Connection {
    sender: Sender,
    /// What was dialled.
    pub(crate) endpoint: SocketAddr,
    /// What was found about its certificate; none over http.
    pub(crate) certificate: Option<Certificate>,
    /// Whether it has carried a request before.
    pub(crate) is_reused: bool,
    _tasks: Arc<Tasks>,
}

impl Connection {
    /// Begins HTTP on a connected stream.
    pub(crate) async fn begin<S>(
        stream: S,
        speaks_http2: bool,
        endpoint: SocketAddr,
        certificate: Option<Certificate>,
    ) -> hyper::Result<Connection>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let tasks: Arc<Tasks> = Arc::default();
        let owner = Owner(Arc::downgrade(&tasks));
        let stream = TokioIo::new(stream);
        let sender = if speaks_http2 {
            let (sender, driver) = http2::Builder::new(owner.clone())
                .initial_stream_window_size(HTTP2_STREAM_WINDOW_BYTES)
                .initial_connection_window_size(HTTP2_CONNECTION_WINDOW_BYTES)
                .max_header_list_size(MAX_HEAD_BYTES as u32)
                .handshake(stream)
                .await?;
            hyper::rt::Executor::execute(&owner, driver);
            Sender::Http2(sender)
        } else {
            let (sender, driver) = http1::Builder::new()
                .max_headers(MAX_HEADER_FIELDS)
                .max_buf_size(MAX_HEAD_BYTES)
                .ignore_invalid_headers_in_responses(true)
                .allow_spaces_after_header_name_in_responses(true)
                .allow_obsolete_multiline_headers_in_responses(true)
                .handshake(stream)
                .await?;
            hyper::rt::Executor::execute(&owner, driver);
            Sender::Http1(sender)
        };
        Ok(Connection { sender, endpoint, certificate, is_reused: false, _tasks: tasks })
    }

    pub(crate) fn speaks_http2(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    /// Sends one request and waits for the head of its answer.
    pub(crate) async fn send(
        &mut self,
        request: Request<Empty<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }

    fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    /// Another handle on the same connection, where the protocol allows several requests at once.
    fn share(&self) -> Option<Connection> {
        let Sender::Http2(sender) = &self.sender else { return None };
        Some(Connection {
            sender: Sender::Http2(sender.clone()),
            endpoint: self.endpoint,
            certificate: self.certificate,
            is_reused: true,
            _tasks: Arc::clone(&self._tasks),
        })
    }
}

/// The places of a request that has ended.
struct Left {
    origin: String,
    host: Place<String>,
    places: Places,
}

struct Kept {
    origin: String,
    connection: Connection,
    _right: OwnedSemaphorePermit,
}

/// The idle connections of one group of icons, and the places of its last request. They go when
/// the group ends.
#[derive(Default)]
pub(crate) struct Pool {
    kept: Mutex<Vec<Kept>>,
    left: Mutex<Option<Left>>,
}

impl Pool {
    /// An open connection to `origin`, if one is kept.
    pub(crate) fn take(&self, origin: &str) -> Option<Connection> {
        let mut kept = self.kept();
        kept.retain(|one| !one.connection.is_closed());
        let at = kept.iter().position(|one| one.origin == origin)?;
        if let Some(shared) = kept[at].connection.share() {
            return Some(shared);
        }
        let mut connection = kept.remove(at).connection;
        connection.is_reused = true;
        Some(connection)
    }

    /// Keeps an open connection without a request on it, if there is room for one more.
    pub(crate) fn keep(&self, origin: &str, connection: Connection, politeness: &Politeness) {
        let mut kept = self.kept();
        let has_shared = |one: &Kept| one.origin == origin && one.connection.speaks_http2();
        if connection.is_closed() || (connection.speaks_http2() && kept.iter().any(has_shared)) {
            return;
        }
        if kept.len() >= MAX_IDLE {
            kept.remove(0);
        }
        if let Some(right) = politeness.try_keep_idle() {
            kept.push(Kept { origin: origin.to_owned(), connection, _right: right });
        }
    }

    /// Leaves the places of an ended request to the next one over the same connection, which else
    /// would wait behind everybody with the connection open in its hands. Only for a group that
    /// asks one thing after the other: nobody who waits for places may hold any.
    pub(crate) fn leave(&self, origin: &str, host: Place<String>, places: Places) {
        let left = Left { origin: origin.to_owned(), host, places };
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(left);
    }

    /// The places left, if there is an open connection to `origin` that they are for; if not, they
    /// go to others.
    pub(crate) fn places_left(&self, origin: &str) -> Option<(Place<String>, Places)> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let is_for = |one: &Kept| one.origin == origin && !one.connection.is_closed();
        let is_wanted = left.origin == origin && self.kept().iter().any(is_for);
        is_wanted.then_some((left.host, left.places))
    }

    /// Gives the places left to others.
    pub(crate) fn give_back(&self) {
        drop(self.left.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        // A panic cannot leave the list half changed: each change is one call.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
