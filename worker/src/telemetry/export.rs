//! Exporters for metrics and traces: OTLP over http/protobuf, and HTTP for Prometheus.
//!
//! The standard OpenTelemetry variables enable and configure OTLP. Its client has its own threads,
//! which must be created and ended outside the program's runtime.

use std::{
    net::SocketAddr,
    sync::{OnceLock, mpsc},
    time::Duration,
};

use axum::{Router, http::StatusCode, routing::get};
use everytab_runner::worker_id;
use opentelemetry::{KeyValue, global, trace::TracerProvider as _};
use opentelemetry_sdk::{
    Resource,
    metrics::{MeterProviderBuilder, SdkMeterProvider},
    trace::{SdkTracerProvider, Tracer, TracerProviderBuilder},
};
use prometheus::{Encoder as _, Registry, TextEncoder};
use tokio::net::TcpListener;

use super::{metrics, process};
use crate::{cli_error::CliError, http_server};

/// Time to send the remaining telemetry when the process ends, even if the collector hangs.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
#[cfg(not(feature = "otlp"))]
const NOT_BUILT_IN: &str = "this program was built without the feature otlp";
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

static REGISTRY: OnceLock<Registry> = OnceLock::new();

#[derive(Debug, Default)]
pub(super) struct Exporters {
    meters: Option<SdkMeterProvider>,
    tracers: Option<SdkTracerProvider>,
}

fn is_set(signal: &str) -> bool {
    ["OTEL_EXPORTER_OTLP_ENDPOINT", signal]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

impl Exporters {
    /// Starts the exporters that the environment requests, and Prometheus's if `has_endpoint`.
    ///
    /// # Errors
    /// Returns an error if a requested exporter cannot be created.
    pub(super) fn start(has_endpoint: bool) -> Result<Self, CliError> {
        let is_disabled = std::env::var("OTEL_SDK_DISABLED").is_ok_and(|value| value == "true");
        let sends_metrics = !is_disabled && is_set("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
        let sends_traces = !is_disabled && is_set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let mut exporters = Self::default();
        if !(has_endpoint || sends_metrics || sends_traces) {
            return Ok(exporters);
        }
        check_protocol()?;
        let refused = |error: String| {
            CliError::usage(format!("invalid OTEL_EXPORTER_OTLP variables: {error}"))
        };
        let resource = resource();
        if has_endpoint || sends_metrics {
            let mut builder = SdkMeterProvider::builder().with_resource(resource.clone());
            if has_endpoint {
                let registry = REGISTRY.get_or_init(Registry::new).clone();
                let reader = opentelemetry_prometheus::exporter()
                    .with_registry(registry)
                    .scope_info_enabled(false)
                    .build()?;
                builder = builder.with_reader(reader);
            }
            if sends_metrics {
                builder = with_metrics(builder).map_err(refused)?;
            }
            let meters = builder.build();
            global::set_meter_provider(meters.clone());
            observe_process();
            exporters.meters = Some(meters);
        }
        if sends_traces {
            let builder = SdkTracerProvider::builder().with_resource(resource);
            exporters.tracers = Some(with_traces(builder).map_err(refused)?.build());
        }
        Ok(exporters)
    }

    pub(super) fn tracer(&self) -> Option<Tracer> {
        self.tracers.as_ref().map(|tracers| tracers.tracer("everytab"))
    }

    /// Sends the remaining telemetry within [`FLUSH_TIMEOUT`].
    pub(super) fn end(&mut self) {
        let (meters, tracers) = (self.meters.take(), self.tracers.take());
        if meters.is_none() && tracers.is_none() {
            return;
        }
        let (done, wait) = mpsc::channel();
        // A separate thread lets an exporter that hangs end with the process.
        std::thread::spawn(move || {
            let ended =
                [tracers.map(|tracers| tracers.shutdown()), meters.map(|meters| meters.shutdown())];
            let _ = done.send(ended.into_iter().flatten().find_map(Result::err));
        });
        match wait.recv_timeout(FLUSH_TIMEOUT) {
            Ok(None) => {}
            Ok(Some(error)) => tracing::warn!(%error, "cannot send the last telemetry"),
            Err(_) => tracing::warn!("cannot send the last telemetry: the collector hangs"),
        }
    }
}

fn check_protocol() -> Result<(), CliError> {
    for name in [
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    ] {
        match std::env::var(name).as_deref() {
            Ok("" | "http/protobuf") | Err(_) => {}
            Ok(other) => {
                return Err(CliError::usage(format!(
                    "{name}={other}: this program only supports http/protobuf (port 4318 of most \
                     collectors)"
                )));
            }
        }
    }
    Ok(())
}

fn resource() -> Resource {
    Resource::builder()
        .with_service_name(
            std::env::var("OTEL_SERVICE_NAME").unwrap_or_else(|_| "everytab-worker".to_owned()),
        )
        .with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", worker_id()),
        ])
        .build()
}

