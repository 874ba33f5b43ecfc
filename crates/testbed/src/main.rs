//! The program `everytab-testbed`: runs a small internet until SIGTERM or Ctrl-C.

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, ValueEnum};
use everytab_testbed::{Content, Latency, Mix, Settings, SmallInternet, TestbedError};
use tokio::signal::unix::{SignalKind, signal};

/// Serves a small internet on loopback: names, websites, and a crawl bucket.
///
/// Prints one line of JSON with its addresses when it is ready, then serves until SIGTERM or
/// Ctrl-C.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The number that everything is drawn from.
    #[arg(long, env = "EVERYTAB_TESTBED_SEED", default_value_t = 1)]
    seed: u64,
    /// How many hosts to generate.
    #[arg(long, env = "EVERYTAB_TESTBED_HOSTS", default_value_t = 1_000)]
    hosts: u64,
    /// Serve the recorded crawl in this folder instead of generating one.
    #[arg(long, value_name = "DIR", conflicts_with = "hosts")]
    recorded: Option<PathBuf>,
    /// In which shares hosts misbehave: light for generated hosts and none for recorded ones,
    /// unless said.
    #[arg(long, env = "EVERYTAB_TESTBED_MIX")]
    mix: Option<MixName>,
    /// Where generated files are kept; taken again when seed and hosts are the same.
    #[arg(long, value_name = "DIR", default_value = "./everytab-testbed-data")]
    scratch: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum MixName {
    Light,
    Issue,
    None,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("everytab-testbed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let behaviours = match (arguments.mix, &arguments.recorded) {
        (Some(MixName::Light), _) | (None, None) => Mix::light(),
        (Some(MixName::Issue), _) => Mix::issue(),
        (Some(MixName::None), _) | (None, Some(_)) => Mix::none(),
    };
    let content = match arguments.recorded {
        Some(dir) => Content::Recorded { dir },
        None => Content::Generated { hosts: arguments.hosts },
    };
    let settings = Settings {
        seed: arguments.seed,
        content,
        behaviours,
        scratch_dir: arguments.scratch,
        latency: Latency::default(),
    };
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(settings))
}

async fn serve(settings: Settings) -> Result<(), Box<dyn std::error::Error>> {
    let mut terminated = signal(SignalKind::terminate())?;
    let running = tokio::select! {
        started = SmallInternet::start(settings) => started?,
        stopped = stop_asked(&mut terminated) => return Ok(stopped?),
    };
    println!("{}", serde_json::to_string(&running.client)?);
    stop_asked(&mut terminated).await?;
    eprintln!("{}", serde_json::to_string(&running.counts())?);
    running.stop().await;
    Ok(())
}

async fn stop_asked(terminated: &mut tokio::signal::unix::Signal) -> Result<(), TestbedError> {
    tokio::select! {
        _ = terminated.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted
            .map_err(|source| TestbedError::Listen { what: "signals", source }),
    }
}
