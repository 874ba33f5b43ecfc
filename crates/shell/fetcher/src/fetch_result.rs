//! The result of a fetch: outcome, hops, times and bytes.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

use crate::{caching::Caching, certificate::Certificate, outcome::Outcome};

/// One request in a redirect chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The requested URL.
    pub url: String,
    /// The address of the hop's connection, or the address that was dialled last. `None` if the hop
    /// failed before dialling.
    pub address: Option<SocketAddr>,
    /// The response status. `None` without a response.
    pub status: Option<u16>,
}

/// Milliseconds spent in each phase, summed over the hops. Waiting for permits does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Waiting for the resolver.
    pub dns: u32,
    /// Connecting by TCP, over all addresses that were tried.
    pub connect: u32,
    /// TLS handshakes.
    pub tls: u32,
    /// Waiting for the head of each response, after its request.
    pub first_byte: u32,
    /// Reading bodies.
    pub body: u32,
    /// Sum over the other fields.
    pub total: u32,
}

impl Timings {
    pub(crate) fn sum(&mut self) {
        let parts = [self.dns, self.connect, self.tls, self.first_byte, self.body];
        self.total = parts.into_iter().fold(0, u32::saturating_add);
    }
}

pub(crate) fn add_ms(field: &mut u32, spent: Duration) {
    *field = field.saturating_add(u32::try_from(spent.as_millis()).unwrap_or(u32::MAX));
}

/// The result of fetching one URL.
#[derive(Debug)]
pub struct FetchResult {
    /// The URL as the caller specified it.
    pub url: String,
    /// The URL that was requested last.
    pub final_url: String,
    /// The fetch's outcome.
    pub outcome: Outcome,
    /// The last response's status. `None` without a response.
    pub status: Option<u16>,
    /// Every request, in order.
    pub hops: Vec<Hop>,
    /// Whether a redirect led from https to http.
    pub was_downgraded: bool,
    /// The certificate from the last https connection. `None` for http.
    pub certificate: Option<Certificate>,
    /// The time spent per phase.
    pub timings: Timings,
    /// The last response's `Content-Type` as sent, with invalid UTF-8 replaced.
    pub content_type_header: Option<String>,
    /// The last response's head, for the archive. The body is stored decoded, so the fields for
    /// codings and length get the prefix `X-Crawler-`, as in Common Crawl's archives, and
    /// `Content-Length` is the length of `body`.
    pub http_head: Vec<u8>,
    /// The last response's `Date`, as sent.
    pub http_date: Option<String>,
    /// The last response's caching fields. `None` if it has no body.
    pub caching: Option<Caching>,
    /// The decoded body. Empty unless the outcome is ok.
    pub body: Bytes,
    /// How long the server told the client to wait, if it rejected the request temporarily.
    pub retry_after: Option<Duration>,
    /// The origin that this fetch found to be dead, with the outcome.
    pub(crate) dead_origin: Option<(String, Outcome)>,
    /// The permit for the body's memory. Dropping this value releases it.
    pub(crate) memory: Option<OwnedSemaphorePermit>,
}

impl FetchResult {
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
            caching: None,
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
