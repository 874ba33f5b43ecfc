//! The result of fetching one distinct URL of a shard.

use std::{net::SocketAddr, time::Duration};

use chrono::{DateTime, Utc};

use crate::{
    caching::Caching,
    certificate::Certificate,
    fetch_result::FetchResult,
    outcome::{Outcome, Retry},
    request::{content::ImageFacts, spool::Payload},
};

/// Statuses whose `Retry-After` the fetcher obeys (RFC 9110, 10.2.3; RFC 6585, 4).
const STATUSES_THAT_ASK_TO_WAIT: [u16; 2] = [429, 503];

/// The result of fetching one URL. All candidates with this URL share it.
#[derive(Clone, Debug)]
pub struct UrlFetch {
    /// The fetch's outcome.
    pub outcome: Outcome,
    /// Content type and dimensions of the image. `None` unless the outcome is `Ok`.
    pub facts: Option<ImageFacts>,
    /// The SHA-256 digest of the decoded body. `None` unless the outcome is `Ok`.
    pub sha256: Option<[u8; 32]>,
    /// Location of head and body in the spool. `None` unless the outcome is `Ok`.
    pub payload: Option<Payload>,
    /// Size of the decoded body in bytes, whether or not it is an image.
    pub bytes: u32,
    /// The status of the last response. `None` if no response arrived.
    pub status: Option<u16>,
    /// The URL of the last request. `None` if it is the fetched URL itself.
    pub final_url: Option<String>,
    /// The address of the last hop's connection, or the one that it dialled last. `None` if it had
    /// none.
    pub address: Option<SocketAddr>,
    /// The certificate of the last https connection. `None` if there was no https connection.
    pub certificate: Option<Certificate>,
    /// The caching fields of the last response. `None` for a `data:` icon, or if no body was kept.
    pub caching: Option<Caching>,
    /// When the fetch finished.
    pub ended_at: DateTime<Utc>,
    /// Whether an address was dialled or a connection was reused for this URL.
    pub was_tried: bool,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) dead_origin: Option<(String, Outcome)>,
}

impl UrlFetch {
    pub(crate) fn untried(outcome: Outcome) -> Self {
        Self {
            outcome,
            facts: None,
            sha256: None,
            payload: None,
            bytes: 0,
            status: None,
            final_url: None,
            address: None,
            certificate: None,
            caching: None,
            ended_at: Utc::now(),
            was_tried: false,
            retry_after: None,
            dead_origin: None,
        }
    }

    pub(crate) fn of_fetched(fetched: &mut FetchResult) -> Self {
        let last = fetched.hops.last();
        Self {
            outcome: fetched.outcome,
            bytes: u32::try_from(fetched.body.len()).unwrap_or(u32::MAX),
            status: fetched.status,
            final_url: (fetched.final_url != fetched.url).then(|| fetched.final_url.clone()),
            address: last.and_then(|hop| hop.address),
            certificate: fetched.certificate,
            caching: fetched.caching,
            was_tried: fetched.hops.iter().any(|hop| hop.address.is_some()),
            retry_after: fetched.retry_after,
            dead_origin: fetched.dead_origin.take(),
            ..Self::untried(fetched.outcome)
        }
    }

    pub(crate) fn is_worth_a_retry(&self, retry_after_max: Duration) -> bool {
        match self.outcome.retry() {
            Retry::Never => false,
            Retry::LaterPass => true,
            Retry::AfterRetryAfter => {
                self.status.is_some_and(|status| STATUSES_THAT_ASK_TO_WAIT.contains(&status))
                    && self.retry_after.unwrap_or_default() <= retry_after_max
            }
        }
    }
}
