//! The response to a request.

use std::{io::Write, sync::Arc, time::Duration};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest as _, Sha256};

use super::{
    graph, redirects,
    reply::{Answer, Ending, header},
    robots,
};
use crate::{
    behaviour::Behaviour,
    dice::Dice,
    draw,
    generate::{LiveHome, World, live_home},
    internet::{Internet, Library},
    request::Request,
    stored_response::StoredResponse,
};

const MAX_ACCEPTED_BYTES: u64 = 512 * 1_024;

/// Uses a blocking thread, because drawing and reading would block the event loop.
pub(crate) async fn answer(internet: &Arc<Internet>, request: Request) -> Answer {
    if !internet.knows(&request.host) {
        return Answer::page(421, "Misdirected Request");
    }
    let behaviour = internet.behaviour(&request.host);
    internet.counters.request(behaviour, &request.host, request.path());
    if let Library::Graph(served) = &internet.library {
        // This is faster than passing the page to a blocking thread.
        return graph::answer(internet, served, &request);
    }
    // Without this limit, a thousand concurrent requests would start a thousand threads.
    let Ok(_permit) = internet.drawing.acquire().await else {
        return Answer::page(500, "Internal Server Error");
    };
    let internet = Arc::clone(internet);
    let made = tokio::task::spawn_blocking(move || make(&internet, &request)).await;
    made.unwrap_or_else(|_| Answer::page(500, "Internal Server Error"))
}

pub(crate) fn make(internet: &Internet, request: &Request) -> Answer {
    let behaviour = internet.behaviour(&request.host);
    let mut answer = if request.path() == "/robots.txt" {
        robots::answer(internet, request, behaviour)
    } else {
        misbehave(internet, request, behaviour)
    };
    answer.delay = internet.latency.base + around(internet, request);
    if behaviour == Behaviour::Slow {
        let latency = &internet.latency;
        let (least, most) = (latency.slow_at_least.as_millis(), latency.slow_at_most.as_millis());
        let mut dice = Dice::new(internet.seed, &["slow", &request.host, &request.target]);
        answer.delay += Duration::from_millis(dice.between(least as u64, most as u64));
    }
    answer
}

fn around(internet: &Internet, request: &Request) -> Duration {
    let median = internet.latency.median.as_millis() as u64;
    let mut dice = Dice::new(internet.seed, &["latency", &request.host, &request.target]);
    Duration::from_millis(dice.between(median.div_ceil(2), median + median / 2))
}

fn misbehave(internet: &Internet, request: &Request, behaviour: Behaviour) -> Answer {
    use Behaviour as B;
    let mut dice = Dice::new(internet.seed, &["answer", &request.host, &request.target]);
    match behaviour {
        B::NotFound => Answer::page(404, "Not Found"),
        B::Gone => Answer::page(410, "Gone"),
        B::Forbidden => Answer::page(403, "Forbidden"),
        B::TooManyRequests => too_many_requests(internet, request),
        B::ServerError => Answer::page(500, "Internal Server Error"),
        B::Unavailable => Answer::page(503, "Service Unavailable"),
        B::HtmlInsteadOfIcon => Answer::page(200, "Welcome"),
        B::EmptyBody => Answer::new(200, "image/x-icon", Bytes::new()),
        B::TooLarge | B::TooLargeUnannounced => {
            let size = dice.between(MAX_ACCEPTED_BYTES + 1, 2 * MAX_ACCEPTED_BYTES) as usize;
            let mut body = b"\x89PNG\r\n\x1a\n".to_vec();
            body.resize(size, 0);
            let mut answer = Answer::new(200, "image/png", body);
            if behaviour == B::TooLargeUnannounced {
                answer.ending = Ending::Unannounced;
            }
            answer
        }
        B::BrokenImage => {
            let broken = draw::broken(internet.seed, &request.host, request.path());
            Answer::new(200, broken.content_type, broken.body)
        }
        B::RedirectChain
        | B::RedirectTooMany
        | B::RedirectLoop
        | B::RedirectPrivate
        | B::RedirectOtherHost
        | B::RedirectBadScheme => redirects::answer(internet, request, behaviour)
            .unwrap_or_else(|unwound| content(internet, &unwound)),
        B::StallsInBody => {
            with_ending(content(internet, request), |length| Ending::StallAfter(length / 2))
        }
        B::LengthTooLong => with_ending(content(internet, request), |length| {
            Ending::Declared(length.saturating_add(dice.between(1, 5_000) as usize))
        }),
        B::LengthTooShort => {
            with_ending(content(internet, request), |length| Ending::Declared(length / 2))
        }
        B::WrongContentType => with_wrong_type(content(internet, request), &mut dice),
        B::Gzip => gzipped(content(internet, request)),
        B::Fine | B::Slow | B::RobotsDisallow | B::RobotsUnavailable => content(internet, request),
        B::DnsNxdomain
        | B::DnsServfail
        | B::DnsNoAddress
        | B::DnsNeverAnswers
        | B::DnsPrivateAddress
        | B::ConnectTimeout
        | B::NeverAnswers
        | B::Refused
        | B::Reset
        | B::TlsHandshakeFailure
        | B::CertificateWrongName
        | B::CertificateExpired
        | B::CertificateSelfSigned => content(internet, request),
    }
}

