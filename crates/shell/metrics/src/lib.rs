//! Declares OpenTelemetry instruments together with their descriptions.
//!
//! [`instruments!`] declares a package's instruments and the table for docs/metrics.md as one list,
//! so that instruments and documentation always agree.
//!
//! ```
//! use everytab_metrics::{LATENCY_SECONDS, instruments, label};
//!
//! instruments! { Instruments METRICS
//!     fetches: counter() "example.fetches" "{fetch}" ["outcome"] "URLs that were requested";
//!     duration: histogram(LATENCY_SECONDS) "example.duration" "s" [] "Time of a fetch";
//! }
//! let instruments = Instruments::new(&opentelemetry::global::meter("example"));
//! instruments.fetches.add(1, &[label("outcome", "ok")]);
//! assert_eq!(METRICS[1].prometheus_name(), "example_duration_seconds");
//! ```

use opentelemetry::KeyValue;

/// The kind of a metric.
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
    /// Kind of the metric.
    pub kind: MetricKind,
    /// Unit in UCUM: `s`, `By`, or a name in braces for the counted objects.
    pub unit: &'static str,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// The description: one sentence without a full stop.
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

/// Bucket bounds in seconds.
pub const LATENCY_SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Declares a struct of instruments and the table that describes them, as one list:
///
/// ```text
/// instruments! { Instruments TABLE
///     fetches: counter() "everytab.fetches" "{fetch}" ["purpose"] "URLs that were requested";
/// }
/// ```
#[macro_export]
macro_rules! instruments {
    ($instruments:ident $table:ident
     $($field:ident: $instrument:ident($($bounds:ident)?) $name:literal $unit:literal
       [$($label:literal)*] $meaning:literal;)+) => {
        /// Instruments for recording values.
        #[derive(Debug)]
        pub struct $instruments {
            $(#[doc = $meaning] pub $field: $crate::instruments!(@type $instrument),)+
        }

        /// The description of every instrument, in the order of docs/metrics.md.
        pub const $table: &[$crate::Metric] = &[$($crate::Metric {
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
    (@kind counter) => { $crate::MetricKind::Counter };
    (@kind gauge) => { $crate::MetricKind::Gauge };
    (@kind histogram) => { $crate::MetricKind::Histogram };
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

/// Creates a label for a recorded value.
pub fn label(name: &'static str, value: &'static str) -> KeyValue {
    KeyValue::new(name, value)
}
