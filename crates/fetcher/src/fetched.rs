//! What a fetch gives back: outcome, hops, times and bytes.
//!
//! Must not know: how it was fetched, whether the bytes are an image.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

use crate::{certificate::Certificate, outcome::Outcome};

/// One request of a redirect chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The URL of the request.
    pub url: String,
    /// The address that was dialled; none if the hop ended before that.
    pub address: Option<SocketAddr>,
    /// The status of the answer; none if there was no answer.
    pub status: Option<u16>,
}

/// Milliseconds spent, added up over the hops. Waiting for permits is in none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Milliseconds of waiting for the resolver.
    pub dns: u32,
    /// Milliseconds of connecting by TCP, over all addresses tried.
    pub connect: u32,
    /// Milliseconds of TLS handshakes.
    pub tls: u32,
    /// Milliseconds from the requests to the heads of their answers.
    pub first_byte: u32,
    /// Milliseconds of reading bodies.
    pub body: u32,
    /// The sum of the others.
    pub total: u32,
}

impl Timings {
    pub(crate) fn sum(&mut self) {
        let parts = [self.dns, self.connect, self.tls, self.first_byte, self.body];
        self.total = parts.into_iter().fold(0, u32::saturating_add);
    }
}

/// Adds a time to a field of [`Timings`].
pub(crate) fn add_ms(field: &mut u32, spent: Duration) {
    *field = field.saturating_add(u32::try_from(spent.as_millis()).unwrap_or(u32::MAX));
}

/// How the fetch of one URL ended. `outcome` is [`Outcome::Ok`] if there is a body; whether the
/// body is an image is decided by [`judge`](crate::judge).
#[derive(Debug)]
pub struct Fetched {
    /// The URL as the caller gave it.
    pub url: String,
    /// The URL of the last request.
    pub final_url: String,
    /// How the fetch ended.
    pub outcome: Outcome,
    /// The status of the last answer; none if no answer came.
    pub status: Option<u16>,
    /// Every request, in order.
    pub hops: Vec<Hop>,
    /// Whether a redirect led from https to http.
    pub was_downgraded: bool,
    /// What was found about the certificate of the last https connection; none over http.
    pub certificate: Option<Certificate>,
    /// Where the time went.
    pub timings: Timings,
    /// `Content-Type` of the last answer as sent, with invalid UTF-8 replaced.
    pub content_type_header: Option<String>,
    /// The head of the last answer as the archive keeps it. The body is kept decoded, so fields
    /// about codings and length carry an `X-Crawler-` prefix, as in Common Crawl's archives, and
    /// `Content-Length` is that of `body`.
    pub http_head: Vec<u8>,
    /// `Date` of the last answer, as sent.
    pub http_date: Option<String>,
    /// The decoded body; empty unless the outcome is ok.
    pub body: Bytes,
    /// The time that the server asked to wait, where it refused for now.
    pub retry_after: Option<Duration>,
    /// The origin that turned out to be dead, and its outcome.
    pub(crate) dead_origin: Option<(String, Outcome)>,
    /// The permit for the memory of the body, for as long as this value lives.
    pub(crate) memory: Option<OwnedSemaphorePermit>,
}

impl Fetched {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            final_url: url.to_owned(),
            outcome: Outcome::Ok,
            status: None,
            hops: Vec::new(),
            was_downgraded: false,
            certificate: None,
            timings: Timings::default(),
            content_type_header: None,
            http_head: Vec::new(),
            http_date: None,
            body: Bytes::new(),
            retry_after: None,
            dead_origin: None,
            memory: None,
        }
    }

    pub(crate) fn last_hop(&mut self) -> Option<&mut Hop> {
        self.hops.last_mut()
    }
}
