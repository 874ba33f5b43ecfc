//! Webhook leases for the workers that send events, and the results of attempts.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use crate::{client::sql_calls::sql_calls, connection::row::from_row, error::Error};

/// A webhook's lease, with the events to send.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookLease {
    /// The webhook.
    pub id: Uuid,
    /// The token that proves the lease.
    pub token: Uuid,
    /// The owning key's id.
    pub key: String,
    /// The receiver's URL.
    pub url: String,
    /// The secrets for signing events, newest first.
    pub secrets: Vec<Vec<u8>>,
    /// The events' numbers, in the order of `event_ids`.
    pub numbers: Vec<i64>,
    /// The events' ids, which receivers see.
    pub event_ids: Vec<Uuid>,
    /// The events' bodies.
    pub bodies: Vec<String>,
}

impl fmt::Debug for WebhookLease {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Secrets are omitted, and so are bodies, which contain the key's data.
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
    /// `recorded`, or `lost` if the lease is lost.
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
    /// The owning key's id.
    pub key: String,
    /// The receiver's URL.
    pub url: String,
    /// Its event types.
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
    pub async fn lease_webhooks(limit: i32) -> Result<Vec<WebhookLease>, Error>
        = rows("select * from coordinator.lease_webhooks($1)", limit);

    /// Records the attempts for a leased webhook, and releases it. `retry_after_s` is the pause
    /// that the receiver requested.
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
    pub async fn webhook_backlog() -> Result<WebhookBacklog, Error>
        = row("select * from coordinator.webhook_backlog()");

    /// Returns one or all keys' webhooks, oldest first.
    pub async fn list_webhooks(key: Option<&str>) -> Result<Vec<WebhookState>, Error>
        = operator_rows("select * from coordinator.list_webhooks($1, null)", key);
}
