//! Webhooks as workers send them: leases of webhooks with events that are due, and what became of
//! these. Does not depend on: how a body is delivered.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use crate::{
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    row::{FromRow as _, from_row, values},
};

/// The lease of a webhook, with events to send.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookLease {
    /// The webhook.
    pub id: Uuid,
    /// The proof of the lease.
    pub token: Uuid,
    /// The id of the key whose webhook it is.
    pub key: String,
    /// Where events go.
    pub url: String,
    /// The secrets that events are signed with, the newest first.
    pub secrets: Vec<Vec<u8>>,
    /// The numbers of the events.
    pub numbers: Vec<i64>,
    /// Their ids, by which the receiver knows them.
    pub event_ids: Vec<Uuid>,
    /// Their bodies.
    pub bodies: Vec<String>,
}

impl fmt::Debug for WebhookLease {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the secrets, and the bodies, which are the key's.
        let mut shown = formatter.debug_struct("WebhookLease");
        shown.field("id", &self.id).field("key", &self.key).field("url", &self.url);
        shown.field("numbers", &self.numbers).finish_non_exhaustive()
    }
}

/// What became of an attempt at an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookTry {
    /// The number of the event.
    pub number: i64,
    /// `ok` if it was delivered, else the outcome of the attempt.
    pub outcome: &'static str,
    /// The status of the response, if one came.
    pub status: Option<i16>,
}

/// What recording attempts did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRecorded {
    /// `recorded`, or `lost` if another worker has the webhook now, or it is gone.
    pub word: String,
    /// Why the webhook was disabled, if it was: `gone` or `failing`.
    pub disabled_because: Option<String>,
    /// Events that were given up.
    pub dropped: i64,
}

/// How many webhooks have events that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookBacklog {
    /// Webhooks with events.
    pub waiting: i64,
    /// Those of them whose last attempt failed.
    pub failing: i64,
}

/// A webhook as its owner and the operator see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WebhookState {
    /// Its id.
    pub id: Uuid,
    /// The id of the key whose it is.
    pub key: String,
    /// Where events go.
    pub url: String,
    /// The types of events that it is told of.
    pub events: Vec<String>,
    /// What its owner says of it.
    pub description: Option<String>,
    /// When it was added.
    pub created_at: DateTime<Utc>,
    /// Since when it is disabled. `None` while it is enabled.
    pub disabled_at: Option<DateTime<Utc>>,
    /// Why: `requested`, `gone`, `failing` or `key_revoked`.
    pub disabled_because: Option<String>,
    /// Failed attempts since the last one that succeeded.
    pub failures: i32,
    /// When the first of them was.
    pub failing_since: Option<DateTime<Utc>>,
    /// When an event was delivered last.
    pub last_success_at: Option<DateTime<Utc>>,
    /// When an attempt failed last.
    pub last_failure_at: Option<DateTime<Utc>>,
    /// How that attempt ended.
    pub last_outcome: Option<String>,
    /// The status of the response to it.
    pub last_status: Option<i16>,
    /// Events that were delivered.
    pub sent: i64,
    /// Events that were given up.
    pub dropped: i64,
    /// Events that wait.
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

impl Coordinator {
    /// Leases at most `limit` webhooks that have events due, for a minute.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn lease_webhooks(&self, limit: i32) -> Result<Vec<WebhookLease>, Error> {
        let sql = "select * from coordinator.lease_webhooks($1)";
        values(&run(&self.work, sql, &[bind(&limit)]).await?)
    }

    /// Records what became of events of a leased webhook, and ends the lease. The receiver asks to
    /// be left alone for `retry_after_s`.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn record_webhook(
        &self,
        lease: &WebhookLease,
        tries: &[WebhookTry],
        retry_after_s: Option<i32>,
    ) -> Result<WebhookRecorded, Error> {
        let sql = "select * from coordinator.record_webhook($1, $2, $3, $4, $5, $6)";
        let numbers: Vec<i64> = tries.iter().map(|one| one.number).collect();
        let outcomes: Vec<&str> = tries.iter().map(|one| one.outcome).collect();
        let statuses: Vec<Option<i16>> = tries.iter().map(|one| one.status).collect();
        let parameters = [
            bind(&lease.id),
            bind(&lease.token),
            bind(&numbers),
            bind(&outcomes),
            bind(&statuses),
            bind(&retry_after_s),
        ];
        let rows = run(&self.work, sql, &parameters).await?;
        let row = rows.first().ok_or_else(|| Error::Unexpected("nothing recorded".into()))?;
        WebhookRecorded::from_row(row)
    }

    /// Returns how many webhooks have events that wait.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn webhook_backlog(&self) -> Result<WebhookBacklog, Error> {
        let rows = run(&self.work, "select * from coordinator.webhook_backlog()", &[]).await?;
        let row = rows.first().ok_or_else(|| Error::Unexpected("no backlog".into()))?;
        WebhookBacklog::from_row(row)
    }

    /// Returns the webhooks of a key, or of all keys, oldest first.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn list_webhooks(&self, key: Option<&str>) -> Result<Vec<WebhookState>, Error> {
        let sql = "select * from coordinator.list_webhooks($1, null)";
        self.operator_rows(sql, &[bind(&key)]).await
    }
}
