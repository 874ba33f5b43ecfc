//! Replaces the exporters to a collector in a program that was built without the feature `otlp`.

use opentelemetry_sdk::{metrics::MeterProviderBuilder, trace::TracerProviderBuilder};

const NOT_BUILT_IN: &str = "this program was built without the feature otlp";

/// Refuses to add the exporter.
///
/// # Errors
/// Always returns an error, because this program has no such exporter.
pub(super) fn with_metrics(_builder: MeterProviderBuilder) -> Result<MeterProviderBuilder, String> {
    Err(NOT_BUILT_IN.to_owned())
}

/// Refuses to add the exporter.
///
/// # Errors
/// Always returns an error, because this program has no such exporter.
pub(super) fn with_traces(
    _builder: TracerProviderBuilder,
) -> Result<TracerProviderBuilder, String> {
    Err(NOT_BUILT_IN.to_owned())
}
