//! The result of one crawl request.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    certificate::Certificate,
    content_types::essence,
    fetch_result::Timings,
    host::delay::HostResult,
    outcome::{HostContact, Outcome},
    page::{
        exchange::{CutReason, Exchange},
        validators::Validators,
    },
    request::cookies::Cookies,
};

/// The result of one crawl request.
#[derive(Debug)]
pub struct PageFetchResult {
    /// The request's outcome.
    pub outcome: Outcome,
    /// Every request that was sent, in order. There is more than one if redirects were followed or
    /// a reused connection had just been closed. Empty if nothing was sent. `body` and `headers`
    /// are from the last one.
    pub exchanges: Vec<Exchange>,
    /// The last response's status. `None` without a response.
    pub status: Option<u16>,
    /// The last response's fields, as received.
    pub headers: HeaderMap,
    /// The decoded body, or the body as received if `is_coded`. For statuses from 400, this is the
    /// part of the first 64 KiB that arrived within a second. Empty for redirects, for rejected
    /// types, and for bodies over the limit if the purpose rejects them.
    pub body: Bytes,
    /// Why the body is incomplete. `None` if it is complete, or if there was no response.
    pub truncated: Option<CutReason>,
    /// Whether the body still has its content codings, because it could not be decoded.
    pub is_coded: bool,
    /// The absolute URL of a redirect. `None` unless the outcome is `Redirected`.
    pub redirect: Option<String>,
    /// How long the server told the client to wait, if it rejected the request temporarily.
    pub retry_after: Option<Duration>,
    /// The redirect chain's cookies, for a request to the redirect's target if it is on the same
    /// host.
    pub cookies: Cookies,
    /// The time spent per phase.
    pub timings: Timings,
    /// The certificate from the last https connection. `None` for http.
    pub certificate: Option<Certificate>,
    /// The permit for the body's memory. Dropping this value releases it.
    pub(crate) _memory: Option<OwnedSemaphorePermit>,
}

impl PageFetchResult {
    /// Returns the last response's type and subtype in lower case. `None` if it has no valid type.
    pub fn content_type(&self) -> Option<String> {
        essence(&self.headers)
    }

    /// Returns whether the response was a success and at least a part of its body was read.
    pub fn has_body(&self) -> bool {
        self.is_success() && !self.body.is_empty()
    }

    /// Returns whether the response was a success, but no part of its body was read.
    pub fn has_lost_body(&self) -> bool {
        self.is_success() && self.body.is_empty() && self.truncated.is_some()
    }

    fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..=299).contains(&status))
    }

    /// Returns the last response's validators.
    pub fn validators(&self) -> Validators {
        Validators::of(&self.headers)
    }

    /// `None` if the host was not contacted.
    pub(crate) fn host_result(&self) -> Option<HostResult> {
        match self.status {
            Some(status) => Some(HostResult::Responded {
                took: self.response_time(),
                is_rate_limited: matches!(status, 429 | 503),
                retry_after: self.retry_after,
            }),
            None if self.outcome.host_contact() == HostContact::Contacted => {
                Some(HostResult::NoResponse)
            }
            None => None,
        }
    }

    fn response_time(&self) -> Duration {
        let ms = self.timings.first_byte.saturating_add(self.timings.body);
        Duration::from_millis(u64::from(ms))
    }
}
