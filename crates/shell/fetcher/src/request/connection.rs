//! An open HTTP connection with its tasks, for sending requests.
//!
//! A connection and its tasks end when the last owner drops it, even if the peer does not close it.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{Arc, Weak},
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinSet,
};

use crate::{
    certificate::Certificate,
    request::lenient_heads::{Heads, LenientHeads, MAX_HEAD_BYTES},
    signing::{RequestSignature, RequestSigner},
};

/// Maximum number of fields in a head.
const MAX_HEADER_FIELDS: usize = 256;
/// Maximum bytes that a peer may send on one HTTP/2 stream before the body has its memory permit.
const HTTP2_STREAM_WINDOW_BYTES: u32 = 64 * 1024;
/// Maximum bytes that a peer may send on all streams of a connection before they are read.
const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 128 * 1024;

type Tasks = Mutex<JoinSet<()>>;

#[derive(Clone)]
struct TaskOwner(Weak<Tasks>);

impl<F> hyper::rt::Executor<F> for TaskOwner
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, task: F) {
        if let Some(tasks) = self.0.upgrade() {
            tasks.lock().spawn(async move {
                task.await;
            });
        }
    }
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>, Arc<Heads>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

pub(crate) struct Connection {
    sender: Sender,
    pub(crate) endpoint: SocketAddr,
    pub(crate) certificate: Option<Certificate>,
    /// Signs the connection's requests, which all go to one authority. `None` before the first
    /// signed request.
    signature: Option<RequestSignature>,
    _tasks: Arc<Tasks>,
}

impl Connection {
    pub(crate) async fn begin<S>(
        stream: S,
        speaks_http2: bool,
        endpoint: SocketAddr,
        certificate: Option<Certificate>,
    ) -> hyper::Result<Self>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let tasks: Arc<Tasks> = Arc::default();
        let owner = TaskOwner(Arc::downgrade(&tasks));
        let sender = if speaks_http2 {
            let (sender, driver) = http2::Builder::new(owner.clone())
                .initial_stream_window_size(HTTP2_STREAM_WINDOW_BYTES)
                .initial_connection_window_size(HTTP2_CONNECTION_WINDOW_BYTES)
                .max_header_list_size(MAX_HEAD_BYTES as u32)
                .handshake(TokioIo::new(stream))
                .await?;
            hyper::rt::Executor::execute(&owner, driver);
            Sender::Http2(sender)
        } else {
            let heads: Arc<Heads> = Arc::default();
            let stream = LenientHeads::new(stream, Arc::clone(&heads));
            let (sender, driver) = http1::Builder::new()
                .max_headers(MAX_HEADER_FIELDS)
                .max_buf_size(MAX_HEAD_BYTES)
                .ignore_invalid_headers_in_responses(true)
                .allow_spaces_after_header_name_in_responses(true)
                .allow_obsolete_multiline_headers_in_responses(true)
                .handshake(TokioIo::new(stream))
                .await?;
            hyper::rt::Executor::execute(&owner, driver);
            Sender::Http1(sender, heads)
        };
        Ok(Self { sender, endpoint, certificate, signature: None, _tasks: tasks })
    }

    pub(crate) fn speaks_http2(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    pub(crate) fn sign(
        &mut self,
        signer: &RequestSigner,
        authority: &str,
        headers: &mut HeaderMap,
    ) {
        if self.signature.as_ref().is_none_or(RequestSignature::is_old) {
            self.signature = signer.sign(authority);
        }
        if let Some(signature) = &self.signature {
            signature.add_to(headers);
        }
    }

    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        match &mut self.sender {
            Sender::Http1(sender, heads) => {
                sender.ready().await?;
                // The connection is idle now, so the next bytes from the peer are the response.
                heads.expect();
                let mut response = sender.send_request(request).await?;
                heads.restore(response.headers_mut());
                Ok(response)
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender, _) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    /// `None` if the protocol does not support concurrent requests.
    pub(crate) fn share(&self) -> Option<Self> {
        let Sender::Http2(sender) = &self.sender else { return None };
        Some(Self {
            sender: Sender::Http2(sender.clone()),
            endpoint: self.endpoint,
            certificate: self.certificate,
            signature: self.signature.clone(),
            _tasks: Arc::clone(&self._tasks),
        })
    }
}
