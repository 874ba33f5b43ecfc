//! The exporters to an OpenTelemetry collector, http/protobuf, as the standard variables say.

use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::{metrics::MeterProviderBuilder, trace::TracerProviderBuilder};

/// Has the provider send its metrics.
///
/// # Errors
/// When the environment asks for what cannot be.
pub(super) fn with_metrics(builder: MeterProviderBuilder) -> Result<MeterProviderBuilder, String> {
    let exporter = MetricExporter::builder().with_http().build();
    Ok(builder.with_periodic_exporter(exporter.map_err(|error| error.to_string())?))
}

/// Has the provider send its traces.
///
/// # Errors
/// When the environment asks for what cannot be.
pub(super) fn with_traces(builder: TracerProviderBuilder) -> Result<TracerProviderBuilder, String> {
    let exporter = SpanExporter::builder().with_http().build();
    Ok(builder.with_batch_exporter(exporter.map_err(|error| error.to_string())?))
}
