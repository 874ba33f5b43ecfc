//! The http/protobuf exporters to an OpenTelemetry collector, configured by the standard variables.

use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::{metrics::MeterProviderBuilder, trace::TracerProviderBuilder};

/// Makes the provider send its metrics.
///
/// # Errors
/// Returns an error if the environment requests an impossible configuration.
pub(super) fn with_metrics(builder: MeterProviderBuilder) -> Result<MeterProviderBuilder, String> {
    let exporter = MetricExporter::builder().with_http().build();
    Ok(builder.with_periodic_exporter(exporter.map_err(|error| error.to_string())?))
}

/// Makes the provider send its traces.
///
/// # Errors
/// Returns an error if the environment requests an impossible configuration.
pub(super) fn with_traces(builder: TracerProviderBuilder) -> Result<TracerProviderBuilder, String> {
    let exporter = SpanExporter::builder().with_http().build();
    Ok(builder.with_batch_exporter(exporter.map_err(|error| error.to_string())?))
}
