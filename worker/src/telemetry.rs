//! What a process tells of itself: lines on stderr; metrics and traces where somebody listens.
//!
//! Lines are for people, or JSON for machines, with job, shard and scan on each that a job writes.
//! Must not know: what jobs do.

mod export;
mod flood;
pub mod metrics;
mod process;
mod record;

use std::{
    io::IsTerminal as _,
    sync::mpsc::{self, RecvTimeoutError},
};

use tracing_subscriber::{EnvFilter, Layer as _, filter::Targets, fmt, prelude::*};

use self::{
    export::Exporters,
    flood::{Flood, Limited},
};
use crate::cli_error::CliError;

pub(crate) use export::serve_metrics;
pub use metrics::metrics;
pub(crate) use record::{call, job_ended, recorded, scan_status};

/// Lines of one place that pass in ten seconds, unless `EVERYTAB_LOG_LIMIT` says otherwise.
const LINES_IN_A_WHILE: u32 = 1_000;
/// Libraries that log each refusal of the web as an error of theirs are kept quiet.
const QUIET: &str = "hickory_proto=off,hickory_resolver=off,hyper=warn,usvg=off,aws_config=warn,\
                     sqlx=warn,opentelemetry=warn,opentelemetry_sdk=warn,opentelemetry_otlp=warn";

/// The crates whose spans become traces.
const TRACED_CRATES: [&str; 4] =
    ["everytab_fetcher", "everytab_jobs", "everytab_runner", "everytab_worker"];

/// Telemetry of this process; ends with what was gathered last.
#[derive(Debug)]
pub struct Telemetry {
    exporters: Exporters,
    /// Dropped, it ends the thread that says what was left out.
    stop: Option<mpsc::Sender<()>>,
    reporting: Option<std::thread::JoinHandle<()>>,
}

/// Starts it. `EVERYTAB_LOG` filters lines (such as `info`, `everytab_worker=debug`), `default` is
/// its default; `EVERYTAB_LOG_FORMAT=json` writes JSON; `EVERYTAB_LOG_LIMIT=N|off` says how many
/// lines of one place pass in ten seconds; `NO_COLOR` is obeyed. To be called outside of a runtime.
///
/// # Errors
/// When the environment asks for exporters that cannot be.
pub fn start(default: &str, serves_metrics: bool) -> Result<Telemetry, CliError> {
    let exporters = Exporters::start(serves_metrics)?;
    let _ = metrics();
    let filter = std::env::var("EVERYTAB_LOG").unwrap_or_else(|_| default.to_owned());
    let filter = EnvFilter::try_new(format!("{filter},{QUIET}"))
        .unwrap_or_else(|_| EnvFilter::new(format!("info,{QUIET}")));
    // As long as the process: lines may come until its end.
    let flood: &'static Flood = Box::leak(Box::new(Flood::new(lines_in_a_while()?)));
    let is_json = std::env::var("EVERYTAB_LOG_FORMAT").is_ok_and(|format| format == "json");
    let has_color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let lines = match is_json {
        true => lines.json().map_event_format(|format| Limited { format, flood }).boxed(),
        false => lines
            .with_ansi(has_color)
            .compact()
            .map_event_format(|format| Limited { format, flood })
            .boxed(),
    };
    let traces = exporters.tracer().map(|tracer| {
        let own = TRACED_CRATES.map(|name| (name, tracing::Level::INFO));
        let own = Targets::new().with_targets(own);
        tracing_opentelemetry::layer().with_tracer(tracer).with_filter(own)
    });
    let registry = tracing_subscriber::registry();
    // A second start in one process (tests) leaves the first in place.
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

fn lines_in_a_while() -> Result<Option<u32>, CliError> {
    match std::env::var("EVERYTAB_LOG_LIMIT").as_deref() {
        Err(_) | Ok("") => Ok(Some(LINES_IN_A_WHILE)),
        Ok("off") => Ok(None),
        Ok(limit) => limit.parse().map(Some).map_err(|_| {
            CliError::usage(format!("EVERYTAB_LOG_LIMIT={limit}: give a number of lines, or off"))
        }),
    }
}

impl Telemetry {
    /// Sends and says what there is left. To be called outside of a runtime.
    pub fn end(mut self) {
        drop(self.stop.take());
        if let Some(reporting) = self.reporting.take() {
            let _ = reporting.join();
        }
        self.exporters.end();
    }
}
