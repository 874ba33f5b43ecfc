//! The program `everytab-worker`: the command line, the runtime, the exit code.

use std::process::ExitCode;

use clap::Parser;
use everytab_worker::{allocator, commands, config::Cli, failure::Exit, telemetry};

fn main() -> ExitCode {
    allocator::settle();
    let cli = Cli::parse();
    let started = telemetry::start(commands::log_filter(&cli), commands::serves_metrics(&cli));
    let telemetry = match started {
        Ok(telemetry) => telemetry,
        Err(failure) => {
            eprintln!("error: {}", failure.message);
            return failure.exit.into();
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: no runtime: {error}");
            return Exit::Failed.into();
        }
    };
    let outcome = runtime.block_on(commands::dispatch(cli));
    // A blocking task that hangs must not keep a finished command from ending.
    runtime.shutdown_background();
    telemetry.end();
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("error: {}", failure.message);
            failure.exit.into()
        }
    }
}
