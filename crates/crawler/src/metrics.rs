//! The crawler's OpenTelemetry instruments.
//!
//! Invariant: labels take their values from closed lists, so that the number of series is bounded.
//! Does not depend on which exporter reads the instruments.

use std::{sync::OnceLock, time::Duration};

use everytab_coordinator::{Checkpoint, CheckpointAnswer, Error, WebhookBacklog, WebhookTry};
use everytab_fetcher::{
    Outcome, PurposeKind, instruments,
    metrics::{LATENCY_SECONDS, label},
};
use opentelemetry::global;
use serde_json::Value;

instruments! { Instruments METRICS
    fetches: counter() "everytab.crawl.fetches" "{url}" ["ending"]
        "URLs of live crawls that checkpoints recorded, by how they ended: captured, failed, \
         refused, left";
    links: counter() "everytab.crawl.links" "{link}" ["way"]
        "Links of live crawls that checkpoints recorded: sent to slots, and read by them";
    checkpoints: counter() "everytab.crawl.checkpoints" "{checkpoint}" ["end"]
        "Checkpoints of slots that ended: recorded, lost with the lease, or failed";
    checkpoint_duration: histogram(LATENCY_SECONDS) "everytab.crawl.checkpoint.duration" "s" []
        "From the sending of a checkpoint to its answer, all attempts included";
    errors: counter() "everytab.crawl.errors" "{error}" ["call"]
        "Calls of the crawler to Postgres that failed; each is made again";
    classified: counter() "everytab.crawl.classified" "{page}" ["answer"]
        "Pages of which a classifier was asked, by its answer: keep, drop, nofollow; or timeout, \
         unreachable, invalid, and then the page is kept";
    webhook_events: counter() "everytab.crawl.webhook.events" "{event}" ["end"]
        "Attempts at events of webhooks: sent, or failed and tried again later; and dropped, \
         events that were given up";
    webhooks_waiting: gauge() "everytab.crawl.webhooks" "{webhook}" ["state"]
        "Webhooks of all keys that have events waiting, and those of them that fail, as each \
         worker counts them once a minute";
    slots: gauge() "everytab.crawl.slots" "{slot}" []
        "Slots that this worker holds";
    slots_stopped: gauge() "everytab.crawl.slots.stopped" "{slot}" []
        "Slots held whose hosts are not asked, because what was done is not recorded for too long \
         or too many records wait to be written";
    stuck: gauge() "everytab.crawl.stuck" "{worker}" []
        "1 while the loop that holds the slots has not moved for so long that they are not \
         renewed, so that other workers take them; else 0";
    hosts: gauge() "everytab.crawl.hosts" "{host}" ["state"]
        "Hosts of the slots held: loaded, and due, which could be asked now";
    requests: gauge() "everytab.crawl.requests" "{request}" []
        "Requests of the crawler under way, waiting for their permits included";
    unput: gauge() "everytab.crawl.records.waiting" "{record}" []
        "Answers whose records are not in the store yet";
    state_bytes: gauge() "everytab.crawl.state" "By" []
        "Memory of what is known of the hosts that are loaded";
}

/// Calls to Postgres whose failures are counted.
const CALLS: [&str; 8] = ["list", "lease", "release", "due", "links", "sites", "drop", "webhooks"];

/// Results of requests to a classifier.
const ANSWERS: [&str; 6] = ["keep", "drop", "nofollow", "timeout", "unreachable", "invalid"];

/// Results of webhook events.
const EVENT_ENDS: [&str; 3] = ["sent", "failed", "dropped"];

/// The purposes of the crawler's requests.
const PURPOSES: [PurposeKind; 4] =
    [PurposeKind::Page, PurposeKind::Media, PurposeKind::Robots, PurposeKind::Sitemap];

/// A measurement of the scheduler's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Slots held.
    pub slots: u64,
    /// Slots among them whose hosts get no requests, because recording lags.
    pub stopped: u64,
    /// Loaded hosts.
    pub hosts: u64,
    /// Hosts among them that could get a request now.
    pub due: u64,
    /// Requests in flight.
    pub requests: u64,
    /// Records that are not uploaded yet.
    pub unput: u64,
    /// Bytes of host state.
    pub state_bytes: u64,
}

static INSTRUMENTS: OnceLock<Instruments> = OnceLock::new();

/// The crawler's instruments. The first call takes the global meter provider that is set by then.
fn instruments() -> &'static Instruments {
    INSTRUMENTS.get_or_init(|| Instruments::new(&global::meter("everytab")))
}

