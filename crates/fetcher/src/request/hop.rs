//! One request and its answer: places, connection, head, and the body if it is wanted.
//!
//! An error on a connection that had carried a request before says nothing: the peer may just
//! have closed it. It is tried once more on a fresh one, whose outcome counts.
//! Must not know: redirects beyond recognising one, robots rules.

use std::{
    error::Error,
    io,
    net::{IpAddr, SocketAddr},
    time::{Duration, Instant},
};

use bytes::Bytes;
use chrono::DateTime;
use everytab_webpage::robots::MAX_ROBOTS_BYTES;
use http::{
    Response, StatusCode,
    header::{CONTENT_TYPE, DATE, HeaderMap, LOCATION, RETRY_AFTER},
};
use hyper::body::Incoming;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    fetched::{Fetched, add_ms},
    health::clock::Clock,
    names::resolver::Resolved,
    outcome::{Outcome, Stop, Trouble},
    permits::{keyed_semaphore::Place, politeness::Politeness},
    request::{
        body::{self, AtLimit},
        connection::Connection,
        cookies::Cookies,
        dial::{Places, Way, dial},
        fetcher::{Round, Shared},
        message::{self, Purpose},
        target::Target,
    },
};

/// A refusal's body that is read to save the connection, and the time it may take.
const DRAINED_BYTES: usize = 64 * 1024;
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// What an answer asks for.
pub(crate) enum Answer {
    /// The body is in the record.
    Body,
    /// To go on there.
    Redirect(String),
}

/// The state of one chain of requests.
pub(crate) struct Trip<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) round: Round<'a>,
    pub(crate) purpose: Purpose,
    pub(crate) clock: Clock,
    pub(crate) cookies: Cookies,
    pub(crate) fetched: Fetched,
}

