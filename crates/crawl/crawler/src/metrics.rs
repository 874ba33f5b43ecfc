//! The crawler's OpenTelemetry instruments.
//!
//! Invariant: labels take their values from closed lists, so that the number of series is bounded.

use std::{sync::OnceLock, time::Duration};

use everytab_coordinator::{Checkpoint, CheckpointResult, Error, WebhookBacklog, WebhookTry};
use everytab_fetcher::{Outcome, PurposeKind};
use everytab_metrics::{LATENCY_SECONDS, instruments, label};
use opentelemetry::global;
use serde_json::Value;

instruments! { Instruments METRICS
    fetches: counter() "everytab.crawl.fetches" "{url}" ["state"]
        "URLs of live crawls that checkpoints recorded, by their final state: captured, failed, \
         refused, left";
    links: counter() "everytab.crawl.links" "{link}" ["direction"]
        "Links of live crawls that checkpoints recorded: sent to slots, and read by them";
    checkpoints: counter() "everytab.crawl.checkpoints" "{checkpoint}" ["result"]
        "Finished checkpoints of slots: recorded, lost with the lease, or failed";
    checkpoint_duration: histogram(LATENCY_SECONDS) "everytab.crawl.checkpoint.duration" "s" []
        "Time until Postgres replies to a checkpoint, all attempts included";
    errors: counter() "everytab.crawl.errors" "{error}" ["call"]
        "Calls of the crawler to Postgres that failed. Each is retried";
    classified: counter() "everytab.crawl.classified" "{page}" ["verdict"]
        "Pages sent to a classifier, by its verdict: keep, drop, nofollow; or timeout, \
         unreachable, invalid, in which case the page is kept";
    webhook_events: counter() "everytab.crawl.webhook.events" "{event}" ["result"]
        "Attempts to send events to webhooks: sent, or failed and retried later; and dropped: \
         events that were given up";
    webhooks_waiting: gauge() "everytab.crawl.webhooks" "{webhook}" ["state"]
        "Webhooks of all keys with waiting events, and those among them that fail. Each worker \
         counts them once per minute";
    slots: gauge() "everytab.crawl.slots" "{slot}" []
        "Slots that this worker holds";
    slots_stalled: gauge() "everytab.crawl.slots.stalled" "{slot}" []
        "Held slots whose hosts get no requests, because changes have been unrecorded for too \
         long or too many records wait to be written";
    stuck: gauge() "everytab.crawl.stuck" "{worker}" []
        "1 while the scheduler has made no progress for so long that its leases are not renewed, \
         so that other workers lease its slots; otherwise 0";
    hosts: gauge() "everytab.crawl.hosts" "{host}" ["state"]
        "Hosts in the held slots: loaded, and due, which could get a request now";
    requests: gauge() "everytab.crawl.requests" "{request}" []
        "Requests of the crawler in flight, including those that wait for a permit";
    pending_uploads: gauge() "everytab.crawl.records.pending" "{record}" []
        "WARC records that are not uploaded yet";
    state_bytes: gauge() "everytab.crawl.state" "By" []
        "Memory for the state of loaded hosts";
}

/// Calls to Postgres whose failures are counted.
const CALLS: [&str; 8] = ["list", "lease", "release", "due", "links", "sites", "drop", "webhooks"];

const VERDICTS: [&str; 6] = ["keep", "drop", "nofollow", "timeout", "unreachable", "invalid"];

const EVENT_RESULTS: [&str; 3] = ["sent", "failed", "dropped"];

const PURPOSES: [PurposeKind; 4] =
    [PurposeKind::Page, PurposeKind::Media, PurposeKind::Robots, PurposeKind::Sitemap];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gauges {
    pub slots: u64,
    pub stalled: u64,
    pub hosts: u64,
    /// Loaded hosts that could get a request now.
    pub due: u64,
    pub requests: u64,
    pub pending_uploads: u64,
    pub state_bytes: u64,
}

static INSTRUMENTS: OnceLock<Instruments> = OnceLock::new();

/// The first call uses the global meter provider of that moment.
fn instruments() -> &'static Instruments {
    INSTRUMENTS.get_or_init(|| Instruments::new(&global::meter("everytab")))
}

