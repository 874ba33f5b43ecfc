//! A process's telemetry: log lines on stderr, and metrics and traces for collectors.

mod export;
mod flood;
pub mod metrics;
mod process;

use std::{
    io::IsTerminal as _,
    sync::mpsc::{self, RecvTimeoutError},
};

pub(crate) use export::serve_metrics;
pub use metrics::metrics;
pub(crate) use metrics::{begin_at_zero, crawl_status, scan_status};
use tracing_subscriber::{EnvFilter, Layer as _, filter::Targets, fmt, prelude::*};

use self::{
    export::Exporters,
    flood::{Flood, Limited},
};
use crate::{cli_error::CliError, display::frame::LogLines};

/// Default maximum of log lines per call site in ten seconds. A healthy worker writes far fewer.
const LINES_PER_WINDOW: u32 = 1_000;
/// Log filters for libraries that report each failed request as an error, or each ignored part of
/// an SVG.
const QUIET: &str = "hickory_proto=off,hickory_resolver=off,hyper=warn,usvg=off,resvg=off,\
                     simplecss=off,selectors=off,fontdb=off,tiny_skia=off,tiny_skia_path=off,\
                     aws_config=warn,tokio_postgres=warn,opentelemetry=warn,opentelemetry_sdk=warn,\
                     opentelemetry_otlp=warn";

const TRACED_CRATES: [&str; 4] =
    ["everytab_fetcher", "everytab_jobs", "everytab_runner", "everytab_worker"];

/// This process's telemetry.
#[derive(Debug)]
pub struct Telemetry {
    exporters: Exporters,
    /// Dropping this stops the thread that reports suppressed lines.
    stop: Option<mpsc::Sender<()>>,
    reporting: Option<std::thread::JoinHandle<()>>,
}

/// Starts this process's telemetry. Must be called outside a runtime.
///
/// `EVERYTAB_LOG` filters lines (`default` if unset). `EVERYTAB_LOG_FORMAT=json` selects JSON.
/// `EVERYTAB_LOG_LIMIT=N|off` limits each call site's lines in ten seconds.
///
/// # Errors
/// Returns an error if the environment requests exporters that cannot be created, or if the limit
/// is malformed.
pub fn start(default: &str, serves_metrics: bool) -> Result<Telemetry, CliError> {
    let exporters = Exporters::start(serves_metrics)?;
    let _ = metrics();
    let filter = std::env::var("EVERYTAB_LOG").unwrap_or_else(|_| default.to_owned());
    let filter = EnvFilter::try_new(format!("{filter},{QUIET}"))
        .unwrap_or_else(|_| EnvFilter::new(format!("info,{QUIET}")));
    // Leaked, because lines may be written until the process ends.
    let flood: &'static Flood = Box::leak(Box::new(Flood::new(lines_per_window()?)));
    let is_json = std::env::var("EVERYTAB_LOG_FORMAT").is_ok_and(|format| format == "json");
    let has_color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = fmt::layer().with_writer(|| LogLines).with_target(false);
    let lines = if is_json {
        lines.json().map_event_format(|format| Limited { format, flood }).boxed()
    } else {
        lines
            .with_ansi(has_color)
            .compact()
            .map_event_format(|format| Limited { format, flood })
            .boxed()
    };
    let traces = exporters.tracer().map(|tracer| {
        let own = TRACED_CRATES.map(|name| (name, tracing::Level::INFO));
        let own = Targets::new().with_targets(own);
        tracing_opentelemetry::layer().with_tracer(tracer).with_filter(own)
    });
    let registry = tracing_subscriber::registry();
    // Tests may start telemetry twice. The first subscriber remains.
    let _ = registry.with(lines.with_filter(filter)).with(traces).try_init();
    let (stop, stopped) = mpsc::channel::<()>();
    let reporting = std::thread::Builder::new().name("log-flood".to_owned()).spawn(move || {
        while stopped.recv_timeout(flood::WINDOW) == Err(RecvTimeoutError::Timeout) {
            flood::report(flood);
        }
        flood::report(flood);
    });
    Ok(Telemetry { exporters, stop: Some(stop), reporting: reporting.ok() })
}

fn lines_per_window() -> Result<Option<u32>, CliError> {
    match std::env::var("EVERYTAB_LOG_LIMIT").as_deref() {
        Err(_) | Ok("") => Ok(Some(LINES_PER_WINDOW)),
        Ok("off") => Ok(None),
        Ok(limit) => limit.parse().map(Some).map_err(|_| {
            CliError::usage(format!(
                "EVERYTAB_LOG_LIMIT={limit}: expected a number of lines, or off"
            ))
        }),
    }
}

impl Telemetry {
    /// Sends and reports the remaining telemetry. Must be called outside a runtime.
    pub fn end(mut self) {
        drop(self.stop.take());
        if let Some(reporting) = self.reporting.take() {
            let _ = reporting.join();
        }
        self.exporters.end();
    }
}