impl Trip<'_> {
    /// Asks `target` once.
    pub(crate) async fn ask(&mut self, target: &Target) -> Result<Answer, Stop> {
        let left = self.round.pool.places_left(&target.origin);
        let addresses = self.addresses(target).await?;
        let (host, left) = match left {
            Some((host, places)) => (host, Some(places)),
            None => {
                let host = self.clock.wait(self.shared.politeness.enter_host(&target.host)).await;
                self.round.meter.at_once_per_host(host.at_once());
                (host, None)
            }
        };
        if let Some(connection) = self.round.pool.take(&target.origin) {
            let address = connection.endpoint.ip();
            let places = match left {
                Some(left) => {
                    self.clock.wait(self.shared.politeness.pace.turn()).await;
                    left
                }
                None => Places::take(self.shared, self.round, address, &mut self.clock).await?,
            };
            self.round.meter.reused();
            match self.head(target, connection).await {
                Ok((connection, head)) => {
                    return self.answer(target, connection, head, (host, places)).await;
                }
                // Whatever went wrong in time on a used connection is asked again on a fresh one.
                Err(Stop::Outcome(outcome)) if !is_late(outcome) => drop(places),
                Err(stop) => return Err(stop),
            }
        }
        let mut tried: Option<SocketAddr> = None;
        let way = Way { shared: self.shared, round: self.round, target };
        let timings = &mut self.fetched.timings;
        let dialled = dial(way, &addresses, &mut self.clock, timings, &mut tried).await;
        if let Some(hop) = self.fetched.last_hop() {
            hop.address = tried;
        }
        let (connection, places) = dialled?;
        let (connection, head) = self.head(target, connection).await?;
        self.answer(target, connection, head, (host, places)).await
    }

    /// The addresses of the target, every one allowed.
    async fn addresses(&mut self, target: &Target) -> Result<Vec<IpAddr>, Stop> {
        if let Some(address) = target.literal {
            if !self.shared.guard.allows(address) {
                return Err(Outcome::IpBlocked.into());
            }
            return Ok(vec![address]);
        }
        let began = Instant::now();
        // Looking up has deadlines of its own, and may have been done by another.
        let resolved = self.clock.wait(self.shared.resolver.resolve(&target.host)).await?;
        add_ms(&mut self.fetched.timings.dns, began.elapsed());
        let (resolved, was_asked) = resolved;
        if was_asked {
            self.round.meter.looked_up(began.elapsed());
        }
        match resolved {
            Resolved::Addresses(addresses) => Ok(addresses.to_vec()),
            Resolved::Failed(outcome) => Err(outcome.into()),
        }
    }

    /// Sends the request and waits for the head.
    async fn head(
        &mut self,
        target: &Target,
        mut connection: Connection,
    ) -> Result<(Connection, Response<Incoming>), Stop> {
        self.fetched.certificate = connection.certificate.or(self.fetched.certificate);
        if let Some(hop) = self.fetched.last_hop() {
            hop.address = Some(connection.endpoint);
        }
        let speaks_http2 = connection.speaks_http2();
        let mut request = message::build(
            &target.url,
            self.purpose,
            speaks_http2,
            &self.shared.settings.user_agent,
            self.cookies.header(&target.url).as_deref(),
        )?;
        let too_many_early = message::watch_early_answers(&mut request);
        let began = Instant::now();
        let step = self.shared.settings.first_byte_timeout;
        let sending = async {
            tokio::select! {
                sent = connection.send(request) => {
                    sent.map_err(|error| of_head_error(&error, speaks_http2))
                }
                () = too_many_early.notified() => Err(Outcome::HeaderTooLarge.into()),
            }
        };
        let sent = self.clock.within(step, Outcome::FirstByteTimeout, sending).await;
        add_ms(&mut self.fetched.timings.first_byte, began.elapsed());
        let head = sent??;
        Ok((connection, head))
    }

    /// Understands the head, and reads the body if it is wanted.
    async fn answer(
        &mut self,
        target: &Target,
        connection: Connection,
        head: Response<Incoming>,
        places: (Place<String>, Places),
    ) -> Result<Answer, Stop> {
        let (parts, incoming) = head.into_parts();
        let (status, headers) = (parts.status, parts.headers);
        self.cookies.take(&target.url, &headers);
        self.fetched.status = Some(status.as_u16());
        if let Some(hop) = self.fetched.last_hop() {
            hop.status = Some(status.as_u16());
        }
        self.fetched.content_type_header = message::text(headers.get(CONTENT_TYPE));
        self.fetched.http_date = message::text(headers.get(DATE));
        self.fetched.http_head = message::archived_head(status, &headers, 0);
        let verdict = judge_head(status, &headers);
        if let Ok(Answer::Body) = verdict {
            let began = Instant::now();
            let read = self.read(incoming, &headers).await;
            add_ms(&mut self.fetched.timings.body, began.elapsed());
            let (body, room) = read?;
            self.fetched.http_head = message::archived_head(status, &headers, body.len());
            self.fetched.body = body;
            self.fetched.room = Some(room);
            self.keep(target, connection, places);
            return Ok(Answer::Body);
        }
        self.fetched.retry_after = retry_after(&headers, self.fetched.http_date.as_deref());
        // A stream of HTTP/2 can be left; a connection of HTTP/1.1 must be read to be used again.
        let is_usable = connection.speaks_http2()
            || tokio::time::timeout(DRAIN_TIME, body::drain(incoming, DRAINED_BYTES))
                .await
                .unwrap_or(false);
        if is_usable {
            self.keep(target, connection, places);
        }
        verdict.map_err(Stop::Outcome)
    }

    /// Keeps the connection for the next icon, and its places where that comes at once.
    fn keep(&self, target: &Target, connection: Connection, places: (Place<String>, Places)) {
        self.round.pool.keep(&target.origin, connection, &self.shared.politeness);
        if self.round.is_sequential {
            self.round.pool.leave(&target.origin, places.0, places.1);
        }
    }

    async fn read(
        &mut self,
        incoming: Incoming,
        headers: &HeaderMap,
    ) -> Result<(Bytes, OwnedSemaphorePermit), Stop> {
        let (max_bytes, at_limit) = match self.purpose {
            Purpose::Icon => (self.shared.settings.max_body_bytes, AtLimit::Refuse),
            Purpose::Robots => (MAX_ROBOTS_BYTES, AtLimit::Cut),
        };
        let coding = body::coding(headers)?;
        let declared = body::declared_bytes(headers);
        let is_over = declared.is_some_and(|bytes| bytes > max_bytes as u64);
        if is_over && at_limit == AtLimit::Refuse {
            return Err(Outcome::BodyTooLarge.into());
        }
        let expected = match (coding, declared.and_then(|bytes| usize::try_from(bytes).ok())) {
            (body::Coding::Identity, Some(bytes)) => bytes.min(max_bytes),
            _ => max_bytes,
        };
        let mut room = self.clock.wait(self.shared.politeness.room(expected)).await?;
        let body = body::read(incoming, coding, max_bytes, at_limit, &self.clock).await?;
        Politeness::shrink(&mut room, body.len());
        Ok((body, room))
    }
}

