//! Sends events to the webhooks of keys, by the Standard Webhooks specification.
//!
//! Postgres has the events, and says which are due: each was written with what it tells of. A
//! webhook is leased, its events are sent a few at a time, and what became of them is recorded in
//! one call, so a worker that dies in between sends them again, under the same ids. Invariants: a
//! receiver that is slow or dead takes up one place of [`MAX_WEBHOOKS`], for [`BATCH_TIME`] and one
//! attempt at most. Does not depend on: what events tell, how a connection is made.

mod signature;

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use everytab_coordinator::{Coordinator, WebhookLease, WebhookTry};
use everytab_fetcher::{Delivered, Delivery, Fetcher, Outcome, PageOptions, TimeLimits, Trouble};
use tokio::{sync::oneshot, task::JoinSet, time::sleep};

use crate::{metrics, webhooks::signature::signature};

/// How often events that are due are looked for: a fraction of a second would load Postgres by
/// each of many workers.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How often the webhooks with events that wait are counted.
const MEASURE_INTERVAL: Duration = Duration::from_secs(60);
/// Webhooks that a worker sends to at the same time. Of 16 dead ones each takes its place for some
/// seconds every five minutes.
const MAX_WEBHOOKS: usize = 16;
/// Requests to one receiver at the same time.
const MAX_PER_WEBHOOK: usize = 4;
/// Time after which no further event of a lease is begun. With the last attempt it is half of what
/// `coordinator.lease_webhooks` grants.
const BATCH_TIME: Duration = Duration::from_secs(10);
/// Times of one attempt: the specification has a receiver answer within 15 to 30 seconds.
const TIMES: TimeLimits = TimeLimits {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(15),
    total: Duration::from_secs(20),
};
/// Characters before the id of an event.
const ID_PREFIX: &str = "msg_";

/// Sends events of webhooks.
#[derive(Clone)]
pub(crate) struct Webhooks {
    coordinator: Coordinator,
    fetcher: Fetcher,
    options: Arc<PageOptions>,
}

/// What came of the events of a lease.
#[derive(Default)]
struct Batch {
    tries: Vec<WebhookTry>,
    retry_after: Option<Duration>,
    /// Whether no further event is to be sent.
    is_over: bool,
}

impl Webhooks {
    pub(crate) fn new(
        coordinator: Coordinator,
        fetcher: Fetcher,
        options: Arc<PageOptions>,
    ) -> Self {
        Self { coordinator, fetcher, options }
    }

    /// Sends events as they become due, until `finish` tells: then those that are due still.
    pub(crate) async fn send_until(self, mut finish: oneshot::Receiver<()>) {
        let mut sending = JoinSet::new();
        let mut measured_at = None::<Instant>;
        loop {
            if measured_at.is_none_or(|at| at.elapsed() >= MEASURE_INTERVAL) {
                measured_at = Some(Instant::now());
                self.measure().await;
            }
            self.lease(&mut sending).await;
            tokio::select! {
                Some(_) = sending.join_next() => {}
                () = sleep(POLL_INTERVAL) => {}
                _ = &mut finish => break,
            }
        }
        loop {
            self.lease(&mut sending).await;
            // A webhook that failed is not due again now.
            if sending.join_next().await.is_none() {
                return;
            }
        }
    }

    /// Leases as many webhooks as there is room for, and begins to send their events.
    async fn lease(&self, sending: &mut JoinSet<()>) {
        let Ok(room @ 1..) = i32::try_from(MAX_WEBHOOKS - sending.len()) else { return };
        match self.coordinator.lease_webhooks(room).await {
            Ok(leases) => {
                for lease in leases {
                    sending.spawn(self.clone().send_events(Arc::new(lease)));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot ask which webhooks have events");
                metrics::failed("webhooks");
            }
        }
    }

    /// Sends the events of a lease, and records what became of them.
    async fn send_events(self, lease: Arc<WebhookLease>) {
        let began = Instant::now();
        let (mut batch, mut sending) = (Batch::default(), JoinSet::new());
        let mut events = 0..lease.numbers.len();
        loop {
            while sending.len() < MAX_PER_WEBHOOK && !batch.is_over {
                let Some(event) = events.next() else { break };
                sending.spawn(self.clone().send(Arc::clone(&lease), event));
            }
            // A task that panicked has tried nothing.
            let Some(ended) = sending.join_next().await else { break };
            match ended.ok().and_then(Result::ok) {
                Some((event, delivered)) => batch.add(&lease, event, delivered),
                None => batch.is_over = true,
            }
            batch.is_over |= began.elapsed() > BATCH_TIME;
        }
        self.record(&lease, batch).await;
    }

    async fn record(&self, lease: &WebhookLease, batch: Batch) {
        let retry_after_s = batch.retry_after.map(|time| i32::try_from(time.as_secs()));
        let retry_after_s = retry_after_s.map(|seconds| seconds.unwrap_or(i32::MAX));
        let recorded = self.coordinator.record_webhook(lease, &batch.tries, retry_after_s).await;
        let recorded = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                tracing::warn!(webhook = %lease.id, %error, "cannot record what was sent");
                metrics::failed("webhooks");
                return;
            }
        };
        metrics::webhook_tried(&batch.tries, recorded.dropped);
        if let Some(why) = recorded.disabled_because {
            let (webhook, dropped) = (lease.id, recorded.dropped);
            tracing::warn!(%webhook, key = lease.key, why, dropped, "disabled a webhook");
        }
    }

    /// Makes one attempt at an event.
    async fn send(
        self,
        lease: Arc<WebhookLease>,
        event: usize,
    ) -> Result<(usize, Delivered), Trouble> {
        let body = lease.bodies.get(event).cloned().unwrap_or_default();
        let id = lease.event_ids.get(event).map(|id| format!("{ID_PREFIX}{}", id.simple()));
        let id = id.unwrap_or_default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let timestamp = now.as_secs().to_string();
        let signatures =
            lease.secrets.iter().map(|secret| signature(secret, &id, &timestamp, &body));
        let signatures = signatures.collect::<Vec<_>>().join(" ");
        let fields = [
            ("webhook-id", id),
            ("webhook-timestamp", timestamp),
            ("webhook-signature", signatures),
        ];
        let delivery = Delivery {
            url: &lease.url,
            content_type: "application/json",
            fields: &fields,
            body: body.into(),
            times: TIMES,
        };
        let delivered = self.fetcher.deliver(&self.options, &delivery).await;
        if let Err(trouble) = &delivered {
            tracing::warn!(webhook = %lease.id, %trouble, "an event of a webhook was not sent");
        }
        Ok((event, delivered?))
    }

    async fn measure(&self) {
        match self.coordinator.webhook_backlog().await {
            Ok(backlog) => metrics::webhooks_wait(backlog),
            Err(error) => tracing::debug!(%error, "cannot count the webhooks that wait"),
        }
    }
}

impl Batch {
    /// Adds an attempt. After one that failed no other is begun: either the receiver is away, or
    /// the next lease has the other events.
    fn add(&mut self, lease: &WebhookLease, event: usize, delivered: Delivered) {
        let Some(number) = lease.numbers.get(event).copied() else { return };
        let Delivered { outcome, status, retry_after } = delivered;
        let status = status.and_then(|status| i16::try_from(status).ok());
        self.tries.push(WebhookTry { number, outcome: outcome.as_str(), status });
        self.retry_after = self.retry_after.max(retry_after);
        self.is_over |= outcome != Outcome::Ok;
    }
}