fn observe_process() {
    let meter = metrics::meter();
    let described = |metric: &metrics::Metric| (metric.name, metric.unit, metric.meaning);
    let (name, unit, meaning) = described(&metrics::CPU);
    let cpu = meter.f64_observable_counter(name).with_unit(unit).with_description(meaning);
    cpu.with_callback(|observer| {
        if let Some(seconds) = process::cpu_seconds() {
            observer.observe(seconds, &[]);
        }
    })
    .build();
    for (metric, read) in [
        (&metrics::MEMORY, process::resident_bytes as fn() -> Option<u64>),
        (&metrics::FILES, process::open_files),
    ] {
        let (name, unit, meaning) = described(metric);
        let gauge = meter.u64_observable_gauge(name).with_unit(unit).with_description(meaning);
        gauge
            .with_callback(move |observer| {
                if let Some(value) = read() {
                    observer.observe(value, &[]);
                }
            })
            .build();
    }
}

/// Serves `/metrics` (Prometheus's text format) and `/healthz` until the process ends. Returns once
/// the socket listens.
///
/// # Errors
/// Returns an error if this process cannot listen on the address.
pub(crate) async fn serve_metrics(address: SocketAddr) -> Result<SocketAddr, CliError> {
    let refused = |error: std::io::Error| {
        CliError::new(format!("cannot listen on {address}: {error}; choose another --metrics"))
    };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let router = Router::new()
        .route("/metrics", get(async || ([("content-type", CONTENT_TYPE)], text())))
        .route("/healthz", get(async || (StatusCode::OK, "ok\n")));
    http_server::warn_if_public("--metrics", address);
    let limits = http_server::FILE_CONNECTIONS;
    tokio::spawn(http_server::serve(listener, router, limits, std::future::pending()));
    tracing::info!("metrics on http://{address}/metrics");
    Ok(address)
}

fn text() -> Vec<u8> {
    let families = REGISTRY.get().map(Registry::gather).unwrap_or_default();
    let mut text = Vec::new();
    // The encoder would reject a family without series, but `gather` returns none.
    if let Err(error) = TextEncoder::new().encode(&families, &mut text) {
        tracing::warn!(%error, "cannot write metrics");
    }
    text
}

/// Adds an OTLP exporter to the metrics.
///
/// # Errors
/// Returns an error if the environment's configuration is invalid, or if this program lacks the
/// feature `otlp`.
fn with_metrics(builder: MeterProviderBuilder) -> Result<MeterProviderBuilder, String> {
    #[cfg(feature = "otlp")]
    {
        let exporter = opentelemetry_otlp::MetricExporter::builder().with_http().build();
        Ok(builder.with_periodic_exporter(exporter.map_err(|error| error.to_string())?))
    }
    #[cfg(not(feature = "otlp"))]
    {
        drop(builder);
        Err(NOT_BUILT_IN.to_owned())
    }
}

/// Adds an OTLP exporter to the traces.
///
/// # Errors
/// Returns the same errors as [`with_metrics`].
fn with_traces(builder: TracerProviderBuilder) -> Result<TracerProviderBuilder, String> {
    #[cfg(feature = "otlp")]
    {
        let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().build();
        Ok(builder.with_batch_exporter(exporter.map_err(|error| error.to_string())?))
    }
    #[cfg(not(feature = "otlp"))]
    {
        drop(builder);
        Err(NOT_BUILT_IN.to_owned())
    }
}
