//! Webhooks for the workers that send events: leases for webhooks with due events, and the results
//! of attempts.
//!
//! Does not depend on how a body is delivered.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use crate::{error::Error, row::from_row, sql_calls::sql_calls};

/// A webhook's lease, with the events to send.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookLease {
    /// The webhook.
    pub id: Uuid,
    /// The token that proves the lease.
    pub token: Uuid,
    /// The id of the key that owns the webhook.
    pub key: String,
    /// The URL to which events are sent.
    pub url: String,
    /// The secrets for signing events, newest first.
    pub secrets: Vec<Vec<u8>>,
    /// The events' numbers, in the order of `event_ids` and `bodies`.
    pub numbers: Vec<i64>,
    /// The events' ids, which receivers see.
    pub event_ids: Vec<Uuid>,
    /// The events' bodies.
    pub bodies: Vec<String>,
}

impl fmt::Debug for WebhookLease {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // We omit the secrets, and the bodies, which contain the key's data.
        let mut shown = formatter.debug_struct("WebhookLease");
        shown.field("id", &self.id).field("key", &self.key).field("url", &self.url);
        shown.field("numbers", &self.numbers).finish_non_exhaustive()
    }
}

/// The result of an attempt to send an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookTry {
    /// The event's number.
    pub number: i64,
    /// `ok` if the event was delivered, otherwise the failure.
    pub outcome: &'static str,
    /// The response status, if there was one.
    pub status: Option<i16>,
}

/// The result of recording attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRecorded {
    /// `recorded`, or `lost` if another worker has the lease or the webhook is gone.
    pub word: String,
    /// The reason if this call disabled the webhook: `gone` or `failing`.
    pub disabled_because: Option<String>,
    /// Number of events that were given up.
    pub dropped: i64,
}

/// How many webhooks have waiting events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookBacklog {
    /// Number of webhooks with waiting events.
    pub waiting: i64,
    /// Number of these webhooks whose last attempt failed.
    pub failing: i64,
}

/// A webhook as shown to its owner and the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WebhookState {
    /// The webhook's id.
    pub id: Uuid,
    /// The id of the key that owns the webhook.
    pub key: String,
    /// The URL to which events are sent.
    pub url: String,
    /// The event types that the webhook receives.
    pub events: Vec<String>,
    /// The owner's description of the webhook.
    pub description: Option<String>,
    /// When the webhook was added.
    pub created_at: DateTime<Utc>,
    /// When the webhook was disabled. `None` while it is enabled.
    pub disabled_at: Option<DateTime<Utc>>,
    /// Why the webhook was disabled: `requested`, `gone`, `failing` or `key_revoked`.
    pub disabled_because: Option<String>,
    /// Failed attempts since the last successful one.
    pub failures: i32,
    /// When the first of these attempts failed.
    pub failing_since: Option<DateTime<Utc>>,
    /// When an event was last delivered.
    pub last_success_at: Option<DateTime<Utc>>,
    /// When an attempt last failed.
    pub last_failure_at: Option<DateTime<Utc>>,
    /// Outcome of the last failed attempt.
    pub last_outcome: Option<String>,
    /// Response status of the last failed attempt.
    pub last_status: Option<i16>,
    /// Number of events that were delivered.
    pub sent: i64,
    /// Number of events that were given up.
    pub dropped: i64,
    /// Number of events that are waiting.
    pub pending: i64,
}

from_row!(WebhookLease { id, token, key, url, secrets, numbers, event_ids, bodies });
from_row!(WebhookRecorded { word, disabled_because, dropped });
from_row!(WebhookBacklog { waiting, failing });
from_row!(WebhookState {
    id,
    key,
    url,
    events,
    description,
    created_at,
    disabled_at,
    disabled_because,
    failures,
    failing_since,
    last_success_at,
    last_failure_at,
    last_outcome,
    last_status,
    sent,
    dropped,
    pending,
});

sql_calls! {
    /// Leases at most `limit` webhooks with due events for a minute.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn lease_webhooks(limit: i32) -> Result<Vec<WebhookLease>, Error>
        = rows("select * from coordinator.lease_webhooks($1)", limit);

    /// Records the attempts for a leased webhook, and releases its lease. `retry_after_s` is the
    /// pause that the receiver requested.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn record_webhook(
        lease: &WebhookLease,
        tries: &[WebhookTry],
        retry_after_s: Option<i32>,
    ) -> Result<WebhookRecorded, Error>
        = row(
            "select * from coordinator.record_webhook($1, $2, $3, $4, $5, $6)",
            lease.id, lease.token, tries.iter().map(|one| one.number).collect::<Vec<_>>(),
            tries.iter().map(|one| one.outcome).collect::<Vec<_>>(),
            tries.iter().map(|one| one.status).collect::<Vec<_>>(), retry_after_s,
        );

    /// Returns how many webhooks have waiting events.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn webhook_backlog() -> Result<WebhookBacklog, Error>
        = row("select * from coordinator.webhook_backlog()");

    /// Returns a key's webhooks, or all keys' webhooks if `key` is `None`, oldest first.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn list_webhooks(key: Option<&str>) -> Result<Vec<WebhookState>, Error>
        = operator_rows("select * from coordinator.list_webhooks($1, null)", key);
}
