//! The fetcher's OpenTelemetry instruments.
//!
//! Label values are from closed lists, never from a peer, so the number of series is bounded.

use std::sync::OnceLock;

use everytab_metrics::{LATENCY_SECONDS, Metric, MetricKind, instruments, label};
use opentelemetry::{global, metrics::Meter};

use crate::{
    local_failure::LocalFailure, outcome::Outcome, permits::politeness::InFlight,
    purpose::PurposeKind,
};

instruments! { Instruments METRICS
    fetches: counter() "everytab.fetches" "{fetch}" ["purpose" "outcome"]
        "Fetched URLs, including redirects, by purpose (icon, page, media, robots, \
         sitemap) and outcome";
    fetch_duration: histogram(LATENCY_SECONDS) "everytab.fetch.duration" "s" ["phase"]
        "Duration of a fetch by phase (dns, connect, tls, first_byte, body) and in total, without \
         waiting for permits";
    fetched_bytes: counter() "everytab.fetch.body" "By" []
        "Bytes of decoded bodies";
    lookup_duration: histogram(LATENCY_SECONDS) "everytab.lookup.duration" "s" []
        "Duration of DNS lookups";
    connections: counter() "everytab.connections" "{connection}" ["connection"]
        "Connections used for requests: tried (newly dialled) or reused";
    rate_limited: counter() "everytab.rate_limited" "{response}" []
        "Responses that signal too many requests to an address";
    local_failures: counter() "everytab.local_failures" "{fetch}" ["failure"]
        "Fetches that a local failure voided; they run again";
}

/// The gauge for requests on the wire.
pub const PERMITS: Metric = Metric {
    name: "everytab.fetch.permits",
    kind: MetricKind::Gauge,
    unit: "{request}",
    labels: &["state"],
    meaning: "Permits for requests in flight: those taken, and the limit (all)",
};

static INSTRUMENTS: OnceLock<Instruments> = OnceLock::new();

pub(crate) fn instruments() -> &'static Instruments {
    INSTRUMENTS.get_or_init(|| Instruments::new(&meter()))
}

fn meter() -> Meter {
    global::meter("everytab")
}

/// Adds 0 to every series of the fetcher's counters, for requests with these purposes. Otherwise a
/// rate query would miss the first event of a new series.
pub fn begin_at_zero(purposes: &[PurposeKind]) {
    let instruments = instruments();
    for purpose in purposes {
        for outcome in Outcome::ALL {
            let labels = [label("purpose", purpose.as_str()), label("outcome", outcome.as_str())];
            instruments.fetches.add(0, &labels);
        }
    }
    for failure in LocalFailure::ALL {
        instruments.local_failures.add(0, &[label("failure", failure.as_str())]);
    }
    for connection in ["tried", "reused"] {
        instruments.connections.add(0, &[label("connection", connection)]);
    }
    instruments.rate_limited.add(0, &[]);
    instruments.fetched_bytes.add(0, &[]);
}

/// Registers the gauge [`PERMITS`].
pub fn observe_in_flight(in_flight: impl Fn() -> InFlight + Send + Sync + 'static) {
    let meter = meter();
    let gauge = meter.u64_observable_gauge(PERMITS.name).with_unit(PERMITS.unit);
    gauge
        .with_description(PERMITS.meaning)
        .with_callback(move |observer| {
            let InFlight { requests, limit } = in_flight();
            observer.observe(requests as u64, &[label("state", "taken")]);
            observer.observe(limit as u64, &[label("state", "all")]);
        })
        .build();
}
