//! What a fetch gives back: outcome, way, times and bytes.
//!
//! Must not know: how it was fetched, whether the bytes are an image.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

use crate::{outcome::Outcome, request::certificate::Certificate};

/// One request of a redirect chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// What was asked.
    pub url: String,
    /// The address that was dialled, none if it did not come to that.
    pub address: Option<SocketAddr>,
    /// The status of the answer, none if there was no answer.
    pub status: Option<u16>,
}

/// Milliseconds spent, added up over the hops; waiting our turn is in none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Asking the resolver.
    pub dns: u32,
    /// TCP, over all addresses tried.
    pub connect: u32,
    /// TLS handshakes.
    pub tls: u32,
    /// From the request to the head of the answer.
    pub first_byte: u32,
    /// Reading bodies.
    pub body: u32,
    /// All of the above.
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

/// How one URL's fetch ended. `outcome` is [`Outcome::Ok`] if there is a body; whether it is an
/// image is for `content` to say.
#[derive(Debug)]
pub struct Fetched {
    /// As it was asked for.
    pub url: String,
    /// Of the last request.
    pub final_url: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Of the last answer.
    pub status: Option<u16>,
    /// Every request, in order.
    pub hops: Vec<Hop>,
    /// Whether a redirect led from https to http.
    pub was_downgraded: bool,
    /// Of the last https connection.
    pub certificate: Option<Certificate>,
    /// Where the time went.
    pub timings: Timings,
    /// `Content-Type` of the last answer, as sent; invalid UTF-8 replaced.
    pub content_type_header: Option<String>,
    /// The last answer's head as the archive keeps it: the body below is decoded, so fields about
    /// codings and length carry an `X-Crawl-` prefix, and `Content-Length` is the body's.
    pub http_head: Vec<u8>,
    /// `Date` of the last answer, as sent.
    pub http_date: Option<String>,
    /// Decoded; empty unless the outcome is ok.
    pub body: Bytes,
    /// What the server asked to wait, where it refused for now.
    pub retry_after: Option<Duration>,
    /// The origin that turned out to be dead and how, where one did.
    pub(crate) dead_origin: Option<(String, Outcome)>,
    /// The body's part of the memory for bodies, for as long as this lives.
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

impl Fetched {
    pub(crate) fn new(url: &str) -> Fetched {
        Fetched {
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
            room: None,
        }
    }

    pub(crate) fn last_hop(&mut self) -> Option<&mut Hop> {
        self.hops.last_mut()
    }
}
