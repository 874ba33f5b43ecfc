//! The fetcher's OpenTelemetry instruments, and the types that describe a metric.
//!
//! Invariants: [`METRICS`] and the instruments are declared as one list. Label values are from
//! closed lists, never from a peer, so the number of series is bounded. Recording costs almost
//! nothing in a process that exports no metrics. Does not depend on the exporter.

use std::sync::OnceLock;

use opentelemetry::{KeyValue, global, metrics::Meter};

use crate::{
    local_failure::LocalFailure, outcome::Outcome, permits::politeness::InFlight,
    purpose::PurposeKind,
};

/// A metric's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A value that only grows.
    Counter,
    /// A value that goes up and down.
    Gauge,
    /// A distribution.
    Histogram,
}

/// The description of one metric, as docs/metrics.md lists it.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Name in OpenTelemetry.
    pub name: &'static str,
    /// The metric's kind.
    pub kind: MetricKind,
    /// Unit in UCUM: `s`, `By`, or the counted thing in braces.
    pub unit: &'static str,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// The meaning, in one sentence without a full stop.
    pub meaning: &'static str,
}

impl Metric {
    /// Returns the name in Prometheus's text format.
    pub fn prometheus_name(&self) -> String {
        let unit = match self.unit {
            "s" => "_seconds",
            "By" => "_bytes",
            _ => "",
        };
        let total = if self.kind == MetricKind::Counter { "_total" } else { "" };
        format!("{}{unit}{total}", self.name.replace('.', "_"))
    }
}

/// Bucket bounds in seconds for histograms of requests, lookups or database calls.
pub const LATENCY_SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Declares a struct of instruments and the table that describes them, as one list:
///
/// ```text
/// instruments! { Instruments TABLE
///     fetches: counter() "everytab.fetches" "{fetch}" ["purpose"] "Fetched URLs";
/// }
/// ```
#[macro_export]
macro_rules! instruments {
    ($instruments:ident $table:ident
     $($field:ident: $instrument:ident($($bounds:ident)?) $name:literal $unit:literal
       [$($label:literal)*] $meaning:literal;)+) => {
        /// The instruments to record values with.
        #[derive(Debug)]
        pub struct $instruments {
            $(#[doc = $meaning] pub $field: $crate::instruments!(@type $instrument),)+
        }

        /// Describes every instrument, in the order of docs/metrics.md.
        pub const $table: &[$crate::metrics::Metric] = &[$($crate::metrics::Metric {
            name: $name, kind: $crate::instruments!(@kind $instrument), unit: $unit,
            labels: &[$($label),*], meaning: $meaning,
        },)+];

        impl $instruments {
            /// Creates the instruments with this meter.
            pub fn new(meter: &::opentelemetry::metrics::Meter) -> Self {
                Self {$(
                    $field: $crate::instruments!(
                        @new meter $instrument $name $unit $meaning $($bounds)?
                    ),
                )+}
            }
        }
    };
    (@type counter) => { ::opentelemetry::metrics::Counter<u64> };
    (@type gauge) => { ::opentelemetry::metrics::Gauge<u64> };
    (@type histogram) => { ::opentelemetry::metrics::Histogram<f64> };
    (@kind counter) => { $crate::metrics::MetricKind::Counter };
    (@kind gauge) => { $crate::metrics::MetricKind::Gauge };
    (@kind histogram) => { $crate::metrics::MetricKind::Histogram };
    (@new $meter:ident counter $name:literal $unit:literal $meaning:literal) => {
        $meter.u64_counter($name).with_unit($unit).with_description($meaning).build()
    };
    (@new $meter:ident gauge $name:literal $unit:literal $meaning:literal) => {
        $meter.u64_gauge($name).with_unit($unit).with_description($meaning).build()
    };
    (@new $meter:ident histogram $name:literal $unit:literal $meaning:literal $bounds:ident) => {
        $meter.f64_histogram($name).with_unit($unit).with_description($meaning)
            .with_boundaries($bounds.to_vec()).build()
    };
}

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

/// The gauge for requests on the wire. It is read when metrics are exported.
pub const PERMITS: Metric = Metric {
    name: "everytab.fetch.permits",
    kind: MetricKind::Gauge,
    unit: "{request}",
    labels: &["state"],
    meaning: "Permits for requests in flight: those taken, and the limit (all)",
};

static INSTRUMENTS: OnceLock<Instruments> = OnceLock::new();

/// Returns the fetcher's instruments. The first call uses the current global meter provider.
pub(crate) fn instruments() -> &'static Instruments {
    INSTRUMENTS.get_or_init(|| Instruments::new(&meter()))
}

fn meter() -> Meter {
    global::meter("everytab")
}

/// Creates a label for a recorded value.
pub fn label(name: &'static str, value: &'static str) -> KeyValue {
    KeyValue::new(name, value)
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

/// Registers the gauge [`PERMITS`], which calls `in_flight` whenever metrics are exported.
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