/// Creates every counter's series with the value 0. Otherwise a query for its rate would not see
/// the first event.
pub(crate) fn begin_at_zero() {
    let instruments = instruments();
    for state in ["captured", "failed", "refused", "left"] {
        instruments.fetches.add(0, &[label("state", state)]);
    }
    for direction in ["sent", "read"] {
        instruments.links.add(0, &[label("direction", direction)]);
    }
    for result in ["recorded", "lost", "failed"] {
        instruments.checkpoints.add(0, &[label("result", result)]);
    }
    for verdict in VERDICTS {
        instruments.classified.add(0, &[label("verdict", verdict)]);
    }
    for result in EVENT_RESULTS {
        instruments.webhook_events.add(0, &[label("result", result)]);
    }
    for call in CALLS {
        instruments.errors.add(0, &[label("call", call)]);
    }
    everytab_fetcher::metrics::begin_at_zero(&PURPOSES);
}

pub(crate) fn failed(call: &'static str) {
    instruments().errors.add(1, &[label("call", call)]);
}

pub(crate) fn classified(verdict: &'static str) {
    instruments().classified.add(1, &[label("verdict", verdict)]);
}

/// `dropped` is the number of events that were given up.
pub(crate) fn webhook_tried(tries: &[WebhookTry], dropped: i64) {
    let sent = tries.iter().filter(|one| one.outcome == Outcome::Ok.as_str()).count() as u64;
    let failed = tries.len() as u64 - sent;
    for (result, amount) in EVENT_RESULTS.into_iter().zip([sent, failed, dropped.unsigned_abs()]) {
        instruments().webhook_events.add(amount, &[label("result", result)]);
    }
}

pub(crate) fn webhooks_wait(backlog: WebhookBacklog) {
    let WebhookBacklog { waiting, failing } = backlog;
    for (state, amount) in [("waiting", waiting), ("failing", failing)] {
        instruments().webhooks_waiting.record(amount.unsigned_abs(), &[label("state", state)]);
    }
}

pub(crate) fn checkpointed(
    checkpoint: &Checkpoint,
    reply: &Result<CheckpointResult, Error>,
    took: Duration,
) {
    let instruments = instruments();
    instruments.checkpoint_duration.record(took.as_secs_f64(), &[]);
    let result = match reply {
        Ok(CheckpointResult::Recorded { .. }) => "recorded",
        Ok(CheckpointResult::Lost) => "lost",
        Err(_) => "failed",
    };
    instruments.checkpoints.add(1, &[label("result", result)]);
    if result != "recorded" {
        return;
    }
    for counts in &checkpoint.counts {
        for (state, amount) in [
            ("captured", counts.captured),
            ("failed", sum_of(&counts.failed)),
            ("refused", sum_of(&counts.refused)),
            ("left", sum_of(&counts.left)),
        ] {
            instruments.fetches.add(amount.unsigned_abs(), &[label("state", state)]);
        }
        for (direction, amount) in [("sent", counts.sent), ("read", counts.read)] {
            instruments.links.add(amount.unsigned_abs(), &[label("direction", direction)]);
        }
    }
}

pub(crate) fn record_gauges(gauges: Gauges) {
    let instruments = instruments();
    let Gauges { slots, stalled, hosts, due, requests, pending_uploads, state_bytes } = gauges;
    instruments.slots.record(slots, &[]);
    instruments.slots_stalled.record(stalled, &[]);
    instruments.hosts.record(hosts, &[label("state", "loaded")]);
    instruments.hosts.record(due, &[label("state", "due")]);
    instruments.requests.record(requests, &[]);
    instruments.pending_uploads.record(pending_uploads, &[]);
    instruments.state_bytes.record(state_bytes, &[]);
}

pub(crate) fn stuck(is_stuck: bool) {
    instruments().stuck.record(is_stuck.into(), &[]);
}

fn sum_of(counts: &Value) -> i64 {
    let counts = counts.as_object().into_iter().flat_map(|counts| counts.values());
    counts.filter_map(Value::as_i64).sum()
}