/// Adds 0 to every series of the counters. A series that does not exist before its first event
/// hides that event from queries for its rate.
pub(crate) fn begin_at_zero() {
    let instruments = instruments();
    for ending in ["captured", "failed", "refused", "left"] {
        instruments.fetches.add(0, &[label("ending", ending)]);
    }
    for way in ["sent", "read"] {
        instruments.links.add(0, &[label("way", way)]);
    }
    for end in ["recorded", "lost", "failed"] {
        instruments.checkpoints.add(0, &[label("end", end)]);
    }
    for answer in ANSWERS {
        instruments.classified.add(0, &[label("answer", answer)]);
    }
    for end in EVENT_ENDS {
        instruments.webhook_events.add(0, &[label("end", end)]);
    }
    for call in CALLS {
        instruments.errors.add(0, &[label("call", call)]);
    }
    everytab_fetcher::metrics::begin_at_zero(&PURPOSES);
}

/// Records that a call, one of [`CALLS`], failed.
pub(crate) fn failed(call: &'static str) {
    instruments().errors.add(1, &[label("call", call)]);
}

/// Records how a request to a classifier ended: one of [`ANSWERS`].
pub(crate) fn classified(answer: &'static str) {
    instruments().classified.add(1, &[label("answer", answer)]);
}

/// Records attempts to send events of a webhook, and how many events were given up.
pub(crate) fn webhook_tried(tries: &[WebhookTry], dropped: i64) {
    let sent = tries.iter().filter(|one| one.outcome == Outcome::Ok.as_str()).count() as u64;
    let failed = tries.len() as u64 - sent;
    for (end, amount) in EVENT_ENDS.into_iter().zip([sent, failed, dropped.unsigned_abs()]) {
        instruments().webhook_events.add(amount, &[label("end", end)]);
    }
}

/// Records how many webhooks have waiting events.
pub(crate) fn webhooks_wait(backlog: WebhookBacklog) {
    let WebhookBacklog { waiting, failing } = backlog;
    for (state, amount) in [("waiting", waiting), ("failing", failing)] {
        instruments().webhooks_waiting.record(amount.unsigned_abs(), &[label("state", state)]);
    }
}

/// Records how a checkpoint ended, and what it contained.
pub(crate) fn checkpointed(
    checkpoint: &Checkpoint,
    answer: &Result<CheckpointAnswer, Error>,
    took: Duration,
) {
    let instruments = instruments();
    instruments.checkpoint_duration.record(took.as_secs_f64(), &[]);
    let end = match answer {
        Ok(CheckpointAnswer::Recorded { .. }) => "recorded",
        Ok(CheckpointAnswer::Lost) => "lost",
        Err(_) => "failed",
    };
    instruments.checkpoints.add(1, &[label("end", end)]);
    if end != "recorded" {
        return;
    }
    for counts in &checkpoint.counts {
        for (ending, amount) in [
            ("captured", counts.captured),
            ("failed", sum_of(&counts.failed)),
            ("refused", sum_of(&counts.refused)),
            ("left", sum_of(&counts.left)),
        ] {
            instruments.fetches.add(amount.unsigned_abs(), &[label("ending", ending)]);
        }
        for (way, amount) in [("sent", counts.sent), ("read", counts.read)] {
            instruments.links.add(amount.unsigned_abs(), &[label("way", way)]);
        }
    }
}

/// Records a measurement of the scheduler's state.
pub(crate) fn stands(standing: Standing) {
    let instruments = instruments();
    let Standing { slots, stopped, hosts, due, requests, unput, state_bytes } = standing;
    instruments.slots.record(slots, &[]);
    instruments.slots_stopped.record(stopped, &[]);
    instruments.hosts.record(hosts, &[label("state", "loaded")]);
    instruments.hosts.record(due, &[label("state", "due")]);
    instruments.requests.record(requests, &[]);
    instruments.unput.record(unput, &[]);
    instruments.state_bytes.record(state_bytes, &[]);
}

/// Records whether the scheduler's loop is stuck.
pub(crate) fn stuck(is_stuck: bool) {
    instruments().stuck.record(is_stuck.into(), &[]);
}

/// Returns the sum of counts by reason.
fn sum_of(counts: &Value) -> i64 {
    let counts = counts.as_object().into_iter().flat_map(|counts| counts.values());
    counts.filter_map(Value::as_i64).sum()
}