fn too_many_requests(internet: &Internet, request: &Request) -> Answer {
    let answer = Answer::page(429, "Too Many Requests");
    let mut dice = Dice::new(internet.seed, &["retry after", &request.host]);
    match dice.below(3) {
        0 => answer,
        1 => answer.with("retry-after", "1"),
        _ => answer.with("retry-after", "7200"),
    }
}

/// Icons are fresh for 60 days. Many icons on the web are fresh for one to three months.
const ICON_CACHING: &str = "public, max-age=5184000";

pub(crate) fn content(internet: &Internet, request: &Request) -> Answer {
    let path = request.path();
    if path == "/favicon.ico" && internet.mix.lacks_favicon(internet.seed, &request.host) {
        return Answer::page(404, "Not Found");
    }
    let stored = match &internet.library {
        Library::Recorded(recording) => recording.response(internet.seed, request),
        Library::Graph(_) => None,
        Library::Generated(world) => {
            let drawn =
                draw::icon(internet.seed, &request.host, path).map(|drawn| StoredResponse {
                    status: 200,
                    headers: vec![
                        header("content-type", drawn.content_type),
                        header("cache-control", ICON_CACHING),
                    ],
                    body: drawn.body.into(),
                });
            drawn.or_else(|| home(world, request))
        }
    };
    match stored {
        Some(StoredResponse { status, headers, body }) => {
            Answer { headers, ..Answer::new(status, "", body) }
        }
        None if path == "/" => Answer::page(200, &request.host),
        None => Answer::page(404, "Not Found"),
    }
}

fn home(world: &World, request: &Request) -> Option<StoredResponse> {
    let path = Some(request.path()).filter(|path| *path == request.target)?;
    let (status, headers, body) = match live_home(world, &request.host, path)? {
        LiveHome::Redirect(to) => (302, vec![header("location", to)], Vec::new()),
        LiveHome::Page { content_type, headers, body } => {
            let others = headers.iter().map(|(name, value)| header(name, value.as_str()));
            let tag = format!("\"{}\"", hex::encode(&Sha256::digest(&body)[..8]));
            if request.if_none_match.as_ref() == Some(&tag) {
                (304, vec![header("etag", tag)], Vec::new())
            } else {
                let own = [header("content-type", content_type), header("etag", tag)];
                (200, own.into_iter().chain(others).collect(), body)
            }
        }
    };
    Some(StoredResponse { status, headers, body: body.into() })
}

fn with_ending(mut answer: Answer, ending: impl FnOnce(usize) -> Ending) -> Answer {
    answer.ending = ending(answer.body.len());
    answer
}

fn with_wrong_type(mut answer: Answer, dice: &mut Dice) -> Answer {
    answer.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    let wrong = ["text/html", "application/octet-stream", "text/plain", "image/png", ""];
    let wrong = dice.pick(&wrong);
    if wrong.is_empty() { answer } else { answer.with("content-type", wrong) }
}

fn gzipped(answer: Answer) -> Answer {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::new(6));
    match gzip.write_all(&answer.body).and_then(|()| gzip.finish()) {
        Ok(packed) => {
            let answer = Answer { body: packed.into(), ..answer };
            answer.with("content-encoding", "gzip")
        }
        Err(_) => answer,
    }
}
