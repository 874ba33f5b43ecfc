//! The result of one request of a crawl.
//!
//! Does not depend on how the result is used.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    certificate::Certificate,
    content_types::essence,
    fetched::Timings,
    host::delay::HostAnswer,
    outcome::{HostWas, Outcome},
    page::{
        exchange::{CutReason, Exchange},
        validators::Validators,
    },
    request::cookies::Cookies,
};

/// The result of one request of a crawl.
#[derive(Debug)]
pub struct PageFetched {
    /// The outcome of the request.
    pub outcome: Outcome,
    /// Every request that was sent, in order. There is more than one if redirects were followed or
    /// a reused connection had just been closed. Empty if nothing was sent. Body and header are
    /// from the last one.
    pub exchanges: Vec<Exchange>,
    /// The status of the last response. `None` if there was none.
    pub status: Option<u16>,
    /// The fields of the last response, as received.
    pub headers: HeaderMap,
    /// The decoded body, or the part that arrived if it ended early, which the outcome then says.
    /// For statuses from 400, what arrives of the first 64 KiB within a second. Empty for
    /// redirects, rejected types, and bodies that exceed a purpose's limit if it rejects those.
    pub body: Bytes,
    /// Why the body is incomplete. `None` if it is complete, or there was no response.
    pub truncated: Option<CutReason>,
    /// Whether the body still has the content codings of the head, because it could not be decoded.
    pub is_coded: bool,
    /// The absolute URL to which the response redirects. `None` unless the outcome is `Redirected`.
    pub redirect: Option<String>,
    /// How long the server asked the client to wait, if it rejected the request for now.
    pub retry_after: Option<Duration>,
    /// The cookies of the chain, for the request to a redirect's target on the same host.
    pub cookies: Cookies,
    /// The time spent per phase.
    pub timings: Timings,
    /// The certificate of the last https connection. `None` over http.
    pub certificate: Option<Certificate>,
    /// The permit for the memory of the body, which this value holds while it lives.
    pub(crate) _memory: Option<OwnedSemaphorePermit>,
}

impl PageFetched {
    /// Returns the type and subtype of the last response in lower case. `None` if it has no valid
    /// one.
    pub fn content_type(&self) -> Option<String> {
        essence(&self.headers)
    }

    /// Returns whether a success has at least a part of its body.
    pub fn has_body(&self) -> bool {
        self.is_success() && !self.body.is_empty()
    }

    /// Returns whether the response was a success with a body of which nothing was kept.
    pub fn has_lost_body(&self) -> bool {
        self.is_success() && self.body.is_empty() && self.truncated.is_some()
    }

    fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..=299).contains(&status))
    }

    /// Returns the validators of the last response.
    pub fn validators(&self) -> Validators {
        Validators::of(&self.headers)
    }

    /// Returns the result for the delay of the URL's host. `None` if the host was not contacted.
    pub(crate) fn host_answer(&self) -> Option<HostAnswer> {
        match self.status {
            Some(status) => Some(HostAnswer::Answered {
                took: self.response_time(),
                is_complaint: matches!(status, 429 | 503),
                retry_after: self.retry_after,
            }),
            None if self.outcome.host_was_asked() == HostWas::Asked => Some(HostAnswer::Void),
            None => None,
        }
    }

    /// Returns the server's response time: from the requests to the ends of their responses,
    /// without connecting.
    fn response_time(&self) -> Duration {
        let ms = self.timings.first_byte.saturating_add(self.timings.body);
        Duration::from_millis(u64::from(ms))
    }
}
