//! Sends events to keys' webhooks, according to the Standard Webhooks specification.
//!
//! A worker leases a webhook, sends a few of its events at a time, and records the results in one
//! call. If the worker dies in between, another worker sends these events again, with the same ids.
//! Invariant: a slow or dead receiver takes one of [`MAX_WEBHOOKS`] leases for at most
//! [`BATCH_TIME`] and one attempt.

mod signature;

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use everytab_coordinator::{Coordinator, WebhookLease, WebhookTry};
use everytab_fetcher::{
    Delivered, Delivery, Fetcher, LocalFailure, Outcome, PageOptions, TimeLimits,
};
use tokio::{sync::oneshot, task::JoinSet, time::sleep};

use crate::{metrics, webhooks::signature::signature};

/// Interval between polls for due events.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Interval between counts of webhooks with waiting events.
const MEASURE_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum webhooks to which a worker sends at a time.
const MAX_WEBHOOKS: usize = 16;
/// Maximum concurrent requests to one receiver.
const MAX_PER_WEBHOOK: usize = 4;
/// Time after which no further event is sent under a lease. With the last attempt's 20 s, this
/// takes half of the time that `coordinator.lease_webhooks` grants.
const BATCH_TIME: Duration = Duration::from_secs(10);
/// Time limits for an attempt. The specification recommends a limit between 15 and 30 seconds for
/// the response.
const TIMES: TimeLimits = TimeLimits {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(15),
    total: Duration::from_secs(20),
};
const ID_PREFIX: &str = "msg_";

#[derive(Clone)]
pub(crate) struct Webhooks {
    coordinator: Coordinator,
    fetcher: Fetcher,
    options: Arc<PageOptions>,
}

#[derive(Default)]
struct Batch {
    tries: Vec<WebhookTry>,
    retry_after: Option<Duration>,
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

    /// When `finish` fires, sends the remaining due events and returns.
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
            // This loop ends, because a webhook that failed is not due again soon.
            if sending.join_next().await.is_none() {
                return;
            }
        }
    }

    async fn lease(&self, sending: &mut JoinSet<()>) {
        let Ok(room @ 1..) = i32::try_from(MAX_WEBHOOKS - sending.len()) else { return };
        match self.coordinator.lease_webhooks(room).await {
            Ok(leases) => {
                for lease in leases {
                    sending.spawn(self.clone().send_events(Arc::new(lease)));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot query the webhooks with events");
                metrics::failed("webhooks");
            }
        }
    }

    async fn send_events(self, lease: Arc<WebhookLease>) {
        let began = Instant::now();
        let mut batch = Batch::default();
        let mut sending = JoinSet::new();
        let mut events = 0..lease.numbers.len();
        loop {
            while sending.len() < MAX_PER_WEBHOOK && !batch.is_over {
                let Some(event) = events.next() else { break };
                sending.spawn(self.clone().send(Arc::clone(&lease), event));
            }
            // A task that panicked or failed locally adds no attempt.
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
                tracing::warn!(webhook = %lease.id, %error, "cannot record sent events");
                metrics::failed("webhooks");
                return;
            }
        };
        metrics::webhook_tried(&batch.tries, recorded.dropped);
        if let Some(why) = recorded.disabled_because {
            let webhook = lease.id;
            let dropped = recorded.dropped;
            tracing::warn!(%webhook, key = lease.key, why, dropped, "disabled a webhook");
        }
    }

    async fn send(
        self,
        lease: Arc<WebhookLease>,
        event: usize,
    ) -> Result<(usize, Delivered), LocalFailure> {
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
        if let Err(failure) = &delivered {
            tracing::warn!(webhook = %lease.id, %failure, "cannot send an event to a webhook");
        }
        Ok((event, delivered?))
    }

    async fn measure(&self) {
        match self.coordinator.webhook_backlog().await {
            Ok(backlog) => metrics::webhooks_wait(backlog),
            Err(error) => tracing::debug!(%error, "cannot count the webhooks with waiting events"),
        }
    }
}

impl Batch {
    /// After a failure no other attempt starts, because the receiver may be down.
    fn add(&mut self, lease: &WebhookLease, event: usize, delivered: Delivered) {
        let Some(number) = lease.numbers.get(event).copied() else { return };
        let Delivered { outcome, status, retry_after } = delivered;
        let status = status.and_then(|status| i16::try_from(status).ok());
        self.tries.push(WebhookTry { number, outcome: outcome.as_str(), status });
        self.retry_after = self.retry_after.max(retry_after);
        self.is_over |= outcome != Outcome::Ok;
    }
}