fn is_late(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::FirstByteTimeout | Outcome::TotalTimeout)
}

/// What the head alone decides.
fn judge_head(status: StatusCode, headers: &HeaderMap) -> Result<Answer, Outcome> {
    let mitigated = headers.get("cf-mitigated").and_then(|value| value.to_str().ok());
    if mitigated.is_some_and(|what| what.trim().eq_ignore_ascii_case("challenge")) {
        return Err(Outcome::HttpChallenge);
    }
    let location = message::text(headers.get(LOCATION));
    match (status.as_u16(), location) {
        (200..=299, _) => Ok(Answer::Body),
        (301 | 302 | 303 | 307 | 308, Some(location)) => Ok(Answer::Redirect(location)),
        (401 | 403, _) => Err(Outcome::Http401403),
        (404 | 410, _) => Err(Outcome::Http404410),
        (429, _) => Err(Outcome::Http429),
        (500.., _) => Err(Outcome::Http5xx),
        _ => Err(Outcome::Http4xx),
    }
}

/// Seconds, or a date: then counted from the answer's own date, so that no clock of ours matters.
fn retry_after(headers: &HeaderMap, date: Option<&str>) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = DateTime::parse_from_rfc2822(value).ok()?;
    let now = DateTime::parse_from_rfc2822(date?).ok()?;
    Some((until - now).to_std().unwrap_or_default())
}

fn of_head_error(error: &hyper::Error, speaks_http2: bool) -> Stop {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if let Some(trouble) = cause.downcast_ref::<io::Error>().and_then(Trouble::of_io) {
            return trouble.into();
        }
        source = cause.source();
    }
    if error.is_parse_too_large() {
        Outcome::HeaderTooLarge.into()
    } else if speaks_http2 {
        Outcome::H2Protocol.into()
    } else if error.is_parse() {
        Outcome::H1Parse.into()
    } else {
        Outcome::ConnectReset.into()
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let value = |value: &'static str| HeaderValue::from_static(value);
        pairs.iter().map(|(name, text)| (name.parse().expect("a name"), value(text))).collect()
    }

    #[test]
    fn every_status_has_a_meaning() {
        let of = |status: u16, pairs: &[(&'static str, &'static str)]| {
            let status = StatusCode::from_u16(status).expect("a status");
            judge_head(status, &headers(pairs)).err()
        };
        for (status, outcome) in [
            (200, None),
            (206, None),
            (300, Some(Outcome::Http4xx)),
            (302, Some(Outcome::Http4xx)),
            (304, Some(Outcome::Http4xx)),
            (400, Some(Outcome::Http4xx)),
            (401, Some(Outcome::Http401403)),
            (403, Some(Outcome::Http401403)),
            (404, Some(Outcome::Http404410)),
            (410, Some(Outcome::Http404410)),
            (418, Some(Outcome::Http4xx)),
            (429, Some(Outcome::Http429)),
            (500, Some(Outcome::Http5xx)),
            (503, Some(Outcome::Http5xx)),
            (999, Some(Outcome::Http5xx)),
        ] {
            assert_eq!(of(status, &[]), outcome, "{status}");
        }
        assert_eq!(of(302, &[("location", "/x")]), None);
        assert_eq!(of(403, &[("cf-mitigated", "challenge")]), Some(Outcome::HttpChallenge));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_against_the_answers_own() {
        let date = Some("Wed, 21 Oct 2015 07:28:00 GMT");
        let of = |value: &'static str| retry_after(&headers(&[("retry-after", value)]), date);
        assert_eq!(of("30"), Some(Duration::from_secs(30)));
        assert_eq!(of("Wed, 21 Oct 2015 07:28:45 GMT"), Some(Duration::from_secs(45)));
        assert_eq!(of("Wed, 21 Oct 2015 07:20:00 GMT"), Some(Duration::ZERO));
        assert_eq!(of("soon"), None);
        assert_eq!(retry_after(&headers(&[]), date), None);
    }
}
