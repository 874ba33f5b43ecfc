//! Handles request bodies that a handler has not read completely.
//!
//! The server would parse a body's remaining bytes as the next request on an HTTP/1.1 connection.
//! Invariant: after a response, either the rest of a small body was read, or the response has
//! `Connection: close` (RFC 9112 9.6).

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Error,
    body::{Body, HttpBody},
    extract::Request,
    http::{HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::timeout;

/// Maximum unread bytes to read in order to keep the connection. If there are more, it is cheaper
/// for the client to reconnect.
const MAX_DRAINED: u64 = 64 << 10;
/// Time limit for reading these bytes.
const DRAIN_TIME: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Kept {
    body: Body,
    is_read: bool,
    is_broken: bool,
}

impl Kept {
    fn is_read(&self) -> bool {
        !self.is_broken && (self.is_read || self.body.is_end_stream())
    }
}

type Shared = Arc<Mutex<Kept>>;
type NextFrame = Option<Result<Frame<Bytes>, Error>>;

fn poll_next(shared: &Shared, context: &mut Context<'_>) -> Poll<NextFrame> {
    let mut kept = shared.lock();
    let polled = Pin::new(&mut kept.body).poll_frame(context);
    kept.is_read |= matches!(polled, Poll::Ready(None));
    kept.is_broken |= matches!(polled, Poll::Ready(Some(Err(_))));
    polled
}

struct Lent(Shared);

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<NextFrame> {
        poll_next(&self.0, context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().is_read()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().body.size_hint()
    }
}

/// `None` if the request has no body.
#[derive(Debug)]
pub(crate) struct UnreadBody(Option<(Shared, bool)>);

impl UnreadBody {
    pub(crate) fn keep(request: Request) -> (Request, Self) {
        if request.body().is_end_stream() {
            return (request, Self(None));
        }
        let (parts, body) = request.into_parts();
        // Reading a body would send `100 Continue`, so do not read it if the client waits for that.
        let may_drain =
            !parts.headers.contains_key(header::EXPECT) && body.size_hint().lower() <= MAX_DRAINED;
        let shared = Arc::new(Mutex::new(Kept { body, is_read: false, is_broken: false }));
        let lent = Body::new(Lent(Arc::clone(&shared)));
        (Request::from_parts(parts, lent), Self(Some((shared, may_drain))))
    }

    pub(crate) async fn finish(self, response: &mut Response) {
        let Some((shared, may_drain)) = self.0 else { return };
        if shared.lock().is_read() {
            return;
        }
        let may_drain = may_drain && !shared.lock().is_broken;
        if may_drain && timeout(DRAIN_TIME, drain(&shared)).await.unwrap_or(false) {
            return;
        }
        close_after(response);
    }
}

pub(crate) fn close_after(response: &mut Response) {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
}

/// Returns false if the body is larger than [`MAX_DRAINED`].
async fn drain(shared: &Shared) -> bool {
    let mut drained = 0;
    while let Some(frame) = poll_fn(|context| poll_next(shared, context)).await {
        let Ok(frame) = frame else { return false };
        drained += frame.data_ref().map_or(0, |data| data.len() as u64);
        if drained > MAX_DRAINED {
            return false;
        }
    }
    true
}
