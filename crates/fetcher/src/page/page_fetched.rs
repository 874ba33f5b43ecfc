//! How one request of a crawl ended.
//!
//! Must not know: what is made of it.

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

/// How one request of a crawl ended.
#[derive(Debug)]
pub struct PageFetched {
    /// How it ended.
    pub outcome: Outcome,
    /// Every request that was sent, in order: one, unless redirects were followed or a connection
    /// had just been closed. None if nothing was sent. Body and header are those of the last.
    pub exchanges: Vec<Exchange>,
    /// The status of the last answer; none if no answer came.
    pub status: Option<u16>,
    /// The fields of the last answer, as received.
    pub headers: HeaderMap,
    /// The decoded body, as far as it came: also of one that ended early, whose outcome says so. Of
    /// statuses from 400 what comes of the first 64 KiB within a second; empty for redirects,
    /// refused types, and what is too large to be wanted.
    pub body: Bytes,
    /// Why the body is not all that the server sent; none if it is, or if no answer came.
    pub truncated: Option<CutReason>,
    /// Whether the body is as it came, with the codings of the head, because they could not be
    /// undone.
    pub is_coded: bool,
    /// The absolute URL to which the answer redirects, where the outcome is `Redirected`.
    pub redirect: Option<String>,
    /// The time that the server asked to wait, where it refused for now.
    pub retry_after: Option<Duration>,
    /// The cookies of the chain, for the request that follows a redirect on the same host.
    pub cookies: Cookies,
    /// Where the time went.
    pub timings: Timings,
    /// What was found about the certificate of the last https connection; none over http.
    pub certificate: Option<Certificate>,
    /// The permit for the memory of the body, for as long as this value lives.
    pub(crate) _memory: Option<OwnedSemaphorePermit>,
}

impl PageFetched {
    /// The type and subtype in lower case that the last answer declares; none if it declares none
    /// that can be read.
    pub fn content_type(&self) -> Option<String> {
        essence(&self.headers)
    }

    /// Whether something is kept of the body of a success, although it may be cut.
    pub fn has_body(&self) -> bool {
        self.is_success() && !self.body.is_empty()
    }

    /// Whether the server sent a success of whose body nothing is kept.
    pub fn has_lost_body(&self) -> bool {
        self.is_success() && self.body.is_empty() && self.truncated.is_some()
    }

    fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..=299).contains(&status))
    }

    /// The validators of the last answer.
    pub fn validators(&self) -> Validators {
        Validators::of(&self.headers)
    }

    /// What the request says about the host of its URL; none if that was not asked.
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

    /// The time from the requests to the ends of their answers, without connecting: what the
    /// server took.
    fn response_time(&self) -> Duration {
        let ms = self.timings.first_byte.saturating_add(self.timings.body);
        Duration::from_millis(u64::from(ms))
    }
}
