//! HTTP/2 (with hyper) for the hosts that offer it.

use std::{
    convert::Infallible,
    io,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    body::{Body, Frame, Incoming, SizeHint},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    answer,
    reply::{Answer, Ending},
};
use crate::{
    access_log::OpenLine, counters::CountedConnection, internet::Internet, request::Request,
};

const PING_EVERY: Duration = Duration::from_secs(30);

pub(crate) async fn serve<S>(
    stream: S,
    host: String,
    internet: &Arc<Internet>,
    connection: CountedConnection,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let address = connection.address();
    let service = service_fn(|request: http::Request<Incoming>| {
        let internet = Arc::clone(internet);
        let host = host.clone();
        async move { Ok::<_, Infallible>(respond(&internet, host, address, &request).await) }
    });
    let served = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    drop(connection);
    served.map_err(io::Error::other)
}

async fn respond(
    internet: &Arc<Internet>,
    tls_host: String,
    address: IpAddr,
    request: &http::Request<Incoming>,
) -> http::Response<LoggedBody> {
    internet.counters.http2_request(request);
    let named = request.uri().host().map(|host| host.trim_end_matches('.').to_ascii_lowercase());
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let field = |name| {
        let value = request.headers().get(name);
        value.and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let if_none_match = field(http::header::IF_NONE_MATCH);
    let cookie = field(http::header::COOKIE);
    let (host, target) = (named.unwrap_or(tls_host), target.to_owned());
    let line = internet.access_log.begin(address, &host, &target);
    let request = Request { https: true, host, target, if_none_match, cookie };
    let answer = answer::answer(internet, request).await;
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    encode(answer, line)
}

fn encode(answer: Answer, mut line: Option<OpenLine>) -> http::Response<LoggedBody> {
    let is_endless = answer.ending == Ending::Endless;
    if let Some(line) = &mut line {
        line.has_status(answer.status);
        if !is_endless {
            line.ends_if_short(answer.body.len());
        }
    }
    let body = match answer.ending {
        Ending::Unannounced => {
            let frame = Ok(Frame::data(answer.body));
            StreamBody::new(futures_util::stream::iter([frame])).boxed()
        }
        Ending::Endless => {
            let frames = std::iter::repeat_with(move || Ok(Frame::data(answer.body.clone())));
            StreamBody::new(futures_util::stream::iter(frames)).boxed()
        }
        _ => Full::new(answer.body).boxed(),
    };
    let body = LoggedBody { body, line, is_endless };
    let mut response = http::Response::new(body);
    if let Ok(status) = http::StatusCode::from_u16(answer.status) {
        *response.status_mut() = status;
    }
    for (name, value) in &answer.headers {
        let name = http::HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, http::HeaderValue::from_str(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// A body that ends its request's log line before its last frame is sent.
struct LoggedBody {
    body: BoxBody<Bytes, Infallible>,
    line: Option<OpenLine>,
    is_endless: bool,
}

impl Body for LoggedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let is_endless = self.is_endless;
        if let Some(line) = self.line.as_mut().filter(|_| !is_endless) {
            line.ends();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_log::{AccessLog, AccessLogTarget};

    #[test]
    fn the_line_of_a_short_answer_is_written_before_its_head_is_sent() {
        for (bytes, lines) in [(0, 1), (16 * 1_024, 1), (16 * 1_024 + 1, 0)] {
            let log = AccessLog::default();
            log.start(&AccessLogTarget::Memory(9)).unwrap();
            let line = log.begin([127, 1, 1, 1].into(), "h", "/");
            let answer = Answer::new(200, "text/plain", "x".repeat(bytes));
            let response = encode(answer, line);
            assert_eq!(log.lines().len(), lines, "{bytes}");
            drop(response);
            assert_eq!(log.lines().len(), 1, "{bytes}");
        }
    }
}
