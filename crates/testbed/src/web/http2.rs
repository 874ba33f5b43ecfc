//! HTTP/2 (by hyper) for the hosts that offer it.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    body::{Frame, Incoming},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    answer,
    reply::{Answer, Ending},
};
use crate::{counters::CountedConnection, internet::Internet, request::Request};

/// The interval of pings: a connection whose client does not answer them is closed.
const PING_EVERY: Duration = Duration::from_secs(30);

/// Serves until the client closes the connection.
pub(crate) async fn serve<S>(
    stream: S,
    host: String,
    internet: &Arc<Internet>,
    connection: CountedConnection,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request: http::Request<Incoming>| {
        let (internet, host) = (Arc::clone(internet), host.clone());
        async move { Ok::<_, Infallible>(respond(&internet, host, &request).await) }
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
    request: &http::Request<Incoming>,
) -> http::Response<BoxBody<Bytes, Infallible>> {
    internet.counters.http2_request(request);
    let named = request.uri().host().map(|host| host.trim_end_matches('.').to_ascii_lowercase());
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let request =
        Request { https: true, host: named.unwrap_or(tls_host), target: target.to_owned() };
    let answer = answer::answer(internet, request).await;
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    encode(answer)
}

fn encode(answer: Answer) -> http::Response<BoxBody<Bytes, Infallible>> {
    let body = match answer.ending {
        Ending::Unannounced => {
            let frame = Ok(Frame::data(answer.body));
            StreamBody::new(futures_util::stream::iter([frame])).boxed()
        }
        _ => Full::new(answer.body).boxed(),
    };
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
