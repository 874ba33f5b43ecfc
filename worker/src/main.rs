//! The program `everytab-worker`, which also serves as the converter process for icons.

use std::process::ExitCode;

use clap::Parser;
use everytab_worker::{allocator, cli::Cli, cli_error::Exit, dispatch, telemetry};

fn main() -> ExitCode {
    if let Some(exit) = everytab_jobs::icon_processes::serve_if_asked() {
        return exit;
    }
    allocator::settle();
    let cli = Cli::parse();
    let started = telemetry::start(dispatch::log_filter(&cli), dispatch::serves_metrics(&cli));
    let telemetry = match started {
        Ok(telemetry) => telemetry,
        Err(error) => {
            eprintln!("error: {}", error.message);
            return Exit::of(&error).into();
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start the runtime: {error}");
            return Exit::Failed.into();
        }
    };
    let outcome = runtime.block_on(dispatch::dispatch(cli));
    for cause in outcome.as_ref().err().into_iter().flat_map(|error| error.causes()) {
        tracing::debug!("caused by: {cause}");
    }
    // A blocking task that hangs must not keep a finished command from exiting.
    runtime.shutdown_background();
    telemetry.end();
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("error: {}", error.message);
            Exit::of(&error).into()
        }
    }
}
